"""What the processes of jobs need loaded: what the first job needs, and the rest.

It must start no threads: a fork copies only the forking thread. So nothing here computes with
OpenMP, and torch, which is large and starts threads, is left out; a method imports it in its child.
"""

from __future__ import annotations

import gc
import pkgutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import models.metrics
import workers.formats
import workers.kinds
from models import compiled
from models.registry import methods
from workers.child.compiling import alone
from workers.child.run import run, trial
from workers.errors import FatalError

# With NumPy and SciPy's linear algebra, whose threads each job sets.
_FIRST = (
    "numpy",
    "safetensors.numpy",
    "scipy.linalg",
    "threadpoolctl",
    "models.tree.columns",
    "workers.child.process",
)

_REST = (
    "scipy.sparse.linalg",
    "scipy.stats",
    "sklearn.utils",
    "sklearn.metrics",
    "sklearn.cluster",
    "pyarrow.ipc",
    "pyarrow.parquet",
    "scipy.cluster.hierarchy",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.spatial.distance",
    "scipy.special",
    "models.metrics.catalogue",
)

REST_BYTES = 128 << 20
"""Memory of the rest, with some to spare: 115 MiB."""


class _Hidden(MetaPathFinder):
    """Makes a package look as if it were not installed."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == self._package:
            raise ModuleNotFoundError(f"{name} is hidden from the template", name=name)
        return None


# Where it is installed, scikit-learn and Arrow load it for users who pass its frames.
_HIDDEN = _Hidden("pandas")


_loaded = {"first": False, "rest": False}
"""What is loaded here, also by the process that this one was forked from."""


def hide() -> None:
    """Hide what is large and not needed."""
    if _HIDDEN not in sys.meta_path:
        sys.meta_path.insert(0, _HIDDEN)


def show() -> None:
    """Undo `hide`."""
    if _HIDDEN in sys.meta_path:
        sys.meta_path.remove(_HIDDEN)


def first(news: Path | None = None, tell: Callable[[], object] | None = None) -> None:
    """Load what the first job needs, and do a trial job. Raises FatalError where that fails.

    news, tell : see `workers.child.compiling.alone`.
    """
    if _loaded["first"]:
        return
    with _frozen():
        for name in _FIRST:
            import_module(name)
        _multiply()
        with tempfile.TemporaryDirectory() as folder, alone(news, tell):
            outcome = run(trial(Path(folder)), lambda _: None)
    if outcome.error is not None:
        raise FatalError(f"the trial job failed: {outcome.error['detail']}")
    _loaded["first"] = True


def _multiply() -> None:
    """Let NumPy's and SciPy's OpenBLAS each map the 32 MB that a process keeps from its first
    product on: a job would leave them behind, and its process not stay (`workers.child.process`).
    """
    import numpy as np
    from scipy.linalg import blas

    ones = np.ones((2, 2))
    np.dot(ones.T, ones)
    blas.dsyrk(1.0, ones)


def rest() -> Iterator[None]:
    """Load the rest, in steps of a fraction of a second."""
    if _loaded["rest"]:
        return
    names = list(_REST)
    for package in (workers.formats, workers.kinds, models.metrics):
        found = pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
        names += [module.name for module in found]
    works: list[Callable[[], object]] = [*(partial(import_module, name) for name in names), methods]
    for work in works:
        with _frozen():
            work()
        yield
    steps = compiled.load_cached()
    while True:
        with _frozen():
            if next(steps, "end") == "end":
                break
        yield
    _loaded["rest"] = True


@contextmanager
def _frozen() -> Iterator[None]:
    """What is made within stays: so no child's collector needs to touch, and copy, its pages.

    To look for the few megabytes of it that nothing refers to would take a tenth of the time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
