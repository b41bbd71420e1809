"""Evaluations: a tree against labels, features or another tree, as a whole and node by node.

`routes`: the operations; `schemas`: what goes over the wire; `classifiers`: what a classifier does
on rows whose labels are known.
"""
