"""Which transformation to learn, chosen on known clusters that are held out.

- `validation`: the candidates' scores on clusters that they have not seen, and the chosen one.
"""
