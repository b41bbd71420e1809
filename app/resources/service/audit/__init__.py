"""The audit log: who changed what, when and from where.

`routes`: the operations; `schemas`: what goes over the wire.
"""
