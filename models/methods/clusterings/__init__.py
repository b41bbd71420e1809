"""Trees made of flat clusterings that any tool has found.

- `clustree`: the clusters of several levels, each under the one that most of its rows come from.
"""
