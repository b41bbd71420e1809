"""Tools for assistants, by the Model Context Protocol over standard input and output: `umbel mcp`.

Start with `serving`, whose `server` is that of the official SDK with all tools and resources. Each
tool is one call of the client. An input is a path on this machine (`x.npz:member` for one array of
several), an id of the service, or a list of values.

- `serving`: the server, what each tool may do, and errors as sentences
- `running`: `methods`, `upload`, `run`, `compare`
- `reading`: `find`, `tree`, `picture`, `levels`, `cut`, `confusions`
- `judging`: `evaluate`, `predict`, `calibrate`, `drift`, `name`
- `values`: inputs, and long lists cut short
"""

from umbel_client.assistants.serving import server

__all__ = ["server"]
