"""What the methods based on k-means share; start with `by_criterion`.

- `by_criterion`: k-means for each candidate number of clusters, and the choice.
- `batches`: random batches of rows that may lie in a file.
- `batch_rows`: passes over shares of the rows by a crew.
- `affinity`: the affinity graph of spectral clustering, and coordinates through it.
"""
