"""Names for the nodes of any tree, from what its rows have in common.

Start with `evidence`: what there is to say of nodes, by labels, terms, central items or features.

- `by_input`: the request; nodes named in the same job, by an input.
- `differences`: the features in which nodes differ from their siblings; clusters called by them.
- `evidence`: what is found for each node, and the name that it makes.
- `questions`: what to ask of a row at each split, and how often the answer is right.
- `terms`: the terms that tell a node from its siblings and from all other rows.
- `word_forms`: "gun" and "guns" as one term.
- `joint_terms`: which of these name siblings, by the rows that go to their own.
- `routing`: whether names tell siblings apart, by rows that are routed by names alone.
"""
