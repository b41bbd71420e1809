"""Datasets: upload, list, read, download, remove.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `duplicates`: uploads of what is there already.
- `made`: the answer of work whose result is a dataset.
- `submission`: a new dataset on its way into the store.
- `uploads`: datasets uploaded in parts.
"""
