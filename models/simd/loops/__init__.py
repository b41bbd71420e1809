"""Vector operations for compiled loops, and the plain loops that do the same; start with `rows`.

- `rows`: a row's numbers, 64 at a time. `columns`: several short rows side by side.
- `tiles`: distances from one row to 32 points at a time. `numbers`: single numbers.
- `choice`: whether these four have the operations of `vectors` or of `plain`.
- `constants`: what both are made with.

Both give the same results to the last bit, on one processor: a product and a sum are fused in both
where it can do so. Only the sign of a zero may differ where it is one of several equal numbers, in
`rows.largest`, `rows.least` and `numbers.larger`.
"""
