"""What nodes are named by, against naive definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.node_names.by_input import NamingTerms
from models.node_names.differences import LEAST_EFFECT
from models.node_names.evidence import evidence
from models.tree.build import from_merges, from_parents
from models.tree.tree import Tree
from tests.models.consensus.sets_kit import random_tree, sets

MANY = 256


def drawn(seed: int, n_points: int = 24) -> tuple[Tree, np.ndarray]:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_points)
    return tree, rng.normal(size=(n_points, 4)) + rng.integers(0, 3, n_points)[:, None]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_features_that_tell_a_node_from_its_siblings(kind: Any) -> None:
    for seed in range(5):
        tree, features = drawn(seed)
        found = evidence(tree, "features", {"features": kind(features)}, MANY)
        rows = [sorted(own) for own in sets(tree)]
        for node in range(1, tree.n_nodes):
            own = features[rows[node]]
            rest = features[sorted(set(rows[int(tree.parent[node])]) - set(rows[node]))]
            squares = ((own - own.mean(0)) ** 2).sum(0) + ((rest - rest.mean(0)) ** 2).sum(0)
            within = squares / (len(own) + len(rest))
            effect = (own.mean(0) - rest.mean(0)) / np.sqrt(within + features.var(axis=0) / 4)
            best = [each for each in np.argsort(-abs(effect)) if abs(effect[each]) >= LEAST_EFFECT]
            expected = [
                f"{'high' if effect[each] > 0 else 'low'} feature {each}" for each in best[:3]
            ]
            assert found.name.get(node, "").split(", ") == (expected or [""])


def test_what_differs_by_nothing_much_is_not_named() -> None:
    tree = from_merges([0, 3], [1, 2], [1.0, 2.0])
    # Rows 0 and 1 differ in the last two features, in the last one by little in all.
    features = np.array([[1.0, 3.0, 5.0], [1.0, 8.0, 5.1], [1.0, 3.0, 90.0]])
    found = evidence(
        tree, "features", {"features": features, "feature_names": ["x", "y", "z"]}, MANY
    )
    assert sorted(found.name.values()) == ["high y", "high z, low y", "low y", "low z, high y"]


def test_items_are_those_nearest_to_the_mean() -> None:
    tree, features = drawn(3)
    names = [f"row {row}" for row in range(24)]
    found = evidence(tree, "items", {"features": features, "names": names}, MANY)
    for node, own in enumerate(sets(tree)):
        rows = sorted(own)
        apart = ((features[rows] - features[rows].mean(0)) ** 2).sum(1)
        named = [rows.index(names.index(name)) for name in found.name[node].split(", ")]
        # If there are two rows, both are as far from their mean.
        np.testing.assert_allclose(apart[named], np.sort(apart)[:3], atol=1e-12)


def test_only_the_requested_clusters_and_those_above() -> None:
    tree, _ = drawn(1)
    labels = np.arange(24) % 2
    few = evidence(tree, "labels", {"labels": labels}, 3)
    assert len(few.name) < len(evidence(tree, "labels", {"labels": labels}, MANY).name)
    assert few.name[0] == "0 (50%)"
    assert few.detail[0] == "50% 0"


def test_documents_are_counted() -> None:
    tree = from_merges([0, 2, 4], [1, 3, 5], [1.0, 2.0, 3.0])
    texts = ["a cat", "the cat the", "the dog", "the dog"]
    found = evidence(tree, "terms", {"documents": texts}, MANY)
    assert sorted(found.name.values()) == ["cat", "dog"]


def test_forms_of_a_word_are_one_term_where_more_rows_are_routed_so() -> None:
    # Five words a class; each is in its plural in every other row.
    things = [["cat", "dog", "cow", "hen", "pig"], ["train", "car", "van", "cab", "jet"]]
    kind, number, form = np.unravel_index(np.arange(120) % 20, (2, 5, 2))
    texts = [
        things[a][b] + "s" * c
        for a, b, c in zip(kind.tolist(), number.tolist(), form.tolist(), strict=True)
    ]
    tree = from_parents([-1, 0, 0], [1.0, 0.0, 0.0], [None] * 3, (kind + 1).tolist())
    found = evidence(tree, "terms", {"documents": texts}, MANY)
    assert found.routed is not None
    assert found.routed.share == 1.0
    for node, own in enumerate(things, 1):
        assert sorted(word.removesuffix("s") for word in found.name[node].split(", ")) == sorted(
            own
        )
        assert "/" in found.detail[node]
        assert found.questions[node].right is not None
    counts = {"features": np.eye(20)[np.arange(120) % 20], "feature_names": sorted(set(texts))}
    by_counts = evidence(tree, "terms", counts, MANY)
    assert all("/" not in own for own in by_counts.detail.values())


def test_forms_that_tell_siblings_apart_stay_apart() -> None:
    texts = ["hand"] * 20 + ["hands"] * 20
    tree = from_parents([-1, 0, 0], [1.0, 0.0, 0.0], [None] * 3, [1] * 20 + [2] * 20)
    found = evidence(tree, "terms", {"documents": texts}, MANY)
    assert found.name == {1: "hand", 2: "hands"}


@pytest.mark.parametrize(
    ("by", "values", "part"),
    [
        ("terms", {}, "or 'documents'"),
        ("terms", {"features": np.ones((24, 4))}, "'feature_names'"),
        ("items", {"names": ["a"] * 24}, "'features'"),
        ("items", {"names": ["a"] * 23, "features": np.ones((24, 4))}, "23 names"),
        ("items", {"names": ["a"] * 23, "features": np.ones((23, 4))}, "23 rows"),
        ("features", {"features": np.ones((23, 4))}, "23 rows"),
        ("features", {"features": np.ones((24, 4)), "feature_names": ["a"]}, "1 names"),
        ("labels", {"labels": np.arange(3)}, "3"),
    ],
)
def test_inputs_that_do_not_fit(by: Any, values: dict[str, Any], part: str) -> None:
    tree, _ = drawn(2)
    with pytest.raises(UsageError, match=part):
        evidence(tree, by, values, MANY)


def test_terms() -> None:
    assert NamingTerms(by="model").found_by == "terms"
    assert NamingTerms(by="model", evidence="items").found_by == "items"
    assert NamingTerms(by="labels").found_by == "labels"
