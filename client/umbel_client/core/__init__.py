"""How the client speaks to a service. Start with `connection`.

- `connection`: requests until they are answered; what is read and written at an address
- `opening`: the HTTP client under it
- `messages`: requests, responses, and what becomes of a refusal
- `uploads`: datasets, at once or in parts
- `waiting`, `events`: jobs until they have ended
- `runs`, `requests`: methods and comparisons, and the bodies of their requests
- `facts`: what is known of a tree
- `fields`: what every request for work may have, and what may be changed later
"""
