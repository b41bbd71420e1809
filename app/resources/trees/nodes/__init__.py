"""One node of a tree, and the points under it.

`routes`: the operations; `schemas`: what goes over the wire; `images`: the images that a model made
of nodes.
"""
