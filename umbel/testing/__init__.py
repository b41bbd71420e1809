"""The contract of a method, as tests: what Umbel asks of its own methods and of any other.

A plug-in's tests, with pytest:

    from umbel.testing import Contract, examples_of
    class TestToy(Contract):
        examples = examples_of(Toy())

- `examples`: small inputs of every role; start with its `examples_of`.
- `suite`: each test runs on each example.
- `results`, `refusals`, `parameters`, `checkpoints`: the tests.
- `lost_worker`: a checkpoint in memory.
"""

from __future__ import annotations

import pytest

import umbel.floors  # noqa: F401

SUITES = ("results", "refusals", "parameters", "checkpoints")

# Before they are imported: a failure then shows the values that were compared.
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in ("examples", *SUITES)))

from umbel.testing.checkpoints import Checkpoints  # noqa: E402
from umbel.testing.examples import (  # noqa: E402
    COUNTS,
    N_POINTS,
    ROLES,
    UNIT_ROWS,
    Example,
    examples_of,
)
from umbel.testing.parameters import Parameters  # noqa: E402
from umbel.testing.refusals import Refusals  # noqa: E402
from umbel.testing.results import Results  # noqa: E402


class Contract(Results, Refusals, Parameters, Checkpoints):
    """All that is asked of every method."""


__all__ = [
    "COUNTS",
    "N_POINTS",
    "ROLES",
    "UNIT_ROWS",
    "Checkpoints",
    "Contract",
    "Example",
    "Parameters",
    "Refusals",
    "Results",
    "examples_of",
]
