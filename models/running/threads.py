"""How many threads the libraries of linear algebra use, BLAS and OpenMP.

To find the libraries takes threadpoolctl about 5 ms, to set them a hundredth of that; so they are
found once, and again after a module has been imported, which may have loaded others.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def limited(threads: int | Mapping[str, int]) -> AbstractContextManager[Any]:
    """At most so many threads from now on, of all libraries that are loaded by now, until the
    context ends.

    threads : for all of them, or by kind, "blas" or "openmp".
    """
    limits = threads if isinstance(threads, int) else dict(threads)
    # Imported first, since that adds modules.
    import threadpoolctl  # noqa: F401

    limiter: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=limits)
    return limiter


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    """Those that are loaded while there are so many modules."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
