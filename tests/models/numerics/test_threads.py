"""Threads of the libraries: limited within, as before afterwards, and libraries found once."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import threadpoolctl
from threadpoolctl import threadpool_info, threadpool_limits

from models.numerics.threads import limited


def threads(kind: str) -> set[int]:
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == kind}


def test_threads_are_limited_within() -> None:
    import sklearn.cluster  # noqa: F401

    with threadpool_limits(2):
        before = threads("blas")
        with limited(1):
            assert threads("blas") == {1}
            assert threads("openmp") == {1}
            with limited({"blas": 2, "openmp": 1}):
                assert threads("blas") == before
                assert threads("openmp") == {1}
        assert threads("blas") == before


def test_libraries_are_looked_for_again_after_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []

    class Controller(threadpoolctl.ThreadpoolController):  # type: ignore[misc]
        def __init__(self) -> None:
            found.append(len(sys.modules))
            super().__init__()

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Controller)
    for name in ("no_such_module_1", "no_such_module_2"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        for _ in range(3):
            with limited(1):
                pass
    assert len(found) == 2
