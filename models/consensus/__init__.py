"""One tree from several, and how much of a tree others have.

Start with `rules`, which makes the tree.

- `options`: the names of the rules.
- `items`: which leaves or rows of the trees are the same.
- `clusters`: the sets of items under their nodes, as numbers, counted over all trees; items
  from left to right.
- `rules`: strict, majority, extended and median consensus, and at which heights their nodes meet.
- `reference`: how much of a given tree the others have.
- `support`: the same by runs on resampled rows, counted one after the other, and whether
  more trees would change the counts.
- `loops`: compiled loops.
"""
