"""Which version of the service answers.

`routes`: the operations.
"""
