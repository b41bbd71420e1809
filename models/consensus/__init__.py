"""One tree from several, and how much of a tree others have.

Start with `rules`, which makes the tree.

- `options`: the names of the rules.
- `items`: which leaves or rows of the trees are the same.
- `clusters`: the sets of items under their nodes, counted over all trees.
- `rules`: strict, majority, extended and median consensus.
- `orders`: items from left to right.
- `heights`: at which heights the nodes of a consensus meet.
- `reference`: how much of a given tree the others have.
- `support`: the same by runs on resampled rows, counted one after the other.
- `stopping`: whether more trees would change the counts.
- `loops`: compiled loops.
"""
