"""Fixtures for the tests of every floor."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import hypothesis
import pytest

from tests import turns_kit
from tests.needs_kit import Unread, lacking, need, needs_of, table, unnamed, watch
from tests.turns_kit import (  # noqa: F401
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_runtest_protocol,
    pytest_xdist_make_scheduler,
)

# Several test processes share the cores: each computes on one thread unless a test requests
# more, and idle threads do not spin (as in a worker, `workers.child.template`).
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

# Bytecode is kept, as by make: tests start many processes, and each would compile all modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The collector would take a tenth of the time: modules and collected tests are many objects.
gc.set_threshold(20_000, 50, 100)

ROOT = Path(__file__).parent.parent

# No deadline: the time of an example depends more on the machine than on the code. The examples are
# the same in every run, so that only a change can break a test; UMBEL_TEST_RANDOM=1 draws others,
# and four times as many.
RANDOM = bool(os.environ.get("UMBEL_TEST_RANDOM"))
hypothesis.settings.register_profile(
    "umbel",
    deadline=None,
    derandomize=not RANDOM,
    max_examples=200 if RANDOM else 50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("umbel")


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Finds a file of the larger real data sets by name; skips the test if it is absent."""
    folder = Path(os.environ.get("UMBEL_TEST_DATA", ROOT / ".." / "shared" / "data"))

    def find(name: str) -> Path:
        path = folder / name
        if not path.exists():
            pytest.skip(f"real data {name} is not in {folder} (set UMBEL_TEST_DATA)")
        return path

    return find


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """A file that cannot be imported here, as its `pytestmark` says, or one that waits its turn."""
    if not lacking(needs_of(module_path)):
        return turns_kit.module(module_path, parent)
    unread: pytest.Module = Unread.from_parent(parent, path=module_path)
    return unread


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    watch()
    for marker in item.iter_markers("needs"):
        need(*marker.args)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test without the mark would fail where the package is missing."""
    yield
    if names := unnamed(item):
        pytest.fail(f"it needs the mark needs({', '.join(map(repr, names))})", pytrace=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table of what was skipped for lack of something."""
    skipped = terminalreporter.stats.get("skipped", [])
    lines = table(str(report.longrepr) for report in skipped)
    if lines:
        terminalreporter.section("skipped for lack of")
        terminalreporter.write_line("\n".join(lines))
