"""A distribution with a method beside Umbel, and with entry points that cannot be used.

- `median_split`: the method.
- `unfinished`: one that breaks the contract.
"""
