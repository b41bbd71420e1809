"""The secret that signs webhooks.

`routes`: the operation and its schema.
"""
