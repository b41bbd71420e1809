"""One tree from several, and which trees agree on a node of it.

`routes`: the operations; `schemas`: what goes over the wire.
"""
