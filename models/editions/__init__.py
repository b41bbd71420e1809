"""Editions: what a person changes of a tree, as operations replayed onto it.

Start with `state`. The tree itself never changes, and a node keeps its id through every operation.

- `state`: rename, note, colour, reorder, collapse, merge, dissolve; their limits; the differences
  from the tree that they make, one at a time and without a pass over the tree.
- `edited`: the tree with these differences, in rows, and which row is which node; notes, colours
  and collapsed nodes in Newick and Nexus.
"""
