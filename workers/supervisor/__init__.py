"""One attempt of one job, from outside: lease, heartbeat, inputs, pieces, publication.

Runs in threads of a worker process, beside the child that computes. Start with `supervisor`.

- `supervisor`: runs jobs by their ids.
- `inputs`: ids become local files, or addresses of objects that are read in parts.
- `interrupts`: the heartbeat, and what may interrupt the work.
- `pieces`: hands the child the pieces of its fit.
- `helper`, `member`: pieces of a job that runs on another worker; the same in a Dask cluster.
- `scratch`: the folder in which a process writes first.
"""
