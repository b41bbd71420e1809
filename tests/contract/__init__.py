"""What every method must do, asked once of all in the registry.

- `test_every_method`: results: trees, seeds, order, progress, prediction, the catalogue
- `test_refusals`: what no method takes, and what the error says
- `test_parameters`: described, bounded, held to their bounds
- `test_checkpoints`: a lost fit goes on to the same end
- `test_contributing`: the guide's example is the real method
- `contract_kit`: an example of each role, the methods with the roles that they take
"""
