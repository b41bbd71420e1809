"""The API floor: what a client sees, and the commands that start it.

Start with `main`: it puts the application together. A request passes `http`, reaches its function
in `resources`, and becomes a job by `creation` or is answered in one of the resource's forms.

- `main`: `create_app`, the ASGI application.
- `cli`, `commands`, `serve`, `demo`: the command `umbel`, with those for operators.
- `settings`: settings of the service, from the environment.
- `resources`: a folder for each resource: its routes, schemas, forms and picture.
- `creation`: one way to make a thing, for all resources.
- `http`: what every request goes through: security, problems, ETags, forms, streaming.
- `pictures`: what drawings are made of.
- `openapi`: the OpenAPI document; `dashboard`: the page.
The demonstration's data (`sample`) are beside these.
"""
