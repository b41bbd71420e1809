"""Embeddings: texts or images as vectors, as a new dataset.

`routes`: the operations; `schemas`: what goes over the wire.
"""
