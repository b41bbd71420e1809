"""Metrics that a tree is evaluated by.

Start with `catalogue`, which lists all metrics and measures a tree by them.

- Entries: `metric` is the decorator; `against_labels`, `against_hierarchy`, `against_pairs`,
  `against_features` and `measured` hold the entries by what they need.
- Definitions: `flat` (clusters against classes), `hierarchical` (trees against classes),
  `agreement` (two trees), `costs` and `triples` (trees against similarities), `separation`
  (clusters against points).
- Inputs: `evaluation` (a tree and what it is compared with), `inputs`, `labels`, `pairs` (a number
  for every pair of points), `lca_order` (lowest common ancestors).
- `estimate` is a value with its standard error; `nodes` reports on every node; `loops` is compiled.
- `classification`: what a classifier does on rows whose labels are known.
"""
