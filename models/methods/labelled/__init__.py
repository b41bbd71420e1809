"""Methods that learn from known clusters what a cluster is, and find others among the rest.

Start at `fda`, the simplest, then `tcs`.

The methods:
- `tcs`: the transformation under which a mixture tells the known clusters best.
- `tcs_cs`: the least change of distances under which known clusters are separable.
- `tcs_mm`: the known clusters a better clustering than all others, by a margin.
- `fda`, `tcs_fs`: the directions in which they differ most for their spread.

What they are made of:
- `supervision`: what all of them share, from their inputs to their result.
- `discovery`: new clusters in the transformed space.
- `metric`, `discriminants`, `separability`, `margin`: how a transformation is learned.
- `choosing`: which one to learn, by validation.
"""
