"""A metric, learned from known clusters: squared distances (x - y)' A (x - y), A positive
semidefinite.

Start at `descent`.

- `likelihood`: how well a metric tells the known clusters, and its gradient.
- `holds`: what holds the metric, each with its proximal step on the cone.
- `descent`: the minimum of both, by accelerated proximal gradients.
- `cone`: the nearest semidefinite matrix.
"""
