"""Independent pieces of work in threads, stopped as soon as the job is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeAlias, TypeVar

from models.errors import Cancelled
from models.running.threads import limited

T = TypeVar("T")

Tick: TypeAlias = Callable[[], None]
"""To be called now and then; raises Cancelled once the job is cancelled."""

EVERY_S = 0.2


def in_threads(tasks: Sequence[Callable[[Tick], T]], threads: int, tick: Tick) -> list[T]:
    """The results of the tasks, in order; up to `threads` run at a time.

    `tick` itself is only called by the calling thread. An exception of a task is raised here, once
    the others have stopped at their next tick. NumPy's products and the compiled loops release the
    interpreter lock.
    """
    if threads == 1 or len(tasks) < 2:
        return [task(tick) for task in tasks]
    stop = threading.Event()

    def within() -> None:
        if stop.is_set():
            raise Cancelled

    with ThreadPoolExecutor(min(threads, len(tasks)), initializer=_one_thread_each) as pool:
        running = [pool.submit(task, within) for task in tasks]
        try:
            while wait(running, timeout=EVERY_S, return_when=FIRST_EXCEPTION).not_done:
                tick()
                failed = [
                    future for future in running if future.done() and future.exception() is not None
                ]
                if failed:
                    failed[0].result()
        except BaseException:
            stop.set()
            for future in running:
                future.cancel()
            raise
    return [future.result() for future in running]


def _one_thread_each() -> None:
    """Set the thread limit of a new thread, which does not inherit it."""

    limited(1)
