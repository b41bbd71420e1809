"""What is stored in Redis.

The scripts of `lua` are the only code that changes the state of a job. Start with `records`; the
comment at the top of each script states its arguments and its result, and the top of
`lua/shared.lua` what each key holds.

- `address`, `client`: what the address may be; the connection, and how a script is called.
- `durability`, `reserve`: whether its settings may lose what it holds; room for removals.
- `records`, `record_fields`: job records, the right to rebuild; one record's fields.
- `workers`: which workers are alive, and what each does.
- `events`: the stream of events of a job.
- `index`, `usage`: lists of datasets and trees; what tenants and keys use, and room for uploads.
- `seen`: how long a sweep has found something unfinished.
- `removal`, `crossings`: what may be removed, and what needs it; work that excludes other work.
- `pages`, `cursor`: pages of lists, and their cursors.
- `webhooks`: which webhooks are due, and who sends them.
"""
