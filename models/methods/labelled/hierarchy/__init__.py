"""A partly labelled tree completed.

Start at `completion`.

- `known_tree`: the labels on their hierarchy.
- `tied_metrics`: a metric for each node, tied to its parent's, all learned at once.
- `novelty`: rows of no known leaf, and the known nodes that rows lie near.
- `ward`: Ward's tree of these rows.
- `resemblance`: sizes and spreads of nodes of each level, as known ones show.
- `spreads`: below which node a cluster lies, as known siblings tell.
- `new_nodes`: nodes of Ward's tree that become new ones, and where they hang.
- `completion`: new nodes, and all other rows at known leaves.
- `placing`: new rows in the completed tree.
- `validation`: metrics compared by known leaves that are held out.
"""
