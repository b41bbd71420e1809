"""Files opened in turns give the counts, the fixtures and the status of an ordinary run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.turns_kit import LONG, TOGETHER, WHOLE, ByFile, pytest_collection_modifyitems

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest
from tests.turns_kit import module as pytest_pycollect_makemodule
from tests.turns_kit import (
    pytest_collection_modifyitems, pytest_configure, pytest_runtest_protocol,
    pytest_xdist_make_scheduler,
)

@pytest.fixture(scope="package")
def shared():
    yield "shared"
    raise RuntimeError("the end of what is shared")
"""
FILES = {
    "first/test_a": "def test_one(shared): pass\ndef test_two(shared): assert 0, 'it is wrong'",
    "first/test_b": "import pytest\n@pytest.mark.slow\ndef test_slow(): pass",
    "second/test_c": "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test(n): pass",
    "second/test_d": "import no_such_module",
    "second/test_e": "import pytest\ndef test_skipped(): pytest.skip('not here')",
}


@dataclass
class Item:
    nodeid: str


def test_what_takes_long_begins_first_and_what_waits_is_spread() -> None:
    waiting = [f"tests/workers/test_{n}.py::unopened" for n in range(3)]
    others = [f"tests/models/test_{n}.py::unopened" for n in range(9)]
    long = [f"{path}test_x.py::unopened" if path.endswith("/") else f"{path}::u" for path in LONG]
    whole = [f"{folder}test_x.py::unopened" for folder in WHOLE]
    items: Any = [Item(name) for name in (*others, *waiting, *reversed(long), *whole)]
    pytest_collection_modifyitems(items)
    order = [item.nodeid for item in items]
    assert order[: len(WHOLE)] == whole
    assert set(order[len(WHOLE) :][: len(LONG)]) == set(long)
    places = [order.index(name) for name in waiting]
    assert all(later - earlier > 1 for earlier, later in pairwise(places))
    assert order[-1] == others[-1]


def test_each_file_that_is_named_is_there() -> None:
    assert all(
        (ROOT / path).exists() for path in (*LONG, *WHOLE, *(p for t in TOGETHER for p in t))
    )


def test_files_that_share_something_are_of_one_process() -> None:
    split = ByFile._split_scope
    for places in (*((folder,) for folder in WHOLE), *TOGETHER):
        assert {split(None, f"{place}test_x.py::test_y") for place in places} == {places[0]}  # type: ignore[arg-type]
    own = "tests/models/tree/test_cut.py"
    assert split(None, f"{own}::test_y") == own  # type: ignore[arg-type]


@pytest.fixture
def run_in(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder whose files are opened in turns."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeini("[pytest]\nmarkers = slow\naddopts = -m 'not slow' -p no:cacheprovider\n")
    pytester.makeconftest(CONFTEST)
    return pytester


def test_a_process_that_dies_ends_the_run(run_in: pytest.Pytester) -> None:
    dies = "import os, signal\ndef test(): os.kill(os.getpid(), signal.SIGKILL)"
    others = {f"test_other_{n}": "def test(): pass" for n in range(6)}
    run_in.makepyfile(test_dies=dies, **others)
    run = run_in.runpytest_subprocess("-n2", timeout=240)
    assert run.ret == 1
    run.stdout.fnmatch_lines(["*crashed while running 'test_dies.py::unopened'*"])


def test_each_test_counts_once(run_in: pytest.Pytester) -> None:
    run_in.mkpydir("first")
    run_in.mkpydir("second")
    run_in.makepyfile(**FILES)
    run = run_in.runpytest_subprocess("-n1", "-rA")
    run.assert_outcomes(passed=4, failed=1, errors=2, skipped=1)
    assert run.ret == 1
    run.stdout.fnmatch_lines(["1 worker [[]5 items[]]"])  # The files.
    run.stdout.fnmatch_lines_random(
        ["*it is wrong*", "*no_such_module*", "*the end of what is shared*", "*not here*"]
    )
