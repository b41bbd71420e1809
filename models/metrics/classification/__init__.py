"""What a classifier does on rows whose labels are known.

Start at `evaluation`, which measures a classifier by everything here, with standard errors and
intervals by bootstrap.

- `outcomes`: what the classifier answers for each row; its labels as nodes of the classifier's
  tree, and sets of nodes with the paths to them.
- `scores`: the metrics, as functions of sums over rows; F1 by level, by size of class and by class;
  the most frequent confusions.
- `evaluation`: also two classifiers on the same rows, and whether they differ by more than chance.
"""
