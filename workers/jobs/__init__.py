"""Jobs: the promise that no accepted job is lost, and how it is kept.

Start with `ledger`: the API and the workers use its `Ledger`, which stands for everything here.

- `ledger`: submit, claim, renew, give back, finish, cancel, delete.
- `submission`, `repeats`: request first, then record; the same again for a failed job.
- `finish`, `kept_runs`: the terminal object, then what follows; jobs of a comparison's runs.
- `sweep`, `hints`: lost leases and hints, cancels without effect; messages that a job waits.
- `interrupted`: submissions that a process began and did not finish.
- `pauses`: what takes no jobs for now.
- `retention`: what has expired, and what stays because something needs it.
- `inspections`: datasets that a worker must open, and the jobs that do so.
- `rebuild`: records and lists from the store, after Redis has started.
- `pieces`, `carriers`: a fit that is cut, computed by several workers; who brings them.
- `deliveries`, `webhook_keys`: which webhooks are due, and their results; the keys that sign them.
- `public`: a job as clients see it.
"""
