"""The API floor: what a client sees, and the commands that start it.

Start with `main`: it puts the application together. A request passes `http`, reaches its function
in `routes`, and is turned into a job by `submission` or answered in one of `forms`.

- `main`: `create_app`, the ASGI application.
- `cli`, `commands`, `serve`, `demo`: the command `umbel`, with those for operators.
- `settings`: settings of the service, from the environment.
- `openapi`: the OpenAPI document and the page `/docs`; `contract`: parts of the document.
- `routes`: one module for each kind of resource.
- `schemas`: bodies and queries as they go over the wire.
- `http`: what HTTP needs around routes: security, problems, ETags, streaming.
- `submission`: from a request to an accepted job or dataset.
- `forms`: the forms that trees and tables are served in.
- `pictures`: trees and paths as SVG and PNG.
The page (`dashboard`) and the demonstration's data (`sample`) are beside these.
"""
