"""Methods that learn from known clusters what a cluster is, and find others among the rest.

Start at `fda`, the simplest, then `tcs`.

The methods:
- `tcs`: the transformation under which a mixture tells the known clusters best.
- `fda`, `tcs_fs`: the directions in which they differ most for their spread.
- `lmnn`, `pcc`: metrics under which their rows are near, and rows of other clusters far.
- `bp`: one covariance for known and new clusters.

What they are made of:
- `supervision`: what all of them share, from their inputs to their result.
- `discovery`: new clusters in the transformed space.
- `metric`, `densities`, `discriminants`: how a transformation is learned.
"""
