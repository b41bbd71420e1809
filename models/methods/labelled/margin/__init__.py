"""Known clusters a better clustering than all others, by a margin.

Start at `planes`.

- `clusterings`: how other clusterings compare with the known one, and k-means to find them.
- `planes`: the metric, by cutting planes; the master problem by its dual.
"""
