"""Recursive regularization by blocks of classes, for problems too large for one process.

Classes that are not neighbours are independent given all others, so blocks of them are pieces: on a
tree all classes, on a graph the classes of one colour. Then the inner nodes move. Start at
`sweeps`.

- `block`: the blocks, the neighbours of a class, and a piece: the classes of one block.
- `newton`: the classes of a block by the logistic loss.
- `row_model`: a model of a step by the few rows that matter.
- `inner_nodes`: the inner nodes between the turns of the classes, moved by conjugate gradients
  while the classes follow; `loops` are compiled.
- `sweeps`: the turns, what is kept between them, and the classifier at their end.

Source: Gopal, "Large-scale Structured Learning" (2014), §2.4.3 and §3.3.3. There odd and even
levels of a tree take turns; here all inner nodes move at once, which needs fewer turns.
"""
