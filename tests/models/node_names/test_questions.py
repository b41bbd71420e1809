"""Questions at splits, against naive definitions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.arrays import Array
from models.node_names.evidence import evidence
from models.node_names.questions import MOST_TERMS, of_features, of_terms, questions
from models.node_names.routing import N_FOLDS, terms_of
from models.node_names.terms import distinctive_columns
from models.tree.build import from_parents
from models.tree.tree import Tree
from tests.models.consensus.sets_kit import random_tree, sets

MANY = 256
TERMS = [f"t{column}" for column in range(8)]


def siblings(tree: Tree, node: int) -> tuple[list[int], list[int]]:
    """The rows of a node, and of its siblings."""
    below = [sorted(own) for own in sets(tree)]
    own = below[node]
    return own, sorted(set(below[int(tree.parent[node])]) - set(own))


def by_hand(tree: Tree, have: Array, node: int, rows: set[int]) -> list[int] | None:
    """The columns of the question about a node, from these rows alone."""
    names = distinctive_columns(tree, have, MANY, np.array(sorted(rows)))
    own, others = ([row for row in each if row in rows] for each in siblings(tree, node))
    if node not in names or not own or not others:
        return None
    chosen: list[int] = []
    most = 0.0
    while len(chosen) < MOST_TERMS:
        differences = []
        for column, _ in names[node]:
            met = np.asarray(have[:, [*chosen, column]].any(axis=1))
            differences.append(round(met[own].mean() - met[others].mean(), 12))
        if max(differences) <= most:
            break
        most = max(differences)
        chosen.append(names[node][differences.index(most)][0])
    return chosen or None


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_question_has_the_terms_that_together_differ_most(kind: Any) -> None:
    rng = np.random.default_rng(3)
    tree = random_tree(rng, 40)
    have = (rng.random((40, 8)) < rng.random(8) * 0.6).astype(float)
    given = kind(have)
    found = questions(tree, MANY, of_terms(given, TERMS, terms_of(tree, given, MANY)))
    expected = {node: by_hand(tree, have, node, set(range(40))) for node in range(1, tree.n_nodes)}
    assert {node: each.text for node, each in found.items()} == {
        node: f"mentions {' or '.join(TERMS[column] for column in columns)}?"
        for node, columns in expected.items()
        if columns
    }
    right: dict[int, Array] = {node: np.zeros((2, 2)) for node in found}
    for part in np.array_split(np.random.default_rng(0).permutation(40), N_FOLDS):
        others = set(range(40)) - set(part.tolist())
        for node in found:
            columns = by_hand(tree, have, node, others)
            for side, (each, answer) in enumerate(zip(siblings(tree, node), (1, 0), strict=True)):
                for row in set(each) & set(part.tolist()) if columns else ():
                    right[node][side] += have[row, columns].any() == answer, 1
    for node, counts in right.items():
        share = counts[:, 0] / counts[:, 1] if counts[:, 1].all() else None
        assert found[node].right == (None if share is None else pytest.approx(share.mean()))


def two_groups(n_each: int) -> Tree:
    """Rows 0 to n - 1 below node 1, the others below node 2."""
    return from_parents([-1, 0, 0], [1.0, 0.0, 0.0], [None, "a", "b"], np.repeat([1, 2], n_each))


def test_a_threshold_is_where_shares_differ_most() -> None:
    rng = np.random.default_rng(0)
    for n_each, decimals in product((2, 5), (1, 2)):
        values = np.round(rng.normal(size=2 * n_each), decimals)
        values[:n_each] += 1.0
        tree = two_groups(n_each)
        finder = of_features(values[:, None], ["Mg"], {1: [(0, 1.0)], 2: [(0, -1.0)]})
        found = questions(tree, MANY, finder)
        own = np.arange(2 * n_each) < n_each
        cuts = [(values[own] > t).mean() - (values[~own] > t).mean() for t in values]
        for node, word in ((1, "over"), (2, "under")):
            name, way, limit = found[node].text.rstrip("?").split()
            assert (name, way) == ("Mg", word)
            yes = values > float(limit) if node == 1 else values < float(limit)
            inside = own if node == 1 else ~own
            assert yes[inside].mean() - yes[~inside].mean() == pytest.approx(max(cuts))


def test_a_threshold_between_neighbouring_numbers_is_written_as_a_number() -> None:
    values = 1e15 + np.array([1.0, 2.0, 3.0, 4.0])
    finder = of_features(values[:, None], ["time"], {2: [(0, 1.0)]})
    assert questions(two_groups(2), MANY, finder)[2].text == "time over 1000000000000002.0?"


def test_features_of_yes_and_no_are_questions_as_they_are_called() -> None:
    furry = np.repeat([1.0, 0.0], 10)[:, None]
    values = {"features": furry, "feature_names": ["furry"]}
    found = evidence(two_groups(10), "features", values, MANY).questions
    assert {node: (each.text, each.right) for node, each in found.items()} == {
        1: ("furry?", 1.0),
        2: ("not furry?", 1.0),
    }


def test_noise_is_answered_as_by_a_draw() -> None:
    rng = np.random.default_rng(1)
    words = [" ".join(rng.choice(TERMS, 3)) for _ in range(400)]
    found = evidence(two_groups(200), "terms", {"documents": words}, MANY).questions
    assert all(each.right is not None and abs(each.right - 0.5) < 0.1 for each in found.values())


def test_what_does_not_differ_has_no_question() -> None:
    tree = two_groups(3)
    same = np.ones((6, 1))
    assert questions(tree, MANY, of_features(same, ["Mg"], {1: [(0, 1.0)]})) == {}
    one = from_parents([-1, 0], [1.0, 0.0], [None, "a"], [1])
    assert questions(one, MANY, of_terms(same[:1], ["a"], terms_of(one, same[:1], MANY))) == {}
