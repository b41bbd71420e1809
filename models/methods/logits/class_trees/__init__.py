"""How `class-tree` compares and joins classes: by sums over rows that are exact.

- `sums`: the sums, on threads or in pieces; start here. `sums_gpu`: the same by torch on a GPU.
- `task`: what is added up, in which steps, and of which rows.
- `reading`: the rows of a fit, of one that goes on from an earlier job, or of best classes alone.
- `statistics`: confusions, means and the covariance that the sums give, also of a bootstrap.
- `similarities`: walks along confusions.
- `joining`: trees of a similarity, and their consensus; `trees`: the tree of all classes.
- `loops`: the compiled loops.
"""
