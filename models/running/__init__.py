"""What a running fit uses beside its inputs.

Start with `progress`.

- `progress`: the progress of a long computation; `crew`: who computes its pieces.
- `memory`, `device`: the memory it may use, and where torch computes.
- `cost`: how long a fit is expected to take.
- `packages`: optional packages that only some work needs.
- `loops`: what numba compiles, as seen from outside.
"""
