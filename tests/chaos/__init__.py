"""The service of real processes under faults: no accepted job is lost, and none ends twice.

`python -m tests.chaos` (`make chaos`) prints a table; start with `storm_kit`.

- `proxy_kit`: connections that are cut, delayed, swallowed, or answered with errors of S3.
- `parts_kit`: Valkey, API and workers as processes that are started again when they die.
- `faults_kit`: what is done to them.
- `storm_kit`: clients, faults and the reckoning at the end.
- `rolling_kit`: restarts of every process in turn, under load.
- `test_chaos`, `test_proxy`: short storms and rolls; what the proxy does.
"""
