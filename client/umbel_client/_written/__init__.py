"""Written by `make client` from the code; nothing here is edited by hand.

- `aio`: the client for asyncio, from the blocking one
- `methods`: a function for each method, from the service's catalogue
- `problems`: an exception for each type of problem
- `endings`: the endings of files that are taken
- `quoting`: foreign names in messages
"""
