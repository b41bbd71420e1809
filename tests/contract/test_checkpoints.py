"""Long fits of every method that resumes."""

from __future__ import annotations

from tests.contract.contract_kit import House
from umbel.testing import Checkpoints


class TestCheckpoints(House, Checkpoints):
    """Checkpoints of every method."""
