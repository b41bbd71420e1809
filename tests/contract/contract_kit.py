"""The methods of Umbel as examples of the contract (`umbel.testing`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from models import registry
from umbel.testing import COUNTS, ROLES, UNIT_ROWS, Example, examples_of

_labels = ROLES["labels"]
METHODS = list(registry.built_in().values())

OWN: Mapping[str, Mapping[str, Any]] = {
    **{
        name: {"graph": np.array([["0", "1"], ["1", "2"]], dtype=object)}
        for name in ("rr-svm", "rr-lr")
    },
    **{
        method.id: {"labels": np.where(_labels == 2, -1, _labels)}
        for method in METHODS
        if method.family == "labelled"
    },
    "bvmf": {"features": UNIT_ROWS},
    "hvmf": {"features": UNIT_ROWS},
    "lda": {"features": COUNTS},
    "multinomial": {"features": COUNTS},
    "tvmf": {"features": UNIT_ROWS},
    "vmf": {"features": UNIT_ROWS},
}
"""Inputs of methods that accept only a kind of values: counts, unit rows, edges of classes, labels
of some rows."""

EXAMPLES = [
    example for method in METHODS for example in examples_of(method, **OWN.get(method.id, {}))
]


def with_needs(examples: Iterable[Example]) -> list[Any]:
    """Each as a parameter whose test is skipped where a package of its method is missing."""
    return [
        pytest.param(each, id=str(each), marks=pytest.mark.needs(*each.method.needs))
        for each in examples
    ]


every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.id)


class House:
    """The contract of Umbel's methods. What a test needs and does not find is counted at the end
    of the run (`tests.needs_kit`)."""

    examples = EXAMPLES
    order_matters = frozenset({"birch", "ghhc"})

    @classmethod
    def needing(cls, names: Sequence[str]) -> list[pytest.MarkDecorator]:
        return [pytest.mark.needs(*names)]
