"""The modules loaded by the template of job children; imported there and nowhere else.

What the first job needs is loaded first; the rest then or, where that shall come later, on SIGUSR1,
when its worker has begun to take jobs.

It must start no threads: a fork copies only the forking thread. So nothing here computes with
OpenMP, and torch, which is large and starts threads, is left out; a method imports it in its child.
"""

from __future__ import annotations

import gc
import logging
import os
import pkgutil
import signal
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
import models.simd.switch
import workers.formats
import workers.kinds
from models import compiled
from models.registry import methods
from workers import logs
from workers.child.compiling import NEWS, alone
from workers.child.confinement import close_memory
from workers.child.run import run, trial
from workers.child.template import LATER, OWNER, SECRET
from workers.errors import FatalError
from workers.processes import die_with_parent

PID = os.getpid()
"""The template's process id, so that a child can tell whether its parent is still there."""

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
    "sklearn.cluster",
    "sklearn.metrics",
    "pyarrow.ipc",
    "pyarrow.parquet",
    "scipy.cluster.hierarchy",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.spatial.distance",
    "scipy.special",
    "models.metrics.catalogue",
)


_REST_BYTES = 128 << 20
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


def _load_first() -> None:
    # As JSON in any case: the worker reads it, and writes it in its own format.
    logs.configure(LOG_LEVEL)
    with _frozen():
        for name in _FIRST:
            import_module(name)
        with tempfile.TemporaryDirectory() as folder, alone(NEWS_FILE):
            outcome = run(trial(Path(folder)), lambda _: None)
    if outcome.error is not None:
        raise FatalError(f"the trial job failed: {outcome.error['detail']}")


def _load_rest() -> None:
    global left
    with _frozen():
        for name in _REST:
            import_module(name)
        for package in (workers.formats, workers.kinds, models.metrics):
            for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
                import_module(module.name)
        methods()
        compiled.load_cached()
    sys.meta_path.remove(_HIDDEN)
    left = 0


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


def _on_signal(*_: object) -> None:
    # A child that has just been forked has this handler, too.
    if os.getpid() == PID and left:
        try:
            _load_rest()
        except Exception:
            logging.getLogger(__name__).exception("jobs load by themselves what they need")


_NICENESS = 5
"""The nice value of jobs and templates, which may compute for long: the API, Redis and heartbeats
have priority."""


def _forget() -> None:
    """Remove the template's own variables, which jobs do not need; `models.simd.switch` has read
    its variable by then."""
    for name in [name for name in os.environ if name.startswith(SECRET)]:
        del os.environ[name]


die_with_parent(int(os.environ[OWNER]))
close_memory()
os.nice(_NICENESS)
LOG_LEVEL = os.environ.get("UMBEL_LOG_LEVEL", "INFO")
NEWS_FILE = Path(os.environ[NEWS])
left = _REST_BYTES if LATER in os.environ else 0
"""The bytes of what is left for later, which a child that needs it must load by itself."""

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
_forget()
sys.meta_path.insert(0, _HIDDEN)
try:
    _load_first()
    if not left:
        _load_rest()
    signal.signal(signal.SIGUSR1, _on_signal)
    BLAS = import_module("threadpoolctl").ThreadpoolController().select(user_api="blas")
except Exception:
    # The fork server swallows an ImportError and continues without the module.
    print("the template of job processes cannot be loaded:", file=sys.stderr)
    traceback.print_exc()
    os._exit(1)
