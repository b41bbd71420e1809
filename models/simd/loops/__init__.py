"""Vector operations for compiled loops, and plain loops that do the same.

Start with `operations`.

- `operations`: what callers use: a row's numbers, 64 at a time; several short rows side by side;
  distances from one row to 32 points at a time; single numbers.
- `choice`: whether these are the operations of `vectors` or of `plain`.
- `constants`: what both are made with.

Both give the same results to the last bit, on one processor: a product and a sum are fused in both
where it can do so. Only the sign of a zero may differ where it is one of several equal numbers, in
`largest`, `least` and `larger`.
"""
