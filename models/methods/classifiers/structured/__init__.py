"""Support vector machines whose constraints run along the tree of the classes.

Start at `dual`.

- `dual`: their dual problem and its solution by rows, to a proven gap; `loops` is the compiled
  part.
- `penalty`: the penalty of the weights of nodes, plain or orthogonal to ancestors.
"""
