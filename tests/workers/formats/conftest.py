"""The garbage collector rests while a file is read in a test."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """Automatic collections are off.

    One that starts where deep nesting has used up the stack would run the finalizers of earlier
    tests' objects there, and they fail.
    """
    gc.disable()
    yield
    gc.enable()
