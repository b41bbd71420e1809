"""The ledger, its scripts and sweepers under a deterministic scheduler: nothing accepted is lost.

The code of `workers.jobs` runs over a real Valkey and a store in memory. Its processes are
greenlets: at each call of Redis or the store the scheduler decides whose step is next, moves the
clock, and loses, repeats or delays the call, or ends the process. One seed is one schedule.
`python -m tests.simulation` (`make simulate`) runs many; start with `world_kit`.

- `world_kit`: decisions, processes, the clock, and what happens to a call.
- `store_kit`, `redis_kit`, `wire_kit`: the store in memory; Valkey by the simulated clock, and the
  one connection to it.
- `actors_kit`: clients, workers, sweepers, and who pauses.
- `works_kit`: who sends webhooks, helps with pieces, uploads datasets; what must hold of these.
- `rules_kit`: what must hold at each step, and at the end.
- `schedule_kit`: one schedule from its decisions; a failing one made shorter.
- `share_kit`: the schedules of one of several processes.
- `planted_kit`: faults put into the code, all of which must be found.
- `test_simulation`: four hundred schedules, and each planted fault.
"""
