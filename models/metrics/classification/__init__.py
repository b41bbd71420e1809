"""What a classifier does on rows whose labels are known.

Start at `evaluation`, which measures a classifier by everything here.

- `true_labels`: the labels of rows as nodes of the classifier's tree.
- `outcomes`: what the classifier answers for each row, beside its labels.
- `scores`: the metrics, as functions of sums over rows.
- `bootstrap`: their standard errors and intervals.
- `tables`: F1 by level, by size of class and by class; the most frequent confusions.
- `node_sets`: a set of nodes for each row, and the paths to them.
"""
