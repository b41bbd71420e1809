"""Long fits of every method that resumes."""

from __future__ import annotations

from copy import copy

import pytest

from models.clusters import lloyd
from models.methods.partitions.mixtures import gaussian_rows, multinomial_rows, topic_rows
from tests.contract.contract_kit import EXAMPLES, House
from umbel.testing import Checkpoints


class TestCheckpoints(House, Checkpoints):
    """Checkpoints of every method; k-means and mixtures save some in fits by rows."""

    examples = [copy(example) for example in EXAMPLES]

    @pytest.fixture(autouse=True)
    def by_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (lloyd, gaussian_rows, multinomial_rows, topic_rows):
            monkeypatch.setattr(module, "WHOLE", 1)
            monkeypatch.setattr(module, "SAMPLE", 1)
