"""Editions: what a person changes of a tree, as operations replayed onto it.

Start with `operations`: what can be done to a node. The tree itself never changes, and a node keeps
its id through every operation.

- `operations`: rename, note, colour, reorder, collapse, merge, dissolve; their limits.
- `state`: the differences from the tree that operations make, one at a time and without a pass over
  the tree.
- `edited`: the tree with these differences, in rows, and which row is which node.
- `comments`: notes, colours and collapsed nodes in Newick and Nexus.
"""
