"""Proximal steps against SciPy's numeric minimum, and values against their definitions."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from models.arrays import Float
from models.methods.labelled.metric.descent import REGULARIZERS, RegularizerName, hold

NAMES = get_args(RegularizerName)


def literal(name: str, metric: Float) -> float:
    """The regularizer's definition, of a matrix."""
    away = metric - np.eye(metric.shape[0])
    if name == "logdet":
        determinant = np.linalg.det(metric)
        return float(np.trace(metric) - np.log(determinant)) if determinant > 0 else np.inf
    return float(
        {
            "identity": (away**2).sum(),
            "l2": (metric**2).sum(),
            "nuclear": np.linalg.norm(metric, "nuc"),
            "l1": np.abs(away).sum(),
        }[name]
    )


def lower(entries: Float) -> Float:
    """(2, 2) semidefinite from three numbers."""
    root = np.array([[entries[0], 0.0], [entries[1], entries[2]]])
    return np.asarray(root @ root.T)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_the_definitions(name: RegularizerName) -> None:
    metric = lower(np.array([1.5, -0.4, 0.7]))
    assert hold(name, False).value(metric) == pytest.approx(literal(name, metric))
    diagonal = np.array([0.3, 1.7])
    assert hold(name, True).value(diagonal) == pytest.approx(literal(name, np.diag(diagonal)))


@pytest.mark.parametrize("name", REGULARIZERS)
def test_slopes_are_derivatives(name: str) -> None:
    regularizer, values = REGULARIZERS[name], np.array([0.2, 1.0, 3.0])
    for place in range(3):
        step = 1e-6 * np.eye(3)[place]
        rise = regularizer.value(values + step) - regularizer.value(values - step)
        assert regularizer.slope(values)[place] == pytest.approx(rise / 2e-6, abs=1e-6)


@pytest.mark.parametrize("weight", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("value", [-2.0, 0.0, 0.3, 1.0, 1.2, 4.0])
@pytest.mark.parametrize("name", NAMES)
def test_a_step_of_a_diagonal_is_the_numeric_minimum(
    name: RegularizerName, value: float, weight: float
) -> None:
    held = hold(name, True)

    def objective(x: float) -> float:
        return 0.5 * (x - value) ** 2 + weight * held.value(np.array([x]))

    numeric = minimize_scalar(
        objective, bounds=(0.0, 10.0), method="bounded", options={"xatol": 1e-10}
    )
    (step,), _ = held.step(np.array([value]), weight)
    assert step == pytest.approx(numeric.x, abs=2e-5)
    assert objective(step) <= numeric.fun + 1e-12


@pytest.mark.parametrize("weight", [0.1, 1.0])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_a_step_of_a_matrix_is_the_numeric_minimum(
    name: RegularizerName, seed: int, weight: float
) -> None:
    target = 1.5 * np.random.default_rng(seed).normal(size=(2, 2))
    target = target + target.T

    def objective(metric: Float) -> float:
        return 0.5 * float(((metric - target) ** 2).sum()) + weight * literal(name, metric)

    numeric = min(
        (
            minimize(
                lambda entries: objective(lower(entries)),
                start,
                method="Nelder-Mead",
                options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000},
            )
            for start in ([1.0, 0.1, 1.0], [1.0, -0.5, 0.2])
        ),
        key=lambda result: result.fun,
    )
    step, value = hold(name, False).step(target, weight)
    assert np.linalg.eigvalsh(step)[0] >= -1e-9
    assert objective(step) == pytest.approx(numeric.fun, abs=1e-7)
    assert value == pytest.approx(hold(name, False).value(step), abs=1e-9)
    np.testing.assert_allclose(step, lower(numeric.x), atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_the_modulus_is_of_strong_convexity(name: RegularizerName) -> None:
    """The value between two metrics is below the mean by an eighth of it times their distance."""
    rng, held = np.random.default_rng(0), hold(name, False)
    for _ in range(20):
        a, b = lower(rng.normal(size=3)), lower(rng.normal(size=3))
        between = held.value(0.5 * (a + b))
        mean = 0.5 * (held.value(a) + held.value(b))
        assert between <= mean - held.modulus / 8 * float(((a - b) ** 2).sum()) + 1e-9
