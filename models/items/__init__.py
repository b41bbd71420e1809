"""Items: what the points of a tree are, a table with a row for each point or for each leaf.

`models.inputs.items` has the table itself: columns of numbers, categories, dates, texts and images.
Start with `placement`.

- `images`: which files are images, and how large they may be.
- `facts`: what a column holds, for those who choose among columns.
- `placement`: which items lie under which node of a tree.
- `aggregates`: one value for each node from the values of the items under it.
- `conditions`: the items that match, counted under each node.
- `points`: the points themselves as items, where none are given.
- `rankings`: the items of a node from the most central to the least, or the surest to the least.
"""
