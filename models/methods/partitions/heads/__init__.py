"""Linear heads that learn a labelling, in torch.

- `space_tensors`: features as tensors, whole or in batches; start here.
- `labels`: linear heads, and the partition that they make.
- `bilevel`: the training of Turtle, and how its runs are compared.
- `distillation`: the training of Temi, and its pairs of neighbours.
"""
