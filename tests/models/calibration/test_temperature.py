"""The temperature against a minimizer of the literal likelihood, and on hostile logits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from models.calibration.temperature import HIGHEST, LOWEST, fitted_temperature
from models.errors import UsageError


@pytest.mark.parametrize("true", [0.3, 1.0, 4.0])
def test_it_is_the_minimum(true: float) -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(300, 5)) * 3
    gumbel = rng.gumbel(size=logits.shape)
    label = (logits / true + gumbel).argmax(axis=1)

    def likelihood(temperature: float) -> float:
        z = logits / temperature
        return float((logsumexp(z, axis=1) - z[np.arange(300), label]).mean())

    fitted = fitted_temperature(logits, label)
    best = minimize_scalar(lambda t: likelihood(np.exp(t)), bounds=(-3, 3), options={"xatol": 1e-9})
    assert fitted.value == pytest.approx(np.exp(best.x), rel=1e-5)
    assert fitted.after == pytest.approx(best.fun, abs=1e-12)
    assert fitted.before == pytest.approx(likelihood(1.0), abs=1e-12)
    assert not fitted.at_bound


@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=1,
        max_size=5,
    )
)
def test_hostile_logits(values: list[list[float]]) -> None:
    logits = np.array(values)
    fitted = fitted_temperature(logits, np.arange(len(values)) % 3)
    assert LOWEST * 0.999 <= fitted.value <= HIGHEST * 1.001
    assert fitted.after <= fitted.before * (1 + 1e-9) + 1e-12


def test_rows_that_are_all_right_have_no_best_temperature() -> None:
    fitted = fitted_temperature(np.eye(3) * 5, np.arange(3))
    assert fitted.at_bound
    assert fitted.value == pytest.approx(LOWEST)


@pytest.mark.parametrize("logits", [np.eye(3) * 1e6, np.zeros((3, 3)), np.zeros((3, 1))])
def test_where_all_temperatures_are_alike_it_is_1(logits: np.ndarray) -> None:
    fitted = fitted_temperature(logits, np.arange(3) % logits.shape[1])
    assert fitted.value == 1.0
    assert not fitted.at_bound
    assert fitted.before == fitted.after


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_rounded_logits_have_the_temperature_of_their_values(kind: str) -> None:
    rng = np.random.default_rng(0)
    for scale in (0.3, 3.0, 30.0):
        logits = (rng.normal(size=(100, 3)) * scale).astype(kind)
        label = np.where(rng.random(100) < 0.3, rng.integers(3, size=100), logits.argmax(axis=1))
        fitted = fitted_temperature(logits, label)
        assert not fitted.at_bound
        assert fitted == fitted_temperature(logits.astype(np.float64), label)


def test_without_rows() -> None:
    with pytest.raises(UsageError, match="at least one row"):
        fitted_temperature(np.zeros((0, 3)), np.zeros(0, dtype=np.int64))
