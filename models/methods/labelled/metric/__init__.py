"""A metric, learned from known clusters: squared distances (x - y)' A (x - y), A positive
semidefinite.

Start at `descent`.

- `descent`: the minimum of a loss and of what holds the metric, by accelerated proximal gradients.
- `likelihood`: how well a metric tells the known clusters, and its gradient.
- `neighbours`: how much nearer rows are to neighbours in their cluster than to others; gradient.
- `unlabelled`: rows without a label, clustered and learned from by turns.
- `nearest`: the metric nearest to the identity under which every two clusters are far apart.
- `planes`: known clusters a better clustering than all others, by a margin, by cutting planes;
  `loops` finds other clusterings, compiled.
- `fisher`: directions from the means and spreads of known clusters, by generalized eigenvectors.
"""
