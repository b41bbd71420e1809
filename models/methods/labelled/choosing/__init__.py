"""Which transformation to learn, chosen on known clusters that are held out.

Start at `choice`.

- `choice`: one of several candidates, and what to say of it.
- `validation`: the candidates' scores on clusters that they have not seen.
"""
