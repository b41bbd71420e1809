"""Pauses: what takes no jobs for now.

`routes`: the operations; `schemas`: what goes over the wire.
"""
