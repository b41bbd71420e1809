"""Metrics that a tree is evaluated by.

Start with `catalogue`, which lists all metrics and measures a tree by them.

- `entries`: the metrics of the catalogue, by what they need.
- Definitions: `flat` (clusters against classes), `hierarchical` (trees against classes),
  `row_purity` (a row, a class), `agreement` (two trees), `costs` (trees against similarities),
  `separation` (clusters against points).
- Inputs: `evaluation` (a tree and what it is compared with; what an entry is), `inputs`, `pairs` (a
  number for every pair of points), `lca_order` (lowest common ancestors).
- `estimate` is a value with its standard error; `nodes` reports on every node; `loops` is compiled.
- `classification`: what a classifier does on rows whose labels are known.
"""
