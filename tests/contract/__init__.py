"""What every method must do, tested once for all methods in the registry.

- `test_every_method`: results: trees, seeds, order, progress, prediction, the catalogue
- `test_refusals`: inputs that every method refuses, and the error's content
- `test_parameters`: described, bounded, held to their bounds
- `test_checkpoints`: a lost fit resumes and ends the same
- `test_contributing`: the guide's example is the real method
- `contract_kit`: Umbel's methods as examples; the tests themselves are `umbel.testing`
"""
