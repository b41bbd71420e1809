"""Whatever measures distances, angles or spreads gives one answer on any scale and offset, or
refuses the input with its reason.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.errors import UsageError
from models.heatmaps.drawing import heatmap
from models.heatmaps.heatmap import HeatmapTerms
from models.inputs.data import Data
from models.inputs.frames import Frame, sampled
from models.inputs.rows import ArrayRows
from models.items.placement import placement
from models.items.rankings import ranked, vectors
from models.levels import silhouette
from models.maps.mapping import mapped
from models.maps.options import MapTerms
from models.metrics.catalogue import evaluate
from models.metrics.nodes import report_on_nodes
from models.registry import method
from models.running.progress import silent
from models.tree.tree import Tree
from scripts import write_scales
from tests.contract.contract_kit import EXAMPLES, with_needs
from tests.models.scales_kit import (
    CLASSIFIERS,
    COUNTED,
    LINEAR,
    ROWS,
    SLOW,
    SPLITS,
    TAKEN,
    TASKS,
    TRAINED,
    VARIANTS,
    Variant,
    fitted,
    fitted_or_refused,
    labelled,
    rows_for,
    variant,
)
from umbel.testing.examples import Example


def test_exceptions_are_methods() -> None:
    known = {example.method.id for example in EXAMPLES}
    assert known >= LINEAR | SPLITS | COUNTED | TASKS | SLOW | TRAINED


def test_the_page_has_every_method() -> None:
    page = write_scales.PATH.read_text("utf-8")
    table = page.partition(write_scales.BEGIN)[2].partition(write_scales.END)[0]
    assert set(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE)) == registry.built_in().keys()
    assert "differs" not in table


def power(tree: Tree, expected: Tree, scale: float) -> float:
    """By which power of the scale the heights have changed."""
    high, own = tree.height.max(), expected.height.max()
    return 0.0 if own == 0 else float(np.log2(high / own) / np.log2(scale))


@pytest.mark.parametrize("example", with_needs(TAKEN))
def test_a_method_answers_alike_or_refuses(example: Example) -> None:
    name, rows = example.method.id, rows_for(example)
    base, flat, leaf = fitted(example, rows)
    for each in VARIANTS[1::3] if name in SLOW else VARIANTS:
        dtype, scale, offset = each
        result = fitted_or_refused(example, variant(rows, each))
        if isinstance(result, UsageError):
            assert result.code in {"not-unit", "no-distance"}, (each, result)
            assert {"row", "column"} & result.where.keys()
            continue
        other, own, predicted = result
        assert adjusted_rand_score(flat, own) > 0.99, each
        if leaf is not None:
            kept = (leaf == base.tree.leaf_of_point).mean()
            assert (predicted == other.tree.leaf_of_point).mean() >= kept - 0.02, each
        if base.features is not None:
            apart, others = (pdist(one.features.astype(float)) for one in (base, other))
            assert others / others.max() == pytest.approx(apart / apart.max(), abs=1e-6), each
        if name in TRAINED:
            continue
        exact = 1e-6 if dtype == "float64" and not np.any(offset) else 1e-3
        if scale == 1.0:
            np.testing.assert_allclose(
                np.sort(other.tree.height), np.sort(base.tree.height), rtol=exact, atol=exact
            )
        else:
            raised = power(other.tree, base.tree, scale)
            assert abs(raised - round(raised)) < exact, (each, raised)


@pytest.mark.parametrize("example", with_needs(CLASSIFIERS))
def test_a_classifier_is_right_or_says_why(example: Example) -> None:
    base = labelled(example, ROWS)
    assert not isinstance(base, UsageError)
    for each in VARIANTS:
        result = labelled(example, variant(ROWS, each))
        if isinstance(result, UsageError):
            assert result.code in {"too-large", "wrong-input"}, (each, result)
            assert "column" in result.where, each
            assert each[1] > 1.0, each
            continue
        right, fit = result
        if right < base[0] - 0.02:
            assert each[1] < 1.0, each
            assert any("Scale the columns" in warning for warning in fit.warnings), each


def tree_of(rows: Any) -> Tree:
    hac = method("hac")
    return hac.fit(Data({"features": rows}), hac.Params(linkage="average")).tree


TREE = tree_of(ROWS)


@pytest.mark.parametrize("each", VARIANTS, ids=str)
def test_what_goes_with_a_tree_answers_alike(each: Variant) -> None:
    dtype, scale, _ = each
    rows = variant(ROWS, each)
    single = 1e-4 if dtype == "float32" else 1e-6
    # Levels.
    curve = dict(silhouette.curve(TREE, ROWS))
    assert dict(silhouette.curve(TREE, rows)) == pytest.approx(curve, abs=single)
    # Examples.
    placed = placement(TREE, 60)
    first = [
        ranked(placed, 0, "central", 60, known=vectors(matrix, TREE, placed)[0])
        for matrix in (ROWS, rows, ArrayRows(rows))
    ]
    for other in first[1:]:
        assert (other.item == first[0].item).all()
        assert other.score == pytest.approx(first[0].score * scale, rel=1e-4)
    report = report_on_nodes(TREE, features=ROWS)
    assert (report_on_nodes(TREE, features=rows).exemplars == report.exemplars).all()
    # Metrics.
    wanted = ["silhouette", "davies_bouldin", "calinski_harabasz", "cophenetic_correlation"]
    expected = evaluate(TREE, metrics=wanted, features=ROWS, cut={"k": 3}).metrics
    measured = evaluate(TREE, metrics=wanted, features=rows, cut={"k": 3}).metrics
    assert measured == pytest.approx(expected, rel=1e-4)
    # Maps, by `pca` alone: others need packages.
    by_pca = mapped(ROWS, MapTerms(by="pca"), 1, silent)
    other_map = mapped(rows, MapTerms(by="pca"), 1, silent)
    assert other_map.neighbours_kept == pytest.approx(by_pca.neighbours_kept, abs=0.02)
    apart, others = (pdist(one.positions.astype(float)) for one in (by_pca, other_map))
    assert others / others.max() == pytest.approx(apart / apart.max(), abs=1e-4)
    if not other_map.warnings:
        assert others.max() == pytest.approx(apart.max() * scale, rel=1e-4)
    # Heat maps.
    for terms in ({"what": "features", "scale": "none"}, {"what": "features"}):
        drawn, own = (
            heatmap(TREE, {"k": 3}, matrix, None, HeatmapTerms(**terms), silent)
            for matrix in (ROWS, rows)
        )
        assert own.columns is not None
        assert drawn.columns is not None
        assert own.columns["between"] == pytest.approx(drawn.columns["between"], rel=1e-4)
        assert own.columns["deviation"] == pytest.approx(
            [scale * one for one in drawn.columns["deviation"]], rel=1e-4
        )
        if terms == {"what": "features"}:
            assert own.values == pytest.approx(drawn.values, abs=1e-3)
        else:
            offset = np.broadcast_to(each[2], 4)[own.columns["column"]]
            place = [drawn.columns["column"].index(one) for one in own.columns["column"]]
            given = np.asarray(own.values, dtype=np.float64) - offset
            assert given == pytest.approx(
                drawn.values[:, place] * scale, abs=1e-3 * scale * float(np.ptp(drawn.values))
            )
    far = HeatmapTerms(what="distances", metric="euclidean")
    drawn, own = (heatmap(TREE, {"k": 3}, one, None, far, silent) for one in (ROWS, rows))
    assert own.high == pytest.approx(drawn.high * scale, rel=1e-4)


def test_a_frame_moves_by_a_value_and_scales_by_a_power_of_two() -> None:
    for matrix in (ROWS, ROWS.astype(np.float32), ArrayRows(ROWS)):
        assert Frame.of(matrix).rows(matrix) is matrix
    rows = ROWS + 2.0**40
    frame = Frame.of(rows)
    moved = np.asarray(frame.rows(rows))
    assert squareform(pdist(moved)) == pytest.approx(squareform(pdist(ROWS)), abs=0)
    assert (frame.back(moved) == rows).all()
    read: Any = frame.rows(ArrayRows(rows))
    assert (read.read(3, 9) == moved[3:9]).all()
    assert (read.take(np.array([1, 5])) == moved[[1, 5]]).all()


def test_a_frame_is_that_of_most_rows_wherever_they_stand() -> None:
    many = np.tile(ROWS, (50, 1))
    seen = np.zeros(len(many), dtype=bool)
    seen[sampled(np.arange(len(many), dtype=np.float64)[:, None]).astype(np.int64)] = True
    far, small = many.copy(), many * 2.0**-100
    far[~seen, 1] += 2.0**40
    mixed = np.where(seen[:, None], many, small)
    beyond = small.copy()
    beyond[np.flatnonzero(~seen)[1000]] = 1.0
    for read in (np.asarray, ArrayRows):
        assert abs(Frame.of(read(far)).origin[1] - 2.0**40) < 10
        # As far up as the larger rows have room.
        assert -40 < Frame.of(read(mixed)).exponent < -30
        assert -50 < Frame.of(read(beyond)).exponent < 0
        framed: Any = Frame.of(read(beyond.astype(np.float32))).rows(beyond.astype(np.float32))
        assert np.isfinite(framed.astype(np.float32) ** 2).all()


@pytest.mark.parametrize(
    "rows",
    [
        np.vstack([np.full((3000, 4), 7.0), ROWS + 2.0**30]),
        np.vstack([ROWS, np.full((1, 4), 2.0**60)]),
        np.full((60, 4), 2.0**30),
        np.full((60, 4), 1e308) * np.where(np.arange(60) % 2, 1, -1)[:, None],
        ROWS * 2.0**-1060,
    ],
    ids=["equal", "one far", "all equal", "largest", "denormal"],
)
def test_frames_of_odd_rows_are_finite(rows: Any) -> None:
    framed = np.asarray(Frame.of(rows).rows(rows))
    assert np.isfinite(framed).all()
    assert len(np.unique(framed, axis=0)) == len(np.unique(rows, axis=0))
