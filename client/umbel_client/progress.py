"""Progress of uploads and jobs: a bar of tqdm or rich, where one is installed, or a function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any, Protocol, TypeAlias

Report: TypeAlias = Callable[[float, str], object]
"""Called with the fraction done, between 0 and 1, and what is being done."""

Progress: TypeAlias = bool | Report | None
"""True: a bar; False: none; a function: called instead; None: a bar where someone watches, in a
terminal or a notebook."""

_SHOW_AFTER_S = 0.4
"""Work that ends sooner shows no bar."""


class Bar(Protocol):
    """What shows progress; `end` is called once, whatever happened."""

    def update(self, fraction: float, stage: str) -> None: ...

    def end(self) -> None: ...


class Watcher(Protocol):
    """What hears of all waiting within `watched`; what it raises interrupts that."""

    def began(self, job: str, cancels: bool) -> None:
        """A job, by its id, is waited for from now on. cancels : whether it ends with the wait."""

    def update(self, fraction: float, stage: str) -> None:
        """How far the upload or job is."""


_WATCHER: ContextVar[Watcher | None] = ContextVar("umbel_watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """A stretch of code whose calls tell the watcher how far they are, unless they are given
    another `progress`."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def began(job: str, cancels: bool) -> None:
    """Tell the watcher, if there is one, which job is waited for."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher.began(job, cancels)


def bar_of(progress: Progress, title: str) -> Bar:
    """The bar for a piece of work that begins now."""
    watcher = _WATCHER.get()
    if progress is None and watcher is not None:
        return _Called(watcher.update)
    if callable(progress):
        return _Called(progress)
    if progress is False or (progress is None and not _watched()):
        return _Silent()
    if find_spec("tqdm") is not None:
        return _Late(lambda: _Tqdm(title))
    if find_spec("rich") is not None:
        return _Late(lambda: _Rich(title))
    return _Silent()


def _watched() -> bool:
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


class _Silent:
    def update(self, fraction: float, stage: str) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Nothing to end."""


class _Called:
    def __init__(self, report: Report) -> None:
        self._report = report

    def update(self, fraction: float, stage: str) -> None:
        self._report(fraction, stage)

    def end(self) -> None:
        """The caller knows."""


class _Late:
    """A bar that appears when the work has lasted for a while."""

    def __init__(self, make: Callable[[], Bar]) -> None:
        self._make = make
        self._since = time.monotonic()
        self._bar: Bar | None = None

    def update(self, fraction: float, stage: str) -> None:
        if self._bar is None and time.monotonic() - self._since >= _SHOW_AFTER_S:
            self._bar = self._make()
        if self._bar is not None:
            self._bar.update(fraction, stage)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.end()


class _Tqdm:
    def __init__(self, title: str) -> None:
        # Without ipywidgets, tqdm.auto warns of that in a notebook, and shows the same as tqdm.std.
        if find_spec("ipywidgets") is not None:
            from tqdm.auto import tqdm
        else:
            from tqdm.std import tqdm

        self._bar: Any = tqdm(total=100, desc=title, bar_format="{l_bar}{bar}| {elapsed}{postfix}")

    def update(self, fraction: float, stage: str) -> None:
        self._bar.n = round(100 * fraction)
        self._bar.set_postfix_str(stage, refresh=False)
        self._bar.refresh()

    def end(self) -> None:
        self._bar.close()


class _Rich:
    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Columns

        text, stage = TextColumn("{task.description}"), TextColumn("{task.fields[stage]}")
        self._bars: Any = Columns(
            text, BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), stage,
            console=Console(stderr=True),
        )  # fmt: skip
        self._task: Any = self._bars.add_task(title, total=1.0, stage="")
        self._bars.start()

    def update(self, fraction: float, stage: str) -> None:
        self._bars.update(self._task, completed=fraction, stage=stage)

    def end(self) -> None:
        self._bars.stop()
