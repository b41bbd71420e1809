"""Nodes of a tree as points of the Poincaré ball. Start at `fit`, which calls the rest in order.

- `parameters`: the fields of a method, and the plain values derived from them.
- `points`: features as points of the ball, in pools with their neighbours.
- `seeding`: the initial nodes.
- `triples`, `expected_cost_torch`, `ranking_torch`: what a step lowers, and its noise.
- `descent`, `training`: steps, their losses, rounds of steps, and checkpoints.
- `process_group`, `follower_process`: several processes for each step.
- `decoding`, `extraction`: from nodes to a tree, and the cost that rounds are compared by.
- `placing`: new points in the tree.
- `fit`: the whole fit, which calls the rest in order.
"""
