"""What a batch of rows does in a tree that a reference did not: mass, confidence and purity moved.

Start with `drift`: the two samples, the hypotheses at nodes, those selected under control
of false discoveries (TreeBH), and the moves that are found.

- `options`: the request.
- `proportions`: exact tests and intervals of proportions, for many 2 x 2 tables at once.
"""
