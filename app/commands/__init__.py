"""The commands of `umbel` for the operator of a service; `app.cli` adds them to the others.
Start with `keys`.

- `keys`: keys of the API in the store.
- `backup`: `umbel backup`, `umbel restore` and `umbel verify`, copies of the store and checks.
- `compiling`: `umbel compile`, which compiles what would be compiled when first used.
- `audit`: `umbel audit`, who changed what.
- `removal`: `umbel gc`, which removes what has expired.
"""
