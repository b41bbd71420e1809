"""What the service stores for its users in the object store: records, and the files they own.

- `datasets`: uploaded datasets; start here.
- `uploads`: uploads in parts, until they are put together as a dataset.
- `results`: the files of a job's result, as the child writes them and later jobs read them.
- `predictions`: where rows were placed, as a file of a result.
- `items`: the files of what is attached to a tree.
- `trees`: the trees that jobs published, with those files.
- `checkpoints`: the saved state of long fits.
- `annotations`: names, descriptions and tags that users change afterwards.
- `editions`: what users change of a tree, as changes in their order.
- `shares`: links that show a tree to whoever has them.
- `aliases`: names that move from one tree to the next, with their history.
- `beside`: the bytes of annotations, editions and links, counted for quotas.
- `keys`: the keys of the API; `audit`: the log of who changed what.
"""
