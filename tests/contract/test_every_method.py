"""What a fit of every method gives, and that each has its place and its test."""

from __future__ import annotations

from typing import Any

from models.method import Method
from tests.conftest import ROOT
from tests.contract.contract_kit import House, every_method
from umbel.testing import Results


class TestResults(House, Results):
    """Results of every method."""


@every_method
def test_the_family_is_the_folder_the_method_lies_in(method: Method[Any]) -> None:
    assert method.family == type(method).__module__.split(".")[-2]


@every_method
def test_every_method_has_a_test_file(method: Method[Any]) -> None:
    *folders, module = type(method).__module__.split(".")
    path = ROOT.joinpath("tests", *folders, f"test_{module}.py")
    assert path.is_file(), f"test it against its definition in {path.relative_to(ROOT)}"
