"""The compiled steps of `perch` on the arrays of `boxes.state`; start with `insertion`.

- `layout`: the arrays of nodes, boxes kept up to date along a path, and bounds on the distances
  between points and boxes.
- `search`: the nearest leaf, and whether a point is masked.
- `insertion`: points inserted as siblings of their nearest leaves.
- `rotation`: siblings and aunts exchanged where a node is masked; leaves merged once there are more
  than `max_leaves`.
"""
