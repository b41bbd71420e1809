"""The limit of threads: for all libraries that are loaded, found once while none is added."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
import threadpoolctl

from models.running.threads import _libraries, limited


def threads(kind: str) -> set[int]:
    """Numbers of threads of the libraries of a kind."""
    np.ones((2, 2)) @ np.ones((2, 2))
    return {
        one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == kind
    }


def test_a_limit_holds_until_its_context_ends() -> None:
    _libraries.cache_clear()  # Other tests take modules away.
    with threadpoolctl.threadpool_limits(2):
        two = threads("blas")  # Some libraries have one thread at most.
    assert two <= {1, 2}
    with limited(2):
        assert threads("blas") == two
        with limited({"blas": 1, "openmp": 2}):
            assert threads("blas") == {1}
            assert threads("openmp") <= {1, 2}
        assert threads("blas") == two
        assert threads("openmp") <= {1, 2}


@pytest.mark.needs("torch")
def test_a_blas_that_is_built_on_openmp_has_its_own_limit() -> None:
    """Faiss brings one, whose number OpenMP's limit sets too."""
    code = (
        "import torch, faiss, threadpoolctl; from models.running.threads import limited\n"
        "with limited({'blas': 1, 'openmp': 2}):\n"
        "    found = threadpoolctl.threadpool_info()\n"
        "print({one['num_threads'] for one in found if one['user_api'] == 'blas'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{1}"


def test_libraries_are_found_once_and_again_after_an_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[object] = []
    real = threadpoolctl.ThreadpoolController

    def counted() -> object:
        found.append(real())
        return found[-1]

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", counted)
    monkeypatch.setitem(sys.modules, "a_library_that_was_loaded", ModuleType("x"))
    for _ in range(3):
        with limited(1):
            pass
    assert len(found) == 1
    monkeypatch.setitem(sys.modules, "another_library", ModuleType("x"))
    with limited(1):
        assert len(found) == 2
