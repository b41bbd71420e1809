"""Workers forked from a process that has loaded what they need; the API uses it as well.

- `process`: that process, and the start of a fork.
- `keeper`: the other end: whoever keeps the forks starts it, and adopts them.
"""
