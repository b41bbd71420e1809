"""The HTTP layer around every route.

Start with `dependencies`, the parameters of routes; `problems` has every error.

- `server`, `processes`, `connections`: servers behind one port; bounds of each connection.
- `dependencies`: the service, the tenant, ids of the path, idempotency keys.
- `problems`: RFC 9457 problems, the kinds of them, and error handlers.
- `security`, `keyring`, `environment_keys`: who may call: roles, Host, Origin; where keys are kept.
- `sharing`, `rates`: what a link to a tree opens; requests a second, of tenants, keys and links.
- `observability`, `service_metrics`: request ids, the log; metrics of requests and of jobs.
- `bodies`, `queries`: bounded bodies and strict JSON; query parameters that a route has not.
- `addresses`, `paging`: addresses behind a proxy, pages of lists.
- `etags`, `contents`: conditional requests, stored objects whole or by ranges.
- `streaming`, `compression`: large responses, a few at a time; gzip.
- `idempotency`: the same key gets the first response again.
- `waiting`, `job_ends`, `events`: `Prefer: wait`, announcements of ends, server-sent events.
"""
