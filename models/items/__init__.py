"""Items: what the points of a tree are, a table with a row for each point or for each leaf.

`models.inputs.items` has the table itself: columns of numbers, categories, dates, texts and images.
Start with `placement`.

- `placement`: which items lie under which node of a tree, and one value for each node from theirs.
- `facts`: what a column holds, for those who choose among columns; which files are images, and how
  large they may be.
- `conditions`: the items that match, counted under each node.
- `points`: the points themselves as items, where none are given.
- `rankings`: the items of a node from the most central to the least, or the surest to the least.
"""
