"""Support vector machines on columns that are far from 0 or large, by an interior point.

Descent in the dual takes a row at a time. Where one direction of the columns is large nearly all
products of rows are equal, and it hardly moves; here all variables move at once, by systems in the
weights that coordinates of the columns make even.

Start at `points`.

- `margins`: the constraints of the rows, of classes against the rest or along the tree.
- `systems`: the linear systems of the steps.
- `points`: the path to the optimum, to a proven gap; when it is taken.
"""
