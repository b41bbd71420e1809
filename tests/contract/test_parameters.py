"""The parameters of every method."""

from __future__ import annotations

import pytest

from tests.contract.contract_kit import House
from umbel.testing import Parameters


class TestParameters(House, Parameters):
    """Parameters of every method; the extremes of all of them take minutes."""

    test_every_extreme_gives_a_tree_or_is_refused = pytest.mark.slow(
        Parameters.test_every_extreme_gives_a_tree_or_is_refused
    )
