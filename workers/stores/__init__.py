"""Where jobs, datasets and trees are kept: objects in a store, records and lists in Redis.

Where the two differ the object store is right: Redis can be rebuilt from it
(`workers.jobs.rebuild`).

- `objects`: an interface to files in a folder and to S3; start with `objects.blobs`.
- `redis`: job records, lists, events and the queue of webhooks; start with `redis.records`.
- `erasure`, `removals`: removes a job from both; also where Redis refuses to forget it.
- `privacy`: files and folders that other users cannot open.
- `reach`: what a key reaches that is limited to some objects or tags.
- `backup`: copies of a whole store, and their restore.
"""
