"""Long fits of every method that resumes."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest

from models.clusters import lloyd
from models.methods.partitions.means import batch_rows
from models.methods.partitions.mixtures import gaussian_rows, multinomial_rows, topic_rows
from tests.contract.contract_kit import EXAMPLES, House
from umbel.testing import ROLES, Checkpoints, Example


class InRounds(Example):
    """`hac` with the parameters by which it saves some."""

    def params(self, **params: Any) -> Any:
        return super().params(connectivity="knn", epsilon=0.1, **params)


def example_that_saves(example: Example) -> list[Example]:
    if example.method.id != "hac":
        return [copy(example)]
    roles = example.roles
    return [InRounds(example.method, roles, ROLES, 0)] if roles == ("features",) else []


class TestCheckpoints(House, Checkpoints):
    """Checkpoints of every method; k-means and mixtures save some in fits by rows,
    `hac` in rounds."""

    examples = [saves for example in EXAMPLES for saves in example_that_saves(example)]

    @pytest.fixture(autouse=True)
    def by_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(batch_rows, "WHOLE", 1)
        for module in (lloyd, gaussian_rows, multinomial_rows, topic_rows):
            monkeypatch.setattr(module, "WHOLE", 1)
            monkeypatch.setattr(module, "SAMPLE", 1)
