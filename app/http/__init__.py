"""What every request goes through, and the forms in which answers are served.

Start with `dependencies`, the parameters of routes; `problems` has every error.

- `server`, `connections`, `connection_state`, `peers`, `early`, `processes`, `prefork`, `heap`.
- `security`, `keyring`, `environment_keys`, `sharing`, `sign_in`: who may call; `rates`.
- `reached`: what a limited key may name; `aliased`: aliases in place of ids.
- `observability`, `metrics_folder`, `service_metrics`, `auditing`: ids, log, metrics, who did what.
- `dependencies`: the service, the tenant, ids of the path; `idempotency`, `lives`: keys again.
- `problems`, `problem_schemas`, `pointers`, `near`: RFC 9457 problems and their kinds; places.
- `routing`, `late`, `addresses`, `bodies`, `queries`, `picture_queries`: routes, bodies, queries.
- `forms`, `picture_forms`, `tables`, `json_parts`, `stored`: forms, chosen by suffix or `Accept`.
- `paging`, `etags`, `contents`: pages of lists, conditional requests, stored objects by ranges.
- `streaming`, `threads`, `compression`: long answers; `waiting`, `job_ends`, `events`: of jobs.
- `turns`, `presence`, `pacing`, `door`, `buckets`, `readers`, `machine`: how much each caller has.
"""
