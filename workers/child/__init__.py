"""The processes that compute, forked from a template.

Start with `run`, which does a job; it has access to neither Redis nor the object store.

- `template`, `preload`, `loading`, `compiling`: the process that children are forked from; what it
  loads; compiled code at its start.
- `pool`, `output`: the worker's side: starts, feeds and stops children; what they print.
- `process`, `stillness`: the life of a child, and its limits; whether a process still computes.
- `confinement`, `system_calls`: what the kernel refuses to a child; the calls that it allows.
- `messages`: what a child sends its supervisor.
- `run`: one job, from input files to result files, by its kind.
- `apart`, `json_facts`, `json_body`: long JSON documents and bodies, opened for the API.
"""
