"""What a fit may change of its process, and a later job of the same process would find changed."""

from __future__ import annotations

import decimal
import locale
import os
import random
import signal
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def state() -> dict[str, Any]:
    """All of it, by what it is called."""
    from threadpoolctl import threadpool_info

    found: dict[str, Any] = {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "random": random.getstate(),
        "numpy's random state": repr(np.random.get_state()),  # noqa: NPY002
        "numpy's errors": np.geterr(),
        "numpy's printing": repr(np.get_printoptions()),
        "warnings": list(warnings.filters),
        "showing of warnings": warnings.showwarning,
        "decimal": repr(decimal.getcontext()),
        "locale": locale.setlocale(locale.LC_ALL),
        "recursion": sys.getrecursionlimit(),
        "excepthook": sys.excepthook,
        "threads": set(threading.enumerate()),
        "temporary files": sorted(os.listdir(tempfile.gettempdir())),
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "libraries' threads": {each["filepath"]: each["num_threads"] for each in threadpool_info()},
    }
    if sys.platform == "linux":
        found["open files"] = sorted(map(_link, Path("/proc/self/fd").iterdir()))
    if (torch := sys.modules.get("torch")) is not None:
        found |= {
            "torch's random state": torch.get_rng_state().tolist(),
            "torch's threads": torch.get_num_threads(),
            "torch's gradients": torch.is_grad_enabled(),
            "torch's type": torch.get_default_dtype(),
            "torch's order": torch.are_deterministic_algorithms_enabled(),
        }
    if (sklearn := sys.modules.get("sklearn")) is not None:
        found["scikit-learn"] = sklearn.get_config()
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """By what it is called, what it was and is. Libraries that were loaded since are new, and no
    change."""
    before, after = dict(before), dict(after)
    libraries = before["libraries' threads"]
    after["libraries' threads"] = {
        path: n for path, n in after["libraries' threads"].items() if path in libraries
    }
    return {name: (was, after[name]) for name, was in before.items() if after[name] != was}


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except FileNotFoundError:
        return ""
