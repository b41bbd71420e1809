"""Benchmarks: one module per table of numbers; `python -m bench [table ...]` prints them."""
