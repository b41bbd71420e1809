"""Methods that partition points into clusters, as trees of depth one; start with `kmeans`.

- By centres: `kmeans`, `minibatch_kmeans`, `spectral`; `means` holds what they share.
- By mixtures: `gmm`, `multinomial`, `lda`; `mixtures` holds their fits.
- By trained heads: `turtle`, `temi`; `heads` holds the training.
"""
