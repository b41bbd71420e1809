"""What makes a process the template of job children; imported there and nowhere else.

What the first job needs is loaded first (`workers.child.loading`); the rest then or, where that
shall come later, on SIGUSR1, when its worker has begun to take jobs.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path

import models.simd.switch  # noqa: F401
from workers import logs
from workers.child import loading
from workers.child.compiling import NEWS
from workers.child.confinement import close_memory
from workers.child.template import LATER, OWNER, SECRET
from workers.processes import die_with_parent

PID = os.getpid()
"""The template's process id, so that a child can tell whether its parent is still there."""


def _load_first() -> None:
    # As JSON in any case: the worker reads it, and writes it in its own format.
    logs.configure(LOG_LEVEL)
    loading.first(NEWS_FILE)


def _load_rest() -> None:
    global left
    for _ in loading.rest():
        pass
    loading.show()
    left = 0


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
left = loading.REST_BYTES if LATER in os.environ else 0
"""The bytes of what is left for later, which a child that needs it must load by itself."""

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
_forget()
loading.hide()
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
