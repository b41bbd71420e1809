"""A partly labelled tree completed.

Start at `completion`.

- `known_tree`: the labels on their hierarchy.
- `tied_metrics`: a metric for each node, tied to its parent's, all learned at once.
- `components`: a node's rows as known leaves and new components.
- `spreads`: below which node a new component lies, as known siblings tell.
- `completion`: known leaves joined, new nodes with all that is below them, from the root down.
- `placing`: new rows in the completed tree.
- `validation`: metrics compared by known leaves that are held out.
"""
