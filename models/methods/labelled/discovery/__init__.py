"""New clusters among rows that are not labelled.

Start at `finding`.

- `mixture`: mixtures of one common spread, of Gaussians or of directions, some clusters known; EM.
- `shapes`: from there to Gaussians with one covariance, or with one each; EM.
- `bayes`: a mixture with one full covariance and priors; EM to the mode.
- `finding`: the best of several runs, the number of clusters, the result.
"""
