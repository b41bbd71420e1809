"""Inputs that every method refuses."""

from __future__ import annotations

from tests.contract.contract_kit import House
from umbel.testing import Refusals


class TestRefusals(House, Refusals):
    """Refusals of every method."""
