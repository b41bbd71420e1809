"""Answers as deep as they are sure: nodes and sets of nodes with a guarantee.

Start with `calibration`: what is kept, and how new rows are answered.

- `fit`: makes one: the temperature of the logits, the thresholds, and what others would answer.
- `options`: what is promised to whom. `class_rows`: the scores of classes, by any method.
- `climbing`: the classes of a tree as intervals, the score of a row, the node it is answered by.
- `quantiles`: the exact finite-sample threshold, for all rows or for groups of them.
- `node_sets`: sets of classes, named by the fewest nodes.
- `risk`: an expected loss kept under a bound.
- `labels`: the classes that labels name, and labels that look wrong.
- `pair_needs`: pairs of classes and of subtrees that more rows would tell apart better, and what
  rows of a pair teach.
"""
