"""Damaged files against every reader: each is read, or refused as the user's error.

`python -m tests.fuzz` (`make fuzz`) runs for the given seconds; start with `trial_kit`.

- `corpus_kit`: valid files of every format, from which damaged ones are made.
- `mutation_kit`: the damages.
- `trial_kit`: reads them in processes with bounded memory and time, as a job does.
- `test_readers`: a few hundred of them, and every file that once broke a reader.
"""
