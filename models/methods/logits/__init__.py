"""Hierarchies of classes from a classifier's logits. Files here are methods: `l2h`.

- `merging`: how its merges are found exactly from one pass over the logits.
"""
