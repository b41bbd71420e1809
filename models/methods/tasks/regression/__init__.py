"""Regressors of tasks, and trees over the tasks. Start at `table` and `linear`.

- `inputs`, `table`: inputs and parameters of the methods; rows by task, and held-out rows.
- `linear`: weights, scores and losses; each task fitted by itself.
- `relationship`: weights with the covariance of tasks.
- `points`, `joint`: tasks as points of the ball, learned with the nodes of a tree.
- `result`: model, metrics and predictions of all methods.
- `fit`: a whole fit of `ghhc-mtl`, with the tree of its nodes.
"""
