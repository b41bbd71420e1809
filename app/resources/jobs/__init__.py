"""Jobs: submit, list, poll, follow, cancel, remove.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `events`: progress and log as server-sent events.
- `steps`: the steps of a fit, checked.
- `webhooks`: the secret that signs webhooks.
"""
