"""Classes out of place: a tree of classes beside a hierarchy of the same classes.

Start with `placements`: how well each class fits where it hangs and where else, what is odd, and
how sure that is.

- `options`: the request.
- `groups`: the classes that both trees have, by name, and the groups of the hierarchy over them.
- `likeness`: how alike two classes are, by the tree and by a classifier's scores.
- `evidence`: what classes out of place are like, taken for, and which rows show it.
"""
