"""Workers forked from a process that has loaded what they need.

- `process`: that process, and the start of a fork.
- `keeper`: the other end: whoever keeps the workers starts it, and adopts its forks.
"""
