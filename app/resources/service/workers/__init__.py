"""Workers: which are alive, and what each does.

`routes`: the operation, and what goes over the wire.
"""
