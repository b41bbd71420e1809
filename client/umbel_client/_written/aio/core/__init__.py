"""How the client for asyncio speaks to a service. Written by `make client`.

- `connection`
- `uploads`
- `waiting`
- `runs`
"""
