"""What a library brings and nobody uses is loaded when it is used."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, umbel.floors
import scipy.sparse, numpy
assert "numpy.f2py.crackfortran" not in sys.modules
assert numpy.f2py.__name__ == "numpy.f2py"
assert callable(numpy.f2py.run_main)
assert "numpy.f2py.crackfortran" in sys.modules
from numpy.testing import assert_allclose
assert_allclose(1.0, 1.0)
"""


def test_what_scipy_brings_is_loaded_when_it_is_used() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True)
