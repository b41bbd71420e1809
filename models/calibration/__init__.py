"""Answers as deep as they are sure: nodes and sets of nodes with a guarantee.

Start with `calibration`: what is promised to whom, the exact finite-sample thresholds, and how new
rows are answered. `losses`: an expected loss under a bound.

- `fit`: makes one: the thresholds, and what others would answer. `temperature`: of the logits.
- `climbing`: the classes of a tree as intervals, the score of a row, the node or the set of classes
  it is answered by.
- `class_rows`: the scores of classes, by any method; the classes that labels name, and labels that
  look wrong.
- `sharing`: classes with few rows that share a threshold. `probabilities`: of classes, by blocks.
- `shifts`: thresholds for shares that moved. `following`: levels that follow the rows that come.
  `pricing`: answers of least expected cost.
- `pair_needs`: pairs of classes and of subtrees that more rows would tell apart better.
- `relearning`: what calibration rows teach a classifier beside the model. `loops`: compiled.
"""
