"""What the client does, independent of how it is connected. Start with `steps`.

- `steps`: what an operation asks for, as plain data
- `drivers`: the blocking and the asynchronous way to do it
- `sending`: one request until it is answered
- `uploads`: datasets, at once or in parts
- `waiting`: jobs until they have ended
- `runs`: methods and comparisons
- `trees`: trees, models and lists
- `editions`: editions of a tree, and links that show it
- `changes`: names, descriptions and tags
- `expiry`: when things may be removed
"""
