"""Known clusters a better clustering than all others, by a margin.

- `planes`: the metric, by cutting planes; the master problem by its dual. How other clusterings
  compare with the known one, and k-means to find them.
- `loops`: moves of single rows to a clustering that lacks more.
"""
