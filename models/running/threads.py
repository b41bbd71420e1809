"""How many threads the libraries of linear algebra use, BLAS and OpenMP.

To find the libraries takes threadpoolctl about 5 ms, to set them a hundredth of that; so they are
found once, and again after a module has been imported, which may have loaded others.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import lru_cache
from typing import Any


def limited(threads: int | Mapping[str, int]) -> AbstractContextManager[Any]:
    """At most so many threads from now on, of all libraries that are loaded by now, until the
    context ends.

    threads : for all of them, or by kind, "blas" or "openmp".
    """
    # Imported first, since that adds modules.
    import threadpoolctl  # noqa: F401

    libraries = _libraries(len(sys.modules))
    limits = ExitStack()
    if isinstance(threads, int):
        limits.enter_context(libraries.limit(limits=threads))
        return limits
    # BLAS last: one that is built on OpenMP, as Faiss's, has the number that was set last.
    for kind in sorted(threads, reverse=True):
        limits.enter_context(libraries.limit(limits={kind: threads[kind]}))
    return limits


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    """Those that are loaded while there are so many modules."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
