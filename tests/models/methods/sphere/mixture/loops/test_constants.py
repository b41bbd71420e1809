"""The compiled constant against the one of arrays, which mpmath has checked."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.sphere.mixture.loops import log_c
from models.numerics import sphere


@pytest.mark.parametrize("n_features", [2, 3, 10, 41, 42, 43, 384, 5000, 100_000])
def test_the_compiled_constant(n_features: int) -> None:
    kappa = np.concatenate([[0.0], 10.0 ** np.linspace(-6, 9, 400)]).reshape(1, -1)
    assert log_c(n_features, kappa) == pytest.approx(
        sphere.log_c(n_features, kappa), rel=1e-12, abs=1e-12
    )
