"""Tools for assistants, by the Model Context Protocol over standard input and output: `umbel mcp`.

Start with `serving`, whose `server` is that of the official SDK with all tools and resources. Each
tool is one call of the client. An input is a path on this machine (`x.npz:member` for one array of
several), an id of the service, or a list of values; labels are the argument `labels` everywhere.

- `serving`: the server, what each tool may do, resources, and errors as sentences
- `waiting`: a call on its thread, with progress and cancellation
- `running`: `methods`, `upload`, `run`, `compare`, `job`
- `reading`: `find`, `tree`, `picture`, `levels`, `cut`, `confusions`
- `judging`: `evaluate`, `predict`, `calibrate`, `drift`, `name`
- `values`: arguments that several tools take, and their bounds
- `answers`: the schemas of outputs
"""

from umbel_client.assistants.serving import server

__all__ = ["server"]
