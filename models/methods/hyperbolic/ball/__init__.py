"""Nodes of a tree as points of the Poincaré ball. Start at `fit`, which calls the rest in order.

- `parameters`: the fields of a method, and the plain values derived from them.
- `points`: features as points of the ball, in pools with their neighbours.
- `seeding`: the initial nodes.
- `triples`, `expected_cost_torch`, `ranking_torch`: what a step lowers, and its noise.
- `cost_gradient_torch`: the gradient of the expected cost, written out.
- `descent`, `cost_steps_torch`, `training`: steps, several of them together, rounds, checkpoints.
- `process_group`, `follower_process`: several processes for each step.
- `decoding`, `extraction`: from nodes to a tree, and the cost that rounds are compared by.
- `placing`: new points in the tree.
- `fit`: the whole fit, which calls the rest in order.
"""
