"""What a running fit uses beside its inputs.

Start with `progress`.

- `progress`: the progress of a long computation; who computes its pieces.
- `budget`: the memory it may use, and how long it is expected to take.
- `device`: where torch computes.
- `graphs`: steps of training recorded as CUDA graphs.
- `threads`: how many threads the libraries of linear algebra use.
- `packages`: optional packages that only some work needs.
- `loops`: the decorator of compiled functions; what numba compiles, as seen from outside.
"""
