"""Variational inference with clusters at the leaves of a hierarchy, for `hvmf`; start with
`hierarchical`.

- `hierarchy`: the hierarchy, given or complete, and the means that a run starts from.
- `hierarchical`: the posterior of all nodes, and how a run climbs.
"""
