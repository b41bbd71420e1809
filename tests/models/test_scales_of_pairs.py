"""Distances, similarities and counts of pairs: alike on any scale, or refused with the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from models.errors import UsageError
from models.inputs.data import Data
from models.metrics.catalogue import evaluate
from models.registry import method
from models.tree.cut import cut
from models.tree.tree import Tree
from tests.models.scales_kit import ROWS

APART = squareform(pdist(ROWS))
ALIKE = np.exp(-APART / 5)


def fitted(name: str, role: str, values: Any, **params: Any) -> Any:
    own = method(name)
    return own.fit(Data({role: values}), own.Params(**{**own.example, **params}))


def tree_or_refusal(name: str, role: str, values: Any, **params: Any) -> Tree | UsageError:
    try:
        tree: Tree = fitted(name, role, values, **params).tree
    except UsageError as error:
        return error
    return tree


PAIRED = [
    ("hac", "distances", {"linkage": linkage})
    for linkage in ("single", "average", "ward", "centroid", "median")
] + [
    ("hac", "similarity", {"linkage": "ward"}),
    ("hdbscan", "distances", {}),
    ("spectral", "similarity", {}),
]


@pytest.mark.parametrize(("name", "role", "params"), PAIRED, ids=str)
def test_pairs_give_the_same_tree_on_any_scale_or_are_refused(
    name: str, role: str, params: dict[str, Any]
) -> None:
    values = APART if role == "distances" else ALIKE
    base: Tree = fitted(name, role, values, **params).tree
    for exponent in (-1030, -700, -390, -100, 100, 400):
        found = tree_or_refusal(name, role, values * 2.0**exponent, **params)
        if isinstance(found, UsageError):
            assert found.code == ("unusable-input" if exponent < -400 else "too-large"), exponent
            assert found.where["role"] == role
            continue
        own = found
        assert exponent > -400, "squares of these have no room"
        flat, other = (cut(tree, k=3).cluster_of_point for tree in (base, own))
        assert adjusted_rand_score(flat, other) == 1.0, exponent
        power = exponent if name != "spectral" else 0
        np.testing.assert_allclose(
            np.ldexp(np.sort(own.height), -power), np.sort(base.height), rtol=1e-9, atol=1e-12
        )


def test_one_large_pair_among_small_ones_is_not_refused() -> None:
    values = APART * 2.0**-500
    values[3, 50] = values[50, 3] = 1.0
    assert fitted("hac", "distances", values, linkage="complete").tree.height.max() == 1.0


def test_similarities_with_an_offset_are_not_called_equal() -> None:
    moved = fitted("hac", "similarity", np.round(ALIKE * 2**20) / 2**20 + 2.0**30)
    assert not any("ties alone" in warning for warning in moved.warnings)
    equal = fitted("hac", "similarity", np.full((9, 9), 2.0**30))
    assert any("ties alone" in warning for warning in equal.warnings)


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_cophenetic_correlation_has_no_scale(exponent: int) -> None:
    plain = fitted("hac", "distances", APART).tree
    wanted = ["cophenetic_correlation"]
    base = evaluate(plain, metrics=wanted, distances=APART).metrics
    heights = np.ldexp(plain.height, exponent)
    large = replace(plain, height=heights)
    for tree, values in ((plain, APART * 2.0**exponent), (large, APART)):
        found = evaluate(tree, metrics=wanted, distances=values)
        assert found.metrics == pytest.approx(base, rel=1e-12)
        assert not found.warnings


def test_costs_by_cosines_of_rows_in_nearly_one_direction_are_warned_of() -> None:
    plain = fitted("hac", "distances", APART).tree
    assert not evaluate(plain, metrics=["dasgupta_cost"], features=ROWS).warnings
    (warning,) = evaluate(
        plain, metrics=["dasgupta_cost", "wang_wang_ratio"], features=ROWS + 1e6
    ).warnings
    assert "column" in warning
    assert "standardize" in warning


@pytest.mark.needs("torch")
def test_counts_of_words_too_small_to_be_learned_from_are_warned_of() -> None:
    group = np.arange(30) % 3
    counts = np.where(group[:, None] == group, 40.0, 2.0)
    for factor, warned in ((1.0, False), (0.01, True), (1e-8, True)):
        fit = fitted("ghhc-glove", "graph", counts * factor)
        assert any("hardly learned" in warning for warning in fit.warnings) == warned
