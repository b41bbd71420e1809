"""Independent pieces of work in threads, stopped as soon as the job is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeAlias, TypeVar

from models.errors import Cancelled

T = TypeVar("T")

Tick: TypeAlias = Callable[[], None]
"""Called now and then; raises Cancelled when the job was cancelled."""

EVERY_S = 0.2


def in_threads(tasks: Sequence[Callable[[Tick], T]], threads: int, tick: Tick) -> list[T]:
    """What each task gives, in their order; up to `threads` at a time.

    `tick` itself is called by the calling thread only. What a task raises is raised here, once the
    others have stopped at their next tick. NumPy's products and the compiled loops leave the
    interpreter to the other threads.
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
                failed = [one for one in running if one.done() and one.exception() is not None]
                if failed:
                    failed[0].result()
        except BaseException:
            stop.set()
            for one in running:
                one.cancel()
            raise
    return [one.result() for one in running]


def _one_thread_each() -> None:
    """A new thread has its own number of threads for parallel regions."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
