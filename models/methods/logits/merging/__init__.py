"""How `l2h` merges classes: exactly, from one pass over the logits.

- `reference`: the definition in float64 NumPy; start here.
- `logit_matrix`: the logits as blocks of rows; `topk`: only the best classes of each row are known.
- `masks`: -1e9 and its like in place of -inf.
- `input_kind`: what sent logits look like; `ties`: merges that the order of the columns decided.
- `engine`: a fit's passes, on threads, in pieces or on a GPU; `row_digest`: one pass, short lists.
- `merging`: bounds decide each merge, or rows are read again; `empty_classes`: those without
  points.
- `class_pairs`: which classes are taken for which, by the rows' probabilities.
- `resume`: a fit continues from an earlier job; `modularity`: a curve for suggested cuts.
- `pass_gpu`, `block_lists`, `triton_gpu`: the pass on a GPU, by torch operations or one kernel.
- `loops`: the compiled loops.
"""
