"""Predictions: new rows placed in a tree.

`routes`: the operations; `schemas`: what goes over the wire.
"""
