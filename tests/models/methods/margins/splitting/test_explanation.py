"""The columns that explain each node, and the metrics of a tree."""

from __future__ import annotations

import json

import numpy as np
import pytest

from models.method import Checkpoint
from models.methods.margins.splitting import objective
from models.methods.margins.splitting.alternating import Terms
from models.methods.margins.splitting.growth import grow
from models.methods.margins.splitting.objective import Ancestors, Regularizer
from models.methods.margins.splitting.result import (
    TOP,
    GrowthLimits,
    MarginTree,
    columns,
    metrics,
    split_features,
)
from models.methods.margins.splitting.split import SearchEffort
from models.running.progress import silent

REGULARIZER = Regularizer("group+exclusive", 0.1, 1.0)


def grown(n_features: int = 15) -> MarginTree:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, n_features))
    rows[:, :3] += 3.0 * rng.choice([-1, 1], size=(150, 3))
    terms = Terms(3, REGULARIZER, 0.8, 1.2, True, 100, 1e-3)
    return grow(
        rows,
        terms,
        SearchEffort(("k-means",), 0),
        GrowthLimits(9, 2, None),
        0,
        1,
        silent,
        Checkpoint(),
    )


def test_every_split_lists_its_features() -> None:
    tree = grown()
    names = [f"f{number}" for number in range(15)]
    table = columns(tree, REGULARIZER, names)
    above = {0: Ancestors.root(15)}
    for node in np.argsort(np.where(tree.step < 0, 99, tree.step))[: len(tree.splits)]:
        split, over = tree.splits[tree.step[node]], above[int(node)]
        assert table["split_score"][node] == split.score
        assert table["sparsity"][node] == (split.weights == 0).mean()
        overlap = objective.overlap(split.weights, over)
        assert table["exclusive_overlap"][node] == pytest.approx(overlap, nan_ok=True)
        features = table["split_features"][node]
        assert 0 < len(features) <= TOP
        cost = REGULARIZER.penalty(3, over).by_feature(split.weights)
        assert [feature["penalty"] for feature in features] == sorted(cost, reverse=True)[
            : len(features)
        ]
        for feature in features:
            column = names.index(feature["feature"])
            assert feature["weights"] == split.weights[:, column].tolist()
            assert any(feature["weights"])
        for number, child in enumerate(tree.children(int(node))):
            above[child] = over.extended_by(split.weights[number])
            own = table["own_features"][child]
            sizes = [abs(feature["weight"]) for feature in own]
            assert sizes == sorted(np.abs(split.weights[number]), reverse=True)[: len(own)]
    leaf = tree.step < 0
    assert np.isnan(table["split_score"][leaf]).all()
    assert all(features is None for features in table["split_features"][leaf])
    assert table["own_features"][0] is None
    json.dumps([*table["split_features"].tolist(), *table["own_features"].tolist()])


def test_features_without_names_are_numbers() -> None:
    table = columns(grown(), REGULARIZER, None)
    assert all(isinstance(feature["feature"], int) for feature in table["split_features"][0])


def test_where_nothing_is_penalised_the_largest_weights_come_first() -> None:
    tree = grown(4)
    exclusive = Regularizer("exclusive", 0.0, 1.0)
    features = split_features(tree.splits[0], exclusive, Ancestors.root(4), None)
    length = np.linalg.norm(tree.splits[0].weights, axis=0)
    assert [feature["feature"] for feature in features] == [
        p for p in np.argsort(-length) if length[p] > 0
    ]
    assert {feature["penalty"] for feature in features} == {0.0}


def test_metrics_of_the_whole() -> None:
    tree = grown()
    measured = metrics(tree.splits)
    assert measured["n_splits"] == 4
    assert measured["objective"] == pytest.approx(sum(split.objective for split in tree.splits))
    assert measured["sparsity"] == pytest.approx(
        np.mean([(split.weights == 0).mean() for split in tree.splits])
    )
    # The root has no ancestors to overlap with.
    assert measured["exclusive_overlap"] == pytest.approx(
        np.mean([split.overlap for split in tree.splits[1:]])
    )
    assert "exclusive_overlap" not in metrics(tree.splits[:1])
