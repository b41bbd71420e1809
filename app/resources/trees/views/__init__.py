"""Views of a tree: a part laid out for drawing, nodes by name or meaning, meaningful cuts.

`routes`: the operations; `meaning`: the search by an embedder; `schemas`: what goes over the wire.
"""
