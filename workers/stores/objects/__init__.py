"""The object store: files in a folder, or a bucket of S3, Google Cloud Storage or Azure.

Start with `blobs`, the interface, and `layout`, which names every object.

- `address`: the store that the settings name.
- `blobs`: what a store does, and what its keys may be.
- `local`: one folder, durable and whole.
- `temporary`: files that are being written, and those that dead processes left.
- `syncs`: several files made durable together.
- `bucket`: a bucket; `clouds`: the clients of the three kinds.
- `cache`, `streams`: downloads kept on the local disk, uploads of unknown length.
- `layout`: the keys of all objects.
- `seals`, `witnesses`: the digest that a small object carries of itself; what shows its loss.
- `digests`: the digests kept of large ones; `quarantine`: what is damaged.
- `job_files`: a job's request, files and end.
- `format`: which versions may work on the store.
"""
