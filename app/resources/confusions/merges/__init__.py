"""What it would gain and lose to make one class of several.

`routes`: the operations; `schemas`: what goes over the wire; `forms`: how it is served, by suffix
or `Accept`.
"""
