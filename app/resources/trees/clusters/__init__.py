"""The clusters of a cut without their rows.

`routes`: the operations; `schemas`: what goes over the wire.
"""
