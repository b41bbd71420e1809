"""Splits with a maximum margin, and the trees grown from them; start with `growth`.

- `inputs`: the checked features and the effort that a fit may take.
- `growth`: the tree, grown one split at a time; `tasks` runs its trial splits on several threads.
- `split`: one split, the best of several starts.
- `alternating`: clusters and weights in turn, from one start.
- `objective`: what both steps lower; `loops` has it and the steps on the weights, compiled.
- `result`: a grown tree as the method's result, and the features behind each split.
- `placing`: new rows placed in the tree.
"""
