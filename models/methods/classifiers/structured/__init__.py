"""Support vector machines whose constraints run along the tree of the classes.

Start at `dual`.

- `inputs`: parameters that the methods share.
- `penalty`: the penalty of the weights of nodes, plain or orthogonal to nodes above.
- `dual`: the dual problem and its solution by rows, to a proven gap; `loops` is the compiled part.
"""
