"""Methods that learn a regressor or classifier for each task, and a tree over the tasks.

Start at `stl`, the simplest.

The methods:
- `stl`: each task from its own rows alone.
- `mtrl`: all tasks, with their covariance.
- `ghhc_mtl`: all tasks as points of the Poincaré ball, with the nodes of a tree.

What they are made of:
- `regression`: rows by task, linear regressors, and the result.
"""
