"""Features prepared before a method sees them.

- `pipeline`: a chain of steps fitted to a job's features and applied to new rows; start here.
- `steps`: the steps and their parameters.
- `inputs`: which of a job's inputs are prepared: matrices, documents, or rows after an earlier job.
"""
