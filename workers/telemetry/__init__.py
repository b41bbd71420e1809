"""What an operator sees of the workers: numbers, and the way of a job as a trace.

- `job_counts`: counters and histograms of jobs, kept in Redis; queues and tenants.
- `store_size`: the bytes in the object store, measured now and then.
- `traces`: spans of OpenTelemetry, from the request to the webhook.
"""
