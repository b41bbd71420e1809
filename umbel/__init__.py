"""The package of the distribution: how its three floors are found, whatever else is installed.

- `__main__`: the command `umbel`; start here.
- `floors`: makes `app`, `workers` and `models` importable in a process of the service.
- `later`: what such a process loads when it uses it.
- `engine`: what a member of a Dask cluster runs.
- `plugins`: what a method in another distribution is made of.
- `testing`: the contract of a method, as tests.
"""
