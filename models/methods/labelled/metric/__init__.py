"""A metric, learned from known clusters: squared distances (x - y)' A (x - y), A positive
semidefinite.

Start at `descent`.

- `likelihood`: how well a metric tells the known clusters, and its gradient.
- `neighbours`: how much nearer rows are to neighbours in their cluster than to others; gradient.
- `holds`: what holds the metric, each with its proximal step on the cone.
- `descent`: the minimum of a loss and a hold, by accelerated proximal gradients.
- `unlabelled`: rows without a label, clustered and learned from by turns.
"""
