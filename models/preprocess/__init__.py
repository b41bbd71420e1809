"""Features prepared before a method sees them.

- `pipeline`: a chain of steps fitted to a job's features and applied to new rows; start here.
- `steps`: the steps and their parameters.
- `contract`: what a step is. `series`: the step for rows that are series.
- `documents`: text to counts: words, stop words, stems; counts of words, and of pairs near each
  other.
- `inputs`: which of a job's inputs are prepared: matrices, documents, or rows after an earlier job.
"""
