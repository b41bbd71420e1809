"""One tree from several, and how much of a tree others have.

Start with `rules`, which makes the tree.

- `items`: the names of the rules; which leaves or rows of the trees are the same.
- `rules`: the sets of items under nodes, counted over all trees; strict, majority, extended and
  median consensus, and at which heights their nodes meet.
- `support`: how much of a given tree others have, or runs on resampled rows, counted one after the
  other, and whether more trees would change the counts.
- `loops`: compiled loops.
"""
