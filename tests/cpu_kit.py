"""`make test-cpu`: the CPU seconds of each test file, of its process and of those that it started.

Their sum depends little on what else runs on the machine, unlike the clock. A process counts where
it ends: that of a fixture in the file after whose last test the fixture is torn down.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Callable, Generator
from typing import Any

import pytest

PHASES = ("collect", "setup", "call", "teardown")
_spent: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
"""By file, then by phase and for `children`."""
_last = {"own": 0.0, "children": 0.0}


def _spend(file: str, phase: str) -> None:
    """Count for a phase of a file what was spent since the last call."""
    for who, of in (("own", resource.RUSAGE_SELF), ("children", resource.RUSAGE_CHILDREN)):
        usage = resource.getrusage(of)
        total = usage.ru_utime + usage.ru_stime
        _spent[file][phase] += total - _last[who]
        if who == "children":
            _spent[file][who] += total - _last[who]
        _last[who] = total


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    _spend("between tests", "call")
    report = yield
    _spend(collector.nodeid.partition("::")[0] or "start", "collect")
    return report


def _hook(phase: str) -> Callable[..., Any]:
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def hook(item: pytest.Item) -> Generator[None, Any, Any]:
        _spend("between tests", "call")
        result = yield
        _spend(item.nodeid.partition("::")[0], phase)
        return result

    return hook


pytest_runtest_setup = _hook("setup")
pytest_runtest_call = _hook("call")
pytest_runtest_teardown = _hook("teardown")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """One of several test processes gives what it counted to the one that started it."""
    _spend("between tests", "call")
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["cpu"] = {file: dict(spent) for file, spent in _spent.items()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for file, spent in getattr(node, "workeroutput", {}).get("cpu", {}).items():
        for phase, seconds in spent.items():
            _spent[file][phase] += seconds


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The files by what they cost."""
    total = {file: sum(spent[phase] for phase in PHASES) for file, spent in _spent.items()}
    terminalreporter.section(f"{sum(total.values()):.1f} CPU s")
    names = (*PHASES, "children")
    terminalreporter.write_line("".join(f"{name:>9}" for name in ("all", *names)))
    for file in sorted(total, key=lambda file: -total[file]):
        if total[file] >= 0.1:
            figures = (total[file], *(_spent[file][name] for name in names))
            terminalreporter.write_line("".join(f"{each:9.1f}" for each in figures) + f"  {file}")
