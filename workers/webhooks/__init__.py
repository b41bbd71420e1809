"""The sending of webhooks to receivers that may be slow, gone or hostile.

Start with `sender`. Which webhooks are due, and the result of each, is kept by
`workers.jobs.deliveries`; the keys that sign them are in `workers.jobs.webhook_keys`.

- `addresses`: what an address may be, and which hosts may be reached.
- `posting`, `exchange`: one POST, bounded in time and bytes; `replies`: what comes of it.
- `questions`: a question in JSON to an endpoint that the operator set.
- `sender`: takes what is due, sends it, and tries again on the schedule of Standard Webhooks.
"""
