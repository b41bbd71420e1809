"""The switch to plain loops: whole fits have the same bits, and their compiled code is kept apart.

CI runs everything once more on plain loops here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from models.simd.loops.choice import may_call_operations
from models.simd.switch import is_plain
from tests.conftest import ROOT
from tests.models.simd.simd_kit import Array, same

FITS = "tests.models.simd.fits_kit"


def test_what_may_call_operations() -> None:
    """Also through modules between, and whatever a module outside `models` may call."""
    below = "models.methods.logits"
    for name in (
        *("models.graphs.loops.boxes", "models.graphs.loops.joins", "models.simd.loops.plain"),
        *(f"{below}.merging.loops.{name}" for name in ("rows", "few")),
        f"{below}.class_trees.loops.ranks",
        "models.numerics.loops.agglomeration",
        "another.package",
    ):
        assert may_call_operations(name), name
    for name in ("merges", "pairs", "bounds"):
        assert not may_call_operations(f"{below}.merging.loops.{name}"), name


def recorded(folder: Path, **environment: str) -> dict[str, Array]:
    """What `fits_kit` writes in a process with these variables."""
    out = folder / "fits.npz"
    kept = {name: value for name, value in os.environ.items() if name != "UMBEL_PLAIN_LOOPS"}
    subprocess.run(
        [sys.executable, "-m", FITS, str(out)], cwd=ROOT, env={**kept, **environment}, check=True
    )
    with np.load(out) as found:
        arrays = dict(found)
    out.unlink()
    return arrays


@pytest.mark.timeout(900)
def test_whole_fits_have_the_same_bits_on_plain_loops(tmp_path: Path) -> None:
    vectors = recorded(tmp_path)
    plain = recorded(tmp_path, UMBEL_PLAIN_LOOPS="1")
    assert vectors.keys() == plain.keys()
    used = [name for name in plain if name.startswith("operation")]
    folders = [name for name in plain if name.startswith("folder")]
    assert len(used) == 4
    assert len(folders) == 5
    assert all(str(vectors[name]).startswith("models.simd.loops.vectors.") for name in used)
    assert all(str(plain[name]).startswith("models.simd.loops.plain") for name in used)
    for name in folders:
        assert str(plain[name]) == str(Path(str(vectors[name])) / "plain-loops")
    assert str(plain["without"]) == str(vectors["without"]), "it is compiled once"
    different = [
        name for name in vectors.keys() - {*used, *folders} if not same(vectors[name], plain[name])
    ]
    assert not different


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_processor_without_fused_products_or_float16(tmp_path: Path) -> None:
    """The tests of the operations, compiled for the least that numba supports."""
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    names = ("rows", "columns", "tiles", "numbers")
    tests = [str(Path(__file__).with_name(f"test_{name}.py")) for name in names]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("value", "meaning"), [("", False), ("0", False), ("1", True)])
def test_values_of_the_variable(value: str, meaning: bool) -> None:
    assert is_plain(value) is meaning


def test_another_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"UMBEL_PLAIN_LOOPS is 'yes'; 1 selects plain loops"):
        is_plain("yes")
