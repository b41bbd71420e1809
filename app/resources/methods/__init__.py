"""The catalogue of methods.

`routes`: the operations; `schemas`: what goes over the wire.
"""
