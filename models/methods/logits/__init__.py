"""Hierarchies of classes from a classifier's logits. Files here are methods: `class_tree`, `l2h`.

- `classes`: what the methods share: inputs, parameters, where new rows go.
- `merging`: how the merges of `l2h` are found exactly from one pass over the logits.
- `class_trees`: how `class_tree` compares and joins classes; start with `sums`.
"""
