"""Evaluations of models: what a classifier does on rows whose labels are known.

`routes`: the operations; `schemas`: what goes over the wire.
"""
