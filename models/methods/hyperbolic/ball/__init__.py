"""Nodes of a tree as points of the Poincaré ball. Start at `fit`, which calls the rest in order.

- `parameters`, `effort`: the fields of a method, and the plain values derived from them.
- `scaling`, `pools`: features as points of the ball, and their neighbours.
- `seeding`: the initial nodes.
- `triples`, `expected_cost_torch`, `ranking_torch`, `noise`: what a step lowers.
- `descent`, `training`: steps, their losses, rounds of steps, and checkpoints.
- `tree_cost`: the cost that rounds are compared by.
- `all_reduce`, `process_group`, `follower_process`: several processes for each step.
- `decoding`, `extraction`, `leaf_merges`: from nodes to a tree.
- `placing`: new points in the tree.
- `fit`: the whole fit, which calls the rest in order.
"""
