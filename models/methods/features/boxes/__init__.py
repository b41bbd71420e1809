"""The tree of bounding boxes that `perch` grows, point by point.

- `state`: the tree and its points in arrays that grow, and the result as a `Tree`; start here.
- `loops`: insertion, search, rotation and collapse, compiled.
"""
