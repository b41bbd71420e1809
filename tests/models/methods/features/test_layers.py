"""The method `layers`: planted clusters, chance, and what must not change the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from models import registry
from models.arrays import Array
from models.errors import UsageError
from models.inputs.data import Data
from models.levels.layers import fitted_layers
from models.method import Fitted

METHOD = registry.method("layers")


def fit(features: Array, **params: Any) -> Fitted:
    return METHOD.fit(Data({"features": features}), METHOD.Params(**params))


def planted(dtype: str) -> tuple[Array, Array]:
    """Six groups of 40 rows in 32 columns."""
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(6), 40)
    rows = rng.normal(size=(6, 32))[truth] + 0.35 * rng.normal(size=(240, 32))
    if dtype == "int8":
        return np.clip(np.round(30 * rows), -127, 127).astype(np.int8), truth
    if dtype == "binary":
        return (rows > 0).astype(np.uint8), truth
    return rows.astype(dtype), truth


def clusters(fitted: Fitted, layer: int) -> set[frozenset[int]]:
    """The rows of each cluster of a layer."""
    tree, answer = fitted.tree, set()
    of_layer = (tree.extra["layer"] <= layer) & (layer <= tree.extra["until"])
    for node in np.flatnonzero(of_layer).tolist():
        inside = np.arange(tree.n_nodes) == node
        for row in range(node + 1, tree.n_nodes):
            inside[row] |= inside[tree.parent[row]]
        answer.add(frozenset(np.flatnonzero(inside[tree.leaf_of_point]).tolist()))
    return answer


@pytest.mark.parametrize("dtype", ["float32", "int8", "binary"])
def test_planted_groups_are_a_layer(dtype: str) -> None:
    rows, truth = planted(dtype)
    fitted = fit(rows)
    groups = {frozenset(np.flatnonzero(truth == k).tolist()) for k in range(6)}
    found = [clusters(fitted, n) for n in range(int(fitted.metrics["n_layers"]))]
    assert groups in found
    tree = fitted.tree
    assert (tree.extra["p_value"][tree.extra["layer"] >= 0] <= 0.05).all()
    assert ((tree.extra["strength"] >= 0) & (tree.extra["strength"] <= 1)).all()


def test_order_and_scale_change_nothing() -> None:
    rows, _ = planted("float64")
    order = np.random.default_rng(3).permutation(len(rows))
    first, moved, scaled = fit(rows), fit(rows[order]), fit(8.0 * rows)
    for n in range(int(first.metrics["n_layers"])):
        known = clusters(first, n)
        assert {frozenset(order[list(c)].tolist()) for c in clusters(moved, n)} == known
        assert clusters(scaled, n) == known


@pytest.mark.parametrize("seed", range(2))
def test_rows_without_structure_are_noise(seed: int) -> None:
    fitted = fit(np.random.default_rng(seed).normal(size=(200, 16)), largest_p=0.01)
    assert fitted.metrics["n_layers"] == 0
    assert fitted.tree.extra["noise"][fitted.tree.leaf_of_point].all()
    assert any("No layer was found" in text for text in fitted.warnings)


def test_bad_rows_are_refused_or_warned_of() -> None:
    with pytest.raises(UsageError, match="need 20 or more"):
        fit(np.eye(5))
    rows, _ = planted("float64")
    with pytest.raises(UsageError, match="Row 7 of input 'features' is 0 throughout"):
        fit(np.where(np.arange(240)[:, None] == 7, 0.0, rows))
    equal = fit(np.ones((30, 3)))
    assert "All rows are equal: there is no layer." in equal.warnings
    assert any("are few" in text for text in equal.warnings)
    far = rows.copy()
    far[0] *= 1e9
    assert fit(far).metrics["n_layers"] >= 1


def test_data_without_structure_have_no_layers() -> None:
    kinds: list[Callable[[np.random.Generator], Array]] = [
        lambda rng: rng.normal(size=(100, 16)) @ rng.normal(size=(16, 16)),
        lambda rng: rng.uniform(-1, 1, size=(100, 8)),
        # Far rows of independent columns are alike by cosine.
        lambda rng: rng.standard_t(3, size=(100, 16)),
    ]
    with_layers = sum(
        fit(make(np.random.default_rng(seed))).metrics["n_layers"] > 0
        for make in kinds
        for seed in range(4)
    )
    assert with_layers <= 2, "at .05 of 12 sets: 3 or more in 2% of draws"


def test_an_offset_is_warned_of_or_refused() -> None:
    rows, _ = planted("float64")
    column = (np.arange(32) == 5).astype(float)
    assert not any("far from 0" in text for text in fit(rows).warnings)
    named = [text for text in fit(rows + 40 * column).warnings if "far from 0" in text]
    assert len(named) == 1
    assert "column 5 (counted from 0)" in named[0]
    with pytest.raises(UsageError, match="nearly one direction") as far:
        fit(rows + 1e5 * column)
    assert (far.value.code, far.value.where["column"]) == ("no-distance", 5)


def test_the_layers_of_its_tree_are_what_the_fit_found() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(9), 40)
    rows = 2 * rng.normal(size=(3, 32))[truth // 3] + 0.8 * rng.normal(size=(9, 32))[truth]
    fitted = fit(rows + 0.2 * rng.normal(size=(360, 32)))
    found = fitted_layers(fitted.tree)
    assert found is not None
    assert not found.warnings
    assert len(found.layers) == fitted.metrics["n_layers"] > 1
    for number, layer in enumerate(found.layers):
        inside = clusters(fitted, number)
        assert sorted(map(len, inside), reverse=True) == fitted.tree.size[layer.nodes].tolist()
        assert layer.n_noise == len(rows) - sum(map(len, inside))
    sizes = [fitted.tree.size[layer.nodes].tolist() for layer in found.layers]
    assert np.bincount(truth).tolist() in sizes
    strict = fitted_layers(fitted.tree, largest_p=1e-300)
    assert strict is not None
    assert strict.layers == ()
    assert "p-value" in str(strict.reason)


def test_trees_without_layers_say_so() -> None:
    none = fitted_layers(fit(np.random.default_rng(0).normal(size=(120, 8))).tree)
    assert none is not None
    assert (none.layers, none.reason) == ((), "The fit found no layer.")
    other = registry.method("kmeans")
    rows, _ = planted("float32")
    tree = other.fit(Data({"features": rows}), other.Params(n_clusters=3)).tree
    assert fitted_layers(tree) is None
