"""A partly labelled tree completed.

Start at `completion`.

- `known_tree`: the labels on their hierarchy.
- `tied_metrics`: a metric for each node, tied to its parent's, all learned at once.
- `new_nodes`: rows of no known leaf, nodes of Ward's tree over them that become new ones, and below
  which node each lies, as known siblings and levels show.
- `gathering`: rows gathered around new leaves, where labelled ones stay.
- `placing`: under which node a cluster hangs, learned from known nodes hidden at random.
- `hanging`: new nodes and new classes in their places.
- `questions`, `answers`: the questions to a person about places, and the answers.
- `completion`: new nodes, and all other rows at known leaves; new rows in the completed tree.
- `validation`: metrics compared by known leaves that are held out.
"""
