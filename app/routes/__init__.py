"""The paths of the API, a module for each kind of resource; `app.main` mounts all of them.

- `jobs`, `webhooks`, `comparisons`: runs of methods, and what is sent when they end.
- `datasets`, `uploads`: data that come in, whole or in parts.
- `methods`: the catalogue.
- `imports`, `trees`: trees that come in, whole trees that go out.
- `views`, `nodes`, `clusters`, `tangles`, `features`: parts of trees.
- `assignments`, `evaluations`, `predictions`: a tree's rows, its quality, new rows.
- `models`, `paths`: what was fitted, and clusters over time.
- `health`: liveness, readiness, metrics.
- `dashboard`: the page and its files.
"""
