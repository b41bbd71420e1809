"""The OpenAPI document: generated from the routes, kept in `openapi/openapi.json`.

Start with `document`.

- `document`: the document made, tidied, served.
- `operations`: its operations, made exact; `form_paths`: a resource's forms among them.
- `method_schemas`: a schema for each method.
- `bases`: what many schemas inherit, written once.
- `shared`: what repeats, written once among the components.
- `enum_names`: names for values that generators would take for one.
- `documented`: schemas for what is sent as it was stored.
"""
