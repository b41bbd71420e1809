"""Datasets uploaded in parts: in any order, each checked by its sha256, resumable.

`routes`: the operations; `schemas`: what goes over the wire. How many bytes an upload may
have is in `app.settings`, how many parts in `workers.artifacts.uploads`.
"""
