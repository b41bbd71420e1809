"""Where jobs run and data are stored: everything between the API and the methods.

Start with `model`, the data of a job, and `jobs.ledger`, through which every job goes.

- `model`: requests, records, ends, claims.
- `jobs`: the promise that no accepted job is lost.
- `artifacts`: datasets, uploads, trees, results, checkpoints, and keys of the API.
- `formats`: the files that users upload.
- `stores`: the object store and Redis; `verification`: whether all in the store is whole.
- `kinds`: the kinds of work; `work`: what several of them are made of.
- `supervisor`: an attempt at a job, from outside; `child`: the process that does it.
- `webhooks`, `telemetry`; `phrasing`, `embedding`: names and vectors by an operator's endpoint.
- `main`, `worker`, `broker`: a worker process and its queues; `prefork`: how it is forked.
- `assembly`, `settings`: the parts put together; settings, and limits of tenants.
- `embedded`, `health`: a Valkey server of our own; a container's health check.
- `errors`, `logs`, `processes`: what all of them use.
"""
