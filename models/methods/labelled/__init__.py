"""Methods that learn from known clusters what a cluster is, and find others among the rest.

Start at `fda`, the simplest, then `tcs`. The methods:

- `tcs`: the transformation under which a mixture tells the known clusters best.
- `tcs_cs`: the least change of distances under which known clusters are separable.
- `tcs_mm`: the known clusters a better clustering than all others, by a margin.
- `fda`, `tcs_fs`: the directions in which they differ most for their spread.
- `lmnn`, `pcc`: metrics under which their rows are near, and rows of other clusters far.
- `bp`: one covariance for known and new clusters.
- `tcs_tree`: a partly labelled tree completed, with a transformation for each node.

Below:
- `supervision`, `discovery`: what all share, from inputs to result; new clusters.
- `metric`, `densities`: how a transformation is learned, by convex objectives and by others.
- `hierarchy`: metrics and new nodes of a tree.
"""
