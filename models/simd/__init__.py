"""Operations on many numbers at a time, for any processor.

`loops` has them, in LLVM; the plain loops beside them give the same numbers.
"""
