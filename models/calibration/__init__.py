"""Answers as deep as they are sure: nodes and sets of nodes with a guarantee.

Start with `calibration`: what is promised to whom, the exact finite-sample thresholds, an expected
loss under a bound, and how new rows are answered.

- `fit`: makes one: the temperature of the logits, the thresholds, and what others would answer.
- `climbing`: the classes of a tree as intervals, the score of a row, the node or the set of classes
  it is answered by.
- `class_rows`: the scores of classes, by any method; the classes that labels name, and labels that
  look wrong.
- `pair_needs`: pairs of classes and of subtrees that more rows would tell apart better, and what
  rows of a pair teach.
"""
