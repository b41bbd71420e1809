"""From a request for work to an accepted job, or to a stored dataset.

Start with `jobs`: `submitted` is the one way in which routes submit work.

- `jobs`: submitted once per idempotency key, awaited, answered.
- `tree_jobs`: the same for work on a tree, answered with its result if it is quick.
- `named_jobs`: jobs with an id, a list and an address of their own.
- `steps`: the steps of a fit, checked. `waiting`: what waits for packages.
- `inputs`: inputs by role, looked up and checked.
- `shown_trees`: trees with the names of a naming and the changes of an edition.
- `fit_rows`, `maps`, `attachments`: rows of a tree's fit; what maps and orders of items are of.
- `statements`: what a user says of a tree, as labels of its rows.
- `allowances`: the room that an upload takes of what its tenant may keep.
- `annotations`: changed names, descriptions and tags.
- `duplicates`: uploads of what is there already.
- `uploads`: new datasets on their way into the store.
"""
