"""What is told of each node."""

from __future__ import annotations

import json

import numpy as np
import pytest

from models.method import Checkpoint
from models.methods.margins.splitting import objective
from models.methods.margins.splitting.alternating import Terms
from models.methods.margins.splitting.explanation import TOP, columns, metrics, told
from models.methods.margins.splitting.growth import grow
from models.methods.margins.splitting.objective import Above, Regularizer
from models.methods.margins.splitting.result import Grown, Limits
from models.progress import silent

REGULARIZER = Regularizer("group+exclusive", 0.1, 1.0)


def grown(n_features: int = 15) -> Grown:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, n_features))
    rows[:, :3] += 3.0 * rng.choice([-1, 1], size=(150, 3))
    terms = Terms(3, REGULARIZER, 0.8, 1.2, True, 100, 1e-3)
    return grow(rows, terms, ("k-means",), Limits(9, 2, None), 0, 1, silent, Checkpoint())


def test_every_split_is_told_with_its_features() -> None:
    found = grown()
    names = [f"f{number}" for number in range(15)]
    made = columns(found, REGULARIZER, names)
    above = {0: Above.root(15)}
    for node in np.argsort(np.where(found.step < 0, 99, found.step))[: len(found.splits)]:
        split, over = found.splits[found.step[node]], above[int(node)]
        assert made["split_score"][node] == split.score
        assert made["sparsity"][node] == (split.weights == 0).mean()
        overlap = objective.overlap(split.weights, over)
        assert made["exclusive_overlap"][node] == pytest.approx(overlap, nan_ok=True)
        features = made["split_features"][node]
        assert 0 < len(features) <= TOP
        cost = REGULARIZER.penalty(3, over).by_feature(split.weights)
        assert [one["penalty"] for one in features] == sorted(cost, reverse=True)[: len(features)]
        for one in features:
            column = names.index(one["feature"])
            assert one["weights"] == split.weights[:, column].tolist()
            assert any(one["weights"])
        for number, child in enumerate(found.children(int(node))):
            above[child] = over.and_of(split.weights[number])
            own = made["own_features"][child]
            sizes = [abs(one["weight"]) for one in own]
            assert sizes == sorted(np.abs(split.weights[number]), reverse=True)[: len(own)]
    leaf = found.step < 0
    assert np.isnan(made["split_score"][leaf]).all()
    assert all(one is None for one in made["split_features"][leaf])
    assert made["own_features"][0] is None
    json.dumps([*made["split_features"].tolist(), *made["own_features"].tolist()])


def test_features_without_names_are_numbers() -> None:
    made = columns(grown(), REGULARIZER, None)
    assert all(isinstance(one["feature"], int) for one in made["split_features"][0])


def test_where_nothing_is_penalised_the_largest_weights_are_told() -> None:
    found = grown(4)
    exclusive = Regularizer("exclusive", 0.0, 1.0)
    features = told(found.splits[0], exclusive, Above.root(4), None)
    length = np.linalg.norm(found.splits[0].weights, axis=0)
    assert [one["feature"] for one in features] == [p for p in np.argsort(-length) if length[p] > 0]
    assert {one["penalty"] for one in features} == {0.0}


def test_metrics_of_the_whole() -> None:
    found = grown()
    measured = metrics(found.splits)
    assert measured["n_splits"] == 4
    assert measured["objective"] == pytest.approx(sum(one.objective for one in found.splits))
    assert measured["sparsity"] == pytest.approx(
        np.mean([(one.weights == 0).mean() for one in found.splits])
    )
    # The root has no ancestors, so nothing to overlap with.
    assert measured["exclusive_overlap"] == pytest.approx(
        np.mean([one.overlap for one in found.splits[1:]])
    )
    assert "exclusive_overlap" not in metrics(found.splits[:1])
