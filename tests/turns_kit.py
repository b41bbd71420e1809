"""A test process opens a file when its turn comes: it imports and collects what it runs, no more.

Under xdist every process would collect all tests, which takes it half a minute. Here a file is one
item, `Unopened`, until its process runs it: then the file is collected, and its tests take the
item's place.

xdist does not know these tests, so it could not go on where a process has died: it would wait for
ever. Such a run ends, with the name of the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from xdist.scheduler import LoadScopeScheduling

WHOLE = ("tests/dashboard/", "tests/e2e/one_service/", "tests/contract/")
"""Folders whose files share a service, a browser or fits: a single process runs all of them. They
take longest; begun last, they would leave the other processes idle."""
TOGETHER = (
    ("tests/workers/child/", "tests/workers/supervisor/", "tests/workers/kinds/"),
    ("tests/models/methods/deep/", "tests/models/methods/hyperbolic/"),
)
"""Files that a single process runs, since each process that runs some of them starts a template of
jobs, which takes six seconds of a core, or imports PyTorch."""
LONG = (
    "tests/models/simd/test_switch.py",
    "tests/simulation/",
    "tests/scripts/test_install.py",
    "tests/scripts/test_release.py",
    "tests/app/creation/test_a_new_kind.py",
    "tests/app/openapi/test_document.py",
    "tests/test_docs.py",
    "tests/test_house.py",
)
"""Files that take a minute of a core on a clean checkout, or are the last of the alphabet: begun
near the end, one process would run them while the others have nothing left."""
WAITING = ("tests/e2e/", "tests/workers/")
"""Folders whose tests start processes and wait for them. They are spread over the others, so that
those that compute have the cores meanwhile, and few services start at the same time."""
WAITING_END = 0.7
"""The part of the run within which they begin."""


_SHARED = (*((folder,) for folder in WHOLE), *TOGETHER)


class ByFile(LoadScopeScheduling):
    """Gives each process a file at a time, or all files of a folder of `WHOLE` or of `TOGETHER`, so
    that fixtures are shared."""

    def _split_scope(self, nodeid: str) -> str:
        shared = (places[0] for places in _SHARED if nodeid.startswith(places))
        return next(shared, nodeid.partition("::")[0])


class TestFile(pytest.Module):
    """A test file, which holds one `Unopened` until that is run."""

    opened = False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return super().collect() if self.opened else [Unopened.from_parent(self, name="unopened")]


class Unopened(pytest.Item):
    """The tests of a file, in the place of them all."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.add_marker(pytest.mark.timeout(0))  # Each test has a timeout.

    def runtest(self) -> None:
        """Nothing: see `run`."""

    def run(self, nextitem: pytest.Item | None) -> None:
        """Collect the file, and run its tests."""
        file, session, hook = self.parent, self.session, self.config.hook
        assert isinstance(file, TestFile)
        file.opened = True
        items = list(session.genitems(file))
        hook.pytest_collection_modifyitems(session=session, config=self.config, items=items)
        if not items:  # What earlier files have set up must end all the same.
            for report in runtestprotocol(self, log=False, nextitem=nextitem):
                if report.failed:
                    hook.pytest_runtest_logreport(report=report)
        place = session.items.index(self)
        for item, following in zip_longest(items, items[1:], fillvalue=nextitem):
            assert item is not None
            session.items[place] = item
            hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                break
        session.items[place] = self
        file.opened = False


def pytest_configure(config: pytest.Config) -> None:
    """No process takes the place of one that has died, unless it is requested."""
    if getattr(config.option, "maxworkerrestart", "0") is None:
        config.option.maxworkerrestart = "0"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    """`ByFile`, unless another way is chosen by `--dist`."""
    if config.option.dist != "load":
        return None
    config.option.loadscopereorder = False
    return ByFile(config, log)


def module(module_path: Path, parent: pytest.Collector) -> TestFile | None:
    """A file whose tests are collected when its turn comes, where there are turns."""
    if not in_turns(parent.config):
        return None
    file: TestFile = TestFile.from_parent(parent, path=module_path)
    return file


def in_turns(config: pytest.Config) -> bool:
    """Whether this is one of several processes that run whole files."""
    option = config.option
    chosen = option.keyword or not option.markexpr.startswith("not ")
    return (
        hasattr(config, "workerinput")
        and not chosen
        and not any("::" in argument for argument in config.args)
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not isinstance(item, Unopened):
        return None
    item.run(nextitem)
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`WHOLE` first, then `LONG`, then files that wait spread over the others."""
    first = (*WHOLE, *LONG)
    files = dict.fromkeys(file_of(item) for item in items if not file_of(item).startswith(first))
    waiting = [file for file in files if file.startswith(WAITING)]
    others = [file for file in files if not file.startswith(WAITING)]
    place = {file: WAITING_END * i / len(waiting) for i, file in enumerate(waiting)}
    place |= {file: i / len(others) for i, file in enumerate(others)}
    place |= {file: -0.5 for item in items if (file := file_of(item)).startswith(LONG)}
    items.sort(key=lambda item: place.get(file_of(item), -1.0))


def file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
