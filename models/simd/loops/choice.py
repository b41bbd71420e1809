"""Which operations are used, and where numba keeps what is compiled with them.

numba finds compiled code by the source of one function, not of those that it calls. So what is
compiled with plain loops is kept in a folder beneath the usual one.
"""

from __future__ import annotations

import os
from types import ModuleType

from numba import config
from numba.core import caching

from models.simd.switch import PLAIN

FOLDER = "plain-loops"


def chosen(vectors: ModuleType, plain: ModuleType) -> ModuleType:
    """The module of operations to use."""
    return plain if PLAIN else vectors


class _Beneath:
    def get_cache_path(self) -> str:
        return os.path.join(super().get_cache_path(), FOLDER)


class Given(_Beneath, caching.UserProvidedCacheLocator):
    """Beneath the folder of `NUMBA_CACHE_DIR`."""


class BesideSource(_Beneath, caching.InTreeCacheLocator):
    """Beneath the folder beside the source."""


class OfUser(_Beneath, caching.UserWideCacheLocator):
    """Beneath the user's folder."""


if PLAIN:
    # Whoever calls an operation imports this before numba looks for a folder for the caller.
    config.CACHE_LOCATOR_CLASSES = ",".join(
        f"{__name__}.{locator.__name__}" for locator in (Given, BesideSource, OfUser)
    )
