"""The modules loaded by the template of job children; imported there and nowhere else.

It must start no threads: a fork copies only the forking thread. So nothing here computes with
OpenMP, and torch, which is large and starts threads, is left out; a method imports it in its child.
"""

from __future__ import annotations

import gc
import os
import pkgutil
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import models.metrics
import workers.formats
from models import compiled
from models.registry import methods
from workers import logs
from workers.child.run import run, trial
from workers.child.template import OWNER
from workers.errors import FatalError
from workers.processes import die_with_parent

PID = os.getpid()
"""The template's process id, so that a child can tell whether its parent is still there."""

_LOADED = (
    "numpy",
    "pyarrow.ipc",
    "pyarrow.parquet",
    "safetensors.numpy",
    "scipy.cluster.hierarchy",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.spatial.distance",
    "scipy.special",
    "sklearn.cluster",
    "sklearn.metrics",
    "threadpoolctl",
    "models.metrics.catalogue",
    "models.tree.columns",
    "workers.child.process",
)


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


@contextmanager
def _without(package: str) -> Iterator[None]:
    finder = _Hidden(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _load() -> None:
    # A tenth of the time would go to the collector, which finds nothing.
    gc.disable()
    # As JSON in any case: the worker reads it, and writes it in its own format.
    logs.configure(LOG_LEVEL)
    for name in _LOADED:
        import_module(name)
    for package in (workers.formats, models.metrics):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    methods()
    compiled.load()
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(trial(Path(folder)), lambda _: None)
    if outcome.error is not None:
        raise FatalError(f"the trial job failed: {outcome.error['detail']}")
    # What is there now stays: so no child's collector needs to touch, and copy, its pages. To look
    # for the few megabytes of it that nothing refers to would take a tenth of the time.
    gc.freeze()
    gc.enable()


_NICENESS = 5
"""The nice value of jobs and templates, which may compute for long: the API, Redis and heartbeats
have priority."""

_SECRET = ("UMBEL_", "AWS_", "OTEL_")
"""Prefixes of variables that jobs do not need: addresses and credentials of Redis, the store and
the collector of traces.

A job that prints or forwards its environment reveals none of them.
"""


def _forget() -> None:
    for name in [name for name in os.environ if name.startswith(_SECRET)]:
        del os.environ[name]


die_with_parent(int(os.environ[OWNER]))
os.nice(_NICENESS)
LOG_LEVEL = os.environ.get("UMBEL_LOG_LEVEL", "INFO")
_forget()
try:
    # Where it is installed, scikit-learn and Arrow load it for users who pass its frames.
    with _without("pandas"):
        _load()
    BLAS = import_module("threadpoolctl").ThreadpoolController().select(user_api="blas")
except Exception:
    # The fork server swallows an ImportError and continues without the module.
    print("the template of job processes cannot be loaded:", file=sys.stderr)
    traceback.print_exc()
    os._exit(1)
