"""Classes out of place: a tree of classes beside a hierarchy of the same classes.

- `options`: the request, without what it takes to answer it.
- `placements`: the classes that both trees have, by name, and the groups of the
  hierarchy over them; how well each class fits where it hangs and where else, what is odd, and how
  sure that is. Start here.
- `chance`: whether p-values hold in a hierarchy.
- `evidence`: how alike two classes are, by the tree and by a classifier's scores; what classes out
  of place are taken for, and which rows show it.
"""
