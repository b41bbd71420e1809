"""The minima on ImCLEF07A that independent solvers proved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.inputs.data import Data
from models.registry import method
from models.tree import class_paths
from models.tree.tree import Tree
from tests.models.methods.classifiers.softmax.softmax_kit import real_rows

slow = pytest.mark.slow

WHOLE = {"contract": False}
"""All 97 class paths are nodes."""

CONTRACTED = {"contract": True}
FLAT: dict[str, bool] = {}

CERTIFIED = [
    pytest.param("rr-lr", 0.1, WHOLE, 1044.1535),
    pytest.param("rr-lr", 1.0, WHOLE, 8399.9119, marks=slow),
    pytest.param("rr-lr", 10.0, WHOLE, 77049.2016, marks=slow),
    pytest.param("rr-lr", 0.1, CONTRACTED, 1059.1734, marks=slow),
    pytest.param("rr-lr", 1.0, CONTRACTED, 8441.3276, marks=slow),
    pytest.param("blr", 0.1, FLAT, 2289.0422, marks=slow),
    pytest.param("blr", 1.0, FLAT, 11233.5686, marks=slow),
    pytest.param("blr", 10.0, FLAT, 83852.0725, marks=slow),
    pytest.param("rr-svm", 0.1, WHOLE, 731.7481),
    pytest.param("rr-svm", 1.0, WHOLE, 6481.2860, marks=slow),
    pytest.param("rr-svm", 10.0, WHOLE, 61740.9573, marks=slow),
    pytest.param("bsvm", 0.1, FLAT, 946.4667, marks=slow),
    pytest.param("bsvm", 1.0, FLAT, 7258.8654, marks=slow),
    pytest.param("bsvm", 10.0, FLAT, 63861.1328, marks=slow),
]
"""Method, C, parameters and minimum, from 4 decimals."""

TOL = {"rr-lr": 1e-6, "blr": 1e-6, "rr-svm": 1e-4, "bsvm": 1e-4}
"""Shares of the objective within which a fit proves to be."""


@pytest.fixture(scope="module")
def rows(real_data: Callable[[str], Path]) -> tuple[np.ndarray, np.ndarray, Tree]:
    """Standardised features, class paths, and the hierarchy of all their prefixes."""
    features, labels = real_rows("ImCLEF07A", real_data)
    hierarchy = class_paths.read("\n".join(sorted(set(labels))))
    assert hierarchy.n_nodes == 97
    return features, labels, hierarchy


@pytest.mark.parametrize(("method_id", "C", "params", "minimum"), CERTIFIED)
def test_it_reaches_the_certified_minimum(
    method_id: str,
    C: float,
    params: dict[str, Any],
    minimum: float,
    rows: tuple[np.ndarray, np.ndarray, Tree],
) -> None:
    features, labels, hierarchy = rows
    used = method(method_id)
    tol = TOL[method_id]
    fitted = used.fit(
        Data({"features": features, "labels": labels, "hierarchy": hierarchy}),
        used.Params(C=C, tol=tol, **params),
    )
    assert not any("converged" in warning for warning in fitted.warnings)
    objective = fitted.metrics["objective"]
    # The certified minimum is rounded to 4 decimals.
    assert minimum * (1.0 - 1e-7) <= objective <= minimum * (1.0 + tol) + 1e-4
