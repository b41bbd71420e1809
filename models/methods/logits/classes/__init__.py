"""What the methods of this family share.

- `of_logits`: the base of a method, with its inputs, what it refuses, and where new rows go.
- `parameters`: what the logits are, and where they are read.
- `given`: the names and the number of classes, and the earlier job that a fit goes on from.
- `shown`: what the tree and the warnings say of classes.
"""
