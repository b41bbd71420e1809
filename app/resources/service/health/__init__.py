"""Health of the process and of the service, and its metrics.

`routes`: the operations; `schemas`: what goes over the wire.
"""
