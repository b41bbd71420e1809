"""The cluster of each input row.

`routes`: the operations; `forms`: how it is served, by suffix or `Accept`.
"""
