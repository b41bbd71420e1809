"""Operations on many numbers at a time, for any processor.

- `loops`: the operations, each as vectors for LLVM and as a plain loop with the same results to the
  last bit; start here.
- `switch`: which of both are used. With `UMBEL_PLAIN_LOOPS=1` in the environment everything runs on
  the plain loops, which is slower: for a processor or a version of LLVM on which vectors misbehave.
"""
