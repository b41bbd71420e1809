"""The operations written for LLVM, as numba's intrinsics.

- `rows`, `columns`: the operations, with their contracts.
- `building`: what these are built of; start here.
"""
