"""The contract as a plug-in's author runs it, by the file of `docs/plugins.md`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

GUIDE = (ROOT / "docs" / "plugins.md").read_text()


def outcome(path: str, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """pytest in a folder that is not Umbel's, on one test file."""
    (folder / "test_toy.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -W error\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_toy.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_three_lines_are_the_tests_of_a_method(path: str, tmp_path: Path) -> None:
    [text] = re.findall(r"```python\n(from weather_methods.*?)```", GUIDE, flags=re.DOTALL)
    text = text.replace("weather_methods.weather_trees", "toy_methods.median_split")
    done = outcome(path, tmp_path, text.replace("WeatherTrees", "MedianSplit"))
    assert done.returncode == 0, done.stdout
    assert " failed" not in done.stdout
    assert re.search(r"\b2\d passed", done.stdout)


def test_a_method_that_breaks_the_contract_fails_by_what_it_breaks(
    path: str, tmp_path: Path
) -> None:
    text = """
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
    done = outcome(path, tmp_path, text)
    assert done.returncode == 1
    failed = set(re.findall(r"FAILED test_toy.py::TestLazy::(\w+)", done.stdout))
    assert {
        "test_a_value_that_is_not_finite_is_named",
        "test_the_order_of_rows_does_not_matter",
        "test_prediction_agrees_with_the_fit_on_its_own_rows",
    } <= failed
    assert "test_unknown_and_missing_roles_are_refused" not in failed


def test_what_was_compared_is_shown(path: str, tmp_path: Path) -> None:
    text = """
from toy_methods.median_split import MedianSplit
from umbel.testing import Contract, examples_of

class Future(MedianSplit):
    placing = "a place."

class TestFuture(Contract):
    examples = examples_of(Future())
"""
    done = outcome(path, tmp_path, text)
    assert "where True = <built-in method endswith of str object" in done.stdout
