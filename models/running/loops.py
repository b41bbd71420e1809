"""What numba does, as seen from outside the compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


@contextmanager
def watched(begins: Callable[[Any], object]) -> Iterator[None]:
    """Call `begins` with the function, as numba has it, whenever the compiling of one begins.

    What is loaded from the cache is not compiled. `begins` may raise, and nothing is compiled then.
    """

    class Watcher(event.Listener):
        def on_start(self, event: Any) -> None:
            function = event.data["dispatcher"]
            # Numba compiles its own functions within ours.
            if not function.py_func.__module__.startswith("numba."):
                begins(function)

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Watcher()):
        yield
