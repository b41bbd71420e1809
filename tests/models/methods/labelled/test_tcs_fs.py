"""Discriminants of pairs as a method: its distances are the distances of Fisher discriminants."""

from __future__ import annotations

import numpy as np

from models.inputs.data import Data
from models.registry import method


def test_distances_are_those_of_fisher_discriminants_for_clusters_of_any_size() -> None:
    rng = np.random.default_rng(0)
    code = rng.choice(5, 200, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    points = 3.0 * rng.normal(size=(5, 6))[code] + rng.normal(size=(200, 6))
    data = Data({"features": points, "labels": np.where(code < 4, code, -1)})
    transformed = []
    for name in ("fda", "tcs-fs"):
        used = method(name)
        fitted = used.fit(data, used.Params(n_clusters=2, n_init=2))
        assert fitted.features is not None
        away = fitted.features[:, None] - fitted.features[None]
        transformed.append((away**2).sum(axis=-1))
    np.testing.assert_allclose(*transformed, rtol=1e-8, atol=1e-10)
