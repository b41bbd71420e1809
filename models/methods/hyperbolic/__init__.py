"""Methods whose trees are points of the Poincaré ball. Start at `ghhc`.

The methods:
- `ghhc`: nodes of a tree, moved by gradient steps.
- `ghhc_glove`: vectors of words, and such a tree over the words.
- `hyphc`: leaves on a sphere, moved so that their tree has a low Dasgupta cost.

What they are made of:
- `ball`: nodes in the ball: their start, their steps, and the tree that they describe.
- `leaves`: leaves in the ball: their steps, and the tree decoded from them.
- `words`: words as points of the ball, with GloVe's loss.
"""
