"""The contract as a plug-in's author runs it, by the file of `docs/plugins.md`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT

GUIDE = (ROOT / "docs" / "plugins.md").read_text()
LAZY = """
from toy_methods.median_split import MedianSplit
from umbel.plugins import Fitted, from_partition
from umbel.testing import Contract, examples_of

class Lazy(MedianSplit):
    def _check(self, data, params):
        pass

    def _fit(self, data, params, run):
        fitted = super()._fit(data, params, run)
        half = [int(row > 40) for row in range(len(data.dense("features")))]
        return Fitted(tree=from_partition(half, 2), model=fitted.model)

class TestLazy(Contract):
    examples = examples_of(Lazy())
"""
FUTURE = """
from toy_methods.median_split import MedianSplit
from umbel.testing import Contract, examples_of

class Future(MedianSplit):
    placing = "a place."

class TestFuture(Contract):
    examples = examples_of(Future())
"""


def guide() -> str:
    """The three lines of the guide, for the toy method."""
    [text] = re.findall(r"```python\n(from weather_methods.*?)```", GUIDE, flags=re.DOTALL)
    text = text.replace("weather_methods.weather_trees", "toy_methods.median_split")
    return str(text.replace("WeatherTrees", "MedianSplit"))


Cases = dict[str, str]
"""The tests of a file that were not skipped, by name, each with its failure: empty where it
passed."""


@pytest.fixture(scope="module")
def run(path: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cases]:
    """The tests of each file, run together by pytest in a folder that is not Umbel's."""
    folder = tmp_path_factory.mktemp("author")
    for name, text in (("guide", guide()), ("lazy", LAZY), ("future", FUTURE)):
        (folder / f"test_{name}.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -W error\n")
    options = ("-q", "-p", "no:cacheprovider", "--junit-xml", "report.xml")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout
    cases: dict[str, Cases] = {"guide": {}, "lazy": {}, "future": {}}
    for case in ElementTree.parse(folder / "report.xml").iter("testcase"):
        if case.find("skipped") is not None:
            continue
        name = case.attrib["classname"].partition(".")[0].removeprefix("test_")
        failures = [each.text or "" for each in case if each.tag in ("failure", "error")]
        cases[name][case.attrib["name"]] = "".join(failures)
    return cases


def failed(cases: Cases) -> set[str]:
    """The names of the tests that failed."""
    return {name.partition("[")[0] for name, failure in cases.items() if failure}


def test_three_lines_are_the_tests_of_a_method(run: dict[str, Cases]) -> None:
    assert not failed(run["guide"])
    assert 20 <= len(run["guide"]) < 30


def test_a_method_that_breaks_the_contract_fails_by_what_it_breaks(run: dict[str, Cases]) -> None:
    assert {
        "test_a_value_that_is_not_finite_is_named",
        "test_the_order_of_rows_does_not_matter",
        "test_prediction_agrees_with_the_fit_on_its_own_rows",
    } <= failed(run["lazy"])
    assert "test_unknown_and_missing_roles_are_refused" not in failed(run["lazy"])


def test_what_was_compared_is_shown(run: dict[str, Cases]) -> None:
    shown = "".join(run["future"].values())
    assert "where True = <built-in method endswith of str object" in shown
