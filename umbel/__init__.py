"""The package of the distribution: how its three floors are found, whatever else is installed.

- `__main__`: the command `umbel`; start here.
- `floors`: makes `app`, `workers` and `models` importable in a process of the service.
- `plugins`: what a method in a distribution of its own is made of.
- `testing`: the contract of a method, as tests.
"""
