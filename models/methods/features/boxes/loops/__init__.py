"""The compiled steps of `perch` on the arrays of `boxes.state`; start with `insertion`.

- `layout`: the arrays of nodes, and boxes kept up to date along a path.
- `distances`: bounds on the distances between points and boxes.
- `search`: the nearest leaf, and whether a point is masked.
- `insertion`: a point added beside its nearest leaf.
- `rotation`: siblings exchanged where a point is masked.
- `collapse`: leaves joined once there are more than `max_leaves`.
"""
