"""What is answered about a tree on other scales and offsets: every metric, how examples stand in
their nodes, heat maps by medians and distances, drift, calibrated answers, maps by neighbours.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from models.arrays import Array
from models.calibration.calibration import CalibrationTerms
from models.calibration.class_rows import class_scores
from models.calibration.fit import fitted_calibration
from models.drift.drift import Sample, drift
from models.graphs.measured import MeasuredFeatures
from models.heatmaps.drawing import heatmap, measured_heatmap
from models.heatmaps.heatmap import HeatmapTerms, PooledRange, tile
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.items.placement import placement
from models.items.rankings import standings, vectors
from models.maps.mapping import mapped
from models.maps.options import NEEDS, MapTerms
from models.metrics.catalogue import METRICS, evaluate
from models.numerics.distances import DistanceMetric
from models.registry import method
from models.running.progress import silent
from models.tree.tree import Tree
from tests.models.scales_kit import GROUP, ROWS, VARIANTS, Variant, variant

every_variant = pytest.mark.parametrize("each", VARIANTS, ids=str)


@cache
def tree() -> Tree:
    hac = method("hac")
    params = hac.Params.model_validate({"linkage": "average"})
    return hac.fit(Data({"features": ROWS}), params).tree


def of_features(rows: Array, **more: Any) -> dict[str, float | None]:
    """Every metric that compares the tree with features."""
    names = [name for name, each in METRICS.items() if "features" in each.needs]
    assert len(names) >= 8
    return evaluate(tree(), metrics=names, features=rows, cut={"k": 3}, **more).metrics


@every_variant
def test_every_metric_of_features(each: Variant) -> None:
    rows = variant(ROWS, each)
    expected = of_features(ROWS, kernel="gaussian")
    assert of_features(rows, kernel="gaussian") == pytest.approx(expected, rel=1e-4)
    if not np.any(each[2]):
        # Cosines are of the direction from 0.
        assert of_features(rows) == pytest.approx(of_features(ROWS), rel=1e-4)


@every_variant
def test_standings_of_examples(each: Variant) -> None:
    placed = placement(tree(), 60)
    rows = variant(ROWS, each)
    for node in (1, 2):
        for order in ("far", "near", "doubt"):
            expected, *found = (
                standings(tree(), placed, node, order, 60, vectors(given, tree(), placed)[0])
                for given in (ROWS, rows, ArrayRows(rows))
            )
            for other in found:
                assert (other.item == expected.item).all()
                assert other.nearest is not None
                assert (other.nearest == expected.nearest).all()
                assert other.doubt == pytest.approx(expected.doubt, rel=1e-3)
                assert expected.distance is not None
                assert other.distance == pytest.approx(expected.distance * each[1], rel=1e-3)


@every_variant
def test_heat_maps_by_medians_and_distances(each: Variant) -> None:
    rows = variant(ROWS, each)
    medians = HeatmapTerms(statistic="median")
    drawn, own = (heatmap(tree(), {"k": 3}, one, None, medians, silent) for one in (ROWS, rows))
    assert own.values == pytest.approx(drawn.values, abs=1e-3)
    for metric in ("euclidean", "cosine", "cophenetic"):
        if metric == "cosine" and np.any(each[2]):
            continue  # of the direction from 0
        terms = HeatmapTerms.model_validate({"what": "distances", "metric": metric})
        expected, found = (
            tile(
                heatmap(tree(), {"k": 3}, one, None, terms, silent).values,
                "distances",
                metric,
                PooledRange(0, 3, 1),
                PooledRange(0, 3, 1),
            )
            for one in (ROWS, rows)
        )
        unit = each[1] if metric == "euclidean" else 1.0
        assert found == pytest.approx(expected * unit, rel=1e-3, abs=1e-3 * unit), metric
    # By pairs of values that are equal or not.
    pairs: tuple[DistanceMetric, ...] = ("hamming", "braycurtis")
    for pair in pairs[: 1 if np.any(each[2]) else 2]:
        drawn, own = (
            measured_heatmap(tree(), {"k": 3}, MeasuredFeatures(pair, one), (), silent)
            for one in (ROWS, rows)
        )
        assert own.values == pytest.approx(drawn.values, rel=1e-4), pair


@every_variant
def test_drift_and_calibrated_answers(each: Variant) -> None:
    gmm = method("gmm")
    params = gmm.Params.model_validate({"n_clusters": 3, "n_init": 1})
    # All far from certain, so that probabilities say something.
    blurred = np.round(ROWS * [1, 0.5, 0.5, 1] * 2**10) / 2**10
    answers = []
    for rows in (blurred, variant(blurred, each)):
        fitted = gmm.fit(Data({"features": rows}), params)
        assert fitted.model is not None
        placed = gmm.predict(fitted.model, fitted.tree, Data({"features": rows}))
        last = placed.probability[placed.start[1:] - 1]
        half = np.arange(60) < 30
        first, second = (
            Sample(placed.leaf[part], last[part], GROUP[part])
            for part in (half, ~half & (GROUP != 1))
        )
        moved = drift(fitted.tree, first, second, 0.05)
        scores = class_scores(gmm, fitted.model, fitted.tree, Data({"features": rows}))
        label = np.searchsorted(scores.node, fitted.tree.leaf_of_point)
        for answer in ("node", "set"):
            terms = CalibrationTerms.model_validate({"answer": answer, "temperature": 1.0})
            made = fitted_calibration(fitted.tree, scores, label, terms)
            given = made.calibration.answers(fitted.tree, scores, 0.1)
            answers.append((moved, given, made.calibration.score))
    for (moved, given, score), (other, own, found) in zip(answers[:2], answers[2:], strict=True):
        assert (own.node == given.node).all()
        assert (own.start == given.start).all()
        assert found == pytest.approx(score, abs=1e-4)
        assert other.nodes.keys() == moved.nodes.keys()
        for aspect, tests in moved.nodes.items():
            np.testing.assert_allclose(other.nodes[aspect].p_value, tests.p_value, rtol=1e-6)
            assert (other.nodes[aspect].rejected == tests.rejected).all()


def kept(rows: Array, positions: Array) -> float:
    """The share of the ten nearest on the map that are among the ten nearest rows, literally."""
    apart, near = squareform(pdist(rows)), squareform(pdist(positions.astype(np.float64)))
    np.fill_diagonal(apart, np.inf)
    np.fill_diagonal(near, np.inf)
    furthest = np.sort(apart, axis=1)[:, 9:10] * (1 + 1e-9)
    nearest = np.argsort(near, axis=1)[:, :10]
    return float((np.take_along_axis(apart, nearest, axis=1) <= furthest).mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    "by", [pytest.param(by, marks=pytest.mark.needs(*NEEDS[by])) for by in ("umap", "tsne")]
)
def test_maps_keep_neighbours_and_say_how_many(by: str) -> None:
    for each in VARIANTS:
        terms = MapTerms.model_validate({"by": by, **({"perplexity": 8} if by == "tsne" else {})})
        found = mapped(variant(ROWS, each), terms, 1, silent)
        assert found.neighbours_kept is not None
        assert found.neighbours_kept == pytest.approx(kept(ROWS, found.positions), abs=0.02), each
        assert found.neighbours_kept > 0.5, each
