"""What methods that partition points share; start with `choosing`.

- `kmeans`: seeds, the best of several runs of k-means, and the soft assignment around centres;
  `loops`: compiled k-means over dense points.
- `lloyd`: k-means over rows that are too many to be held.
- `row_sums`: sums over rows by a crew, the same bits whoever computes them, and climbs of passes.
- `choosing`: parameters of the number of clusters, candidates, and the choice by a criterion: the
  mean silhouette, the gap statistic.
- `placing`: clusters by size, and rows placed in a partition's tree.
- `likelihoods`: a given labelling judged by a mixture.
- `row_weights`: the input `sample_weight`.
- `counts`: rows of counts, rows held out, and the terms that distinguish clusters.
"""
