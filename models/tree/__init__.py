"""The tree that every method returns, and functions over it; none of them recurses.

Start with `tree`, the frozen table of columns, and `build`, the ways to make one.

- Structure: `parents` (operations on the column of parents), `walk` (orders, paths, ancestors,
  subtrees, the leaves under each node).
- Cuts: `cut` (one, or all from coarse to fine; with points or without), `noise` (rows in no
  cluster); `models.levels` has those that stand out.
- Attributes of nodes: `labels` (and colours), `cluster_names`, `named` (nodes by their names).
- Pictures: `layout`, `window` (a part small enough to draw), `tangle` (two trees side by side).
- Two trees: `moves` (leaves of the same names, and which of them moved).
- Rows: `rows` (which row a leaf holds, by names; other rows).
- Formats: `nested`, `node_link` and `json_fields` (JSON), `newick`, `nexus`, `graphml`, `linkage`,
  `columns` (Arrow), `class_paths`; `dialects` has what other tools write in them.
"""
