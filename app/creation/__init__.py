"""One way to make a thing: from a POST to its job, its name and tags, its list and its removal.

Start with `creation`: `mount_create` is the one way in which routes submit work.

- `creation`: `mount_create`, submitted once per idempotency key, awaited, answered; `job_schemas`,
  `result_schemas`: a job over the wire, and what it left.
- `lists`: `mount_list`, the one way to list things: filters, pages.
- `named`, `named_schemas`: jobs with an id, a list and an address of their own.
- `fields`, `step_schemas`: what requests share; `steps`, `inputs`: these checked and looked up.
- `annotations`, `annotation_schemas`, `expiry`: names, descriptions, tags; when it may go.
- `webhooks`: the request when it has ended, for the document; `sizes`: of inputs, for estimates.
- `fit_rows`, `waiting`, `allowances`: rows of a tree's fit; what lacks a package; room for uploads.
"""
