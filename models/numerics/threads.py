"""The number of threads of BLAS and OpenMP, for what is computed many times.

At each `threadpool_limits` threadpoolctl looks for the libraries, which takes 3 ms. They are kept
here until another module has been imported, which may have loaded another library.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def limited(threads: int | dict[str, int]) -> AbstractContextManager[object]:
    """As `threadpool_limits`. Import first what computes within.

    threads : the most threads, of all libraries or by 'blas' and 'openmp'.
    """
    limiter: AbstractContextManager[object] = _libraries(len(sys.modules)).limit(limits=threads)
    return limiter


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    """Those that are loaded when so many modules are imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
