"""What a caller uses, beside the most that it may.

`routes`: the operations; `schemas`: what goes over the wire.
"""
