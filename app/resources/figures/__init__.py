"""Figures that a client has drawn, as files for print.

`routes`: the operations; `schemas`: what goes over the wire; `forms`: how it is served, by suffix
or `Accept`.
"""
