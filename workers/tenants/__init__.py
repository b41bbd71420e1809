"""Tenants: what an operator decides about them, beside their data.

Start with `keys`: who a caller is, and what that caller may do.

- `keys`: the keys of the API, in the store.
- `limits`: what a tenant, or one key, may use.
"""
