"""Transformations: rows transformed by a model, as a new dataset.

`routes`: the operations; `schemas`: what goes over the wire.
"""
