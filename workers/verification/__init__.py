"""The verification of a store at work: what is damaged, lost, or does not belong there.

Start with `course`.

- `course`: the whole store in order, to be continued after a kill; quarantine, and what a backup
  brings back.
- `folders`: what a dataset, a job, an upload and the service must have, and what it must be.
- `reading`: objects read at a bounded rate and compared with their digests; findings.
"""
