"""Views of a tree: a part laid out for drawing, nodes by name, meaningful cuts.

`routes`: the operations; `schemas`: what goes over the wire.
"""
