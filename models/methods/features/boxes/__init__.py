"""The tree of bounding boxes that `perch` grows, point by point.

- `state`: the tree and its points in arrays that grow; start here.
- `tree`: the result as a `Tree`.
- `loops`: insertion, search, rotation and collapse, compiled.
"""
