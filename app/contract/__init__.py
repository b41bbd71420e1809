"""What the OpenAPI document has beside the routes; start with `operations`.

- `operations`: one operation for each form of a resource, with its exact media type; which
  operations need a key.
- `method_schemas`: requests that run a method, one schema for each method.

`app.openapi` puts the document together.
"""
