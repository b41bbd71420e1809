"""Heatmaps against literal means, medians and distances of the points under each row.

The rows of a heatmap, against paths to the root.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, leaves_list, linkage
from scipy.spatial.distance import cdist, squareform

from models.arrays import Array, Float
from models.errors import UsageError
from models.heatmaps import drawing
from models.heatmaps import drawing as tips_module
from models.heatmaps.drawing import Heatmap, column_tree, heatmap, largest_groups, meetings, tips_of
from models.heatmaps.heatmap import (
    TILE,
    HeatmapTerms,
    PooledRange,
    n_levels,
    pooled_range,
    quantised,
    tile,
)
from models.running.progress import silent
from models.tree.linkage import from_scipy
from models.tree.tree import Tree
from models.tree.walk import path, spans
from tests.models.tree.strategies_kit import random_tree

LINKAGE = [[at, at + 1, at + 1.0, 2] for at in (0, 2, 4, 6)] + [
    *([8, 9, 8, 4], [10, 11, 9, 4], [12, 13, 10, 8])
]

with_points = random_tree(min_leaves=2).filter(lambda tree: tree.n_points > 0)


@given(with_points, st.integers(1, 12))
def test_points_lie_under_their_tip_and_tips_from_left_to_right(tree: Tree, k: int) -> None:
    for cut in (None, {"k": min(k, tree.n_leaves)}):
        tips, _ = tips_of(tree, cut)
        start = spans(tree).start[tips.node]
        assert (np.diff(start) > 0).all()
        for leaf, at in zip(tree.leaf_of_point.tolist(), tips.of_point.tolist(), strict=True):
            (over,) = np.flatnonzero(np.isin(tips.node, path(tree, leaf)))
            assert over == at
        assert (np.bincount(tips.of_point) == tree.size[tips.node]).all()
        groups = largest_groups(tree, tips, 4)
        assert groups.node.size <= 4
        assert set(range(groups.node.size)) <= set(groups.of_point.tolist())


@given(with_points)
def test_neighbours_meet_at_their_lowest_common_ancestor(tree: Tree) -> None:
    tips, _ = tips_of(tree, None)
    meets = meetings(tree, tips)
    assert meets.shape == (tips.node.size - 1, 2)
    for at, (left, right) in enumerate(zip(tips.node[:-1], tips.node[1:], strict=True)):
        common = [node for node in path(tree, left).tolist() if node in path(tree, right)]
        assert meets[at].tolist() == [common[-1], tree.height[common[-1]]]


def test_more_leaves_than_rows_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tips_module, "MOST_ROWS", 4)
    tree = from_scipy(np.array(LINKAGE))
    tips, (note,) = tips_of(tree, None)
    assert tips.node.size <= 4
    assert f"The tree has {tree.n_leaves} leaves; {tips.node.size} rows are shown" in note
    with pytest.raises(UsageError, match="a heatmap has at most 4 rows"):
        tips_of(tree, {"k": 6})


POINTS = np.random.default_rng(0).normal(size=(40, 5)) * [1, 4, 0, 2, 1] + [0, 0, 7, -3, 100]
TREE = from_scipy(linkage(POINTS, "average"))


def drawn(
    rows: Any = POINTS, cut: dict[str, Any] | None = None, tree: Tree = TREE, **terms: Any
) -> Heatmap:
    names = None if rows is None else [f"f{at}" for at in range(rows.shape[1])]
    model = HeatmapTerms.model_validate(terms)
    return heatmap(tree, cut, rows, names, model, lambda *_: None)


def under(tree: Tree, node: int) -> list[int]:
    """The points under a node."""
    leaves = enumerate(tree.leaf_of_point.tolist())
    return [point for point, leaf in leaves if node in path(tree, leaf)]


def whole(made: Heatmap, what: str, metric: str | None = None) -> Float:
    rows, columns = PooledRange(0, made.n_rows, 1), PooledRange(0, made.n_columns, 1)
    return tile(made.values, what, metric, rows, columns)  # type: ignore[arg-type]


@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("cut", [None, {"k": 6}])
def test_features_of_clusters(
    statistic: str, sparse: bool, cut: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A column at a time.
    monkeypatch.setattr(drawing, "HELD", 1)
    rows: Any = sp.csr_array(POINTS) if sparse else POINTS
    made = drawn(rows, cut, statistic=statistic, scale="none", n_columns=4)
    assert made.columns is not None
    summary = np.mean if statistic == "mean" else np.median
    expected = np.array([summary(POINTS[under(TREE, node)], axis=0) for node in made.rows["node"]])
    # The constant column tells nothing apart.
    assert sorted(made.columns["column"]) == [0, 1, 3, 4]
    np.testing.assert_allclose(made.values, expected[:, made.columns["column"]], rtol=1e-6)
    assert made.columns["name"] == [f"f{column}" for column in made.columns["column"]]
    assert "the 4 that tell the largest subtrees apart best" in made.warnings[0]
    scaled = drawn(rows, cut, statistic=statistic)
    assert scaled.columns is not None
    columns = scaled.columns["column"]
    deviation = np.where(POINTS.std(axis=0) > 0, POINTS.std(axis=0), 1.0)
    standard = ((expected - POINTS.mean(axis=0)) / deviation)[:, columns]
    np.testing.assert_allclose(scaled.values, standard, atol=1e-6)
    np.testing.assert_allclose(scaled.columns["deviation"], POINTS.std(axis=0)[columns], atol=1e-6)
    assert scaled.shown[0] == -scaled.shown[1] < 0


def test_the_share_of_variance_between_groups() -> None:
    group = np.arange(40) % 3
    made = drawing.moments(POINTS, group, 3)
    for column in range(5):
        values = POINTS[:, column]
        within = sum(((values[group == each] - values[group == each].mean()) ** 2).sum()
                     for each in range(3))  # fmt: skip
        total = ((values - values.mean()) ** 2).sum()
        expected = 1 - within / total if total > 0 else 0.0
        assert made.between[column] == pytest.approx(expected, abs=1e-9)
    left_out = drawing.moments(POINTS[:30], np.where(group[:30] == 2, 2, group[:30]), 2)
    kept = POINTS[:30][group[:30] < 2]
    np.testing.assert_allclose(left_out.whole, kept.mean(axis=0))
    np.testing.assert_allclose(left_out.deviation, kept.std(axis=0), atol=1e-7)


def test_columns_are_ordered_by_their_tree() -> None:
    values = np.random.default_rng(1).normal(size=(7, 12))
    order, merges = column_tree(values)
    plain = linkage(values.T, "average")
    np.testing.assert_allclose(merges[:, 2], plain[:, 2], atol=1e-9)

    def neighbours(places: Any) -> float:
        ordered = values[:, places]
        return float(np.linalg.norm(np.diff(ordered, axis=1), axis=0).sum())

    assert neighbours(order) <= neighbours(leaves_list(plain)) + 1e-9
    # What is joined is a run of places.
    runs = [{place} for place in range(12)]
    for left, right, _ in merges:
        joined = runs[int(left)] | runs[int(right)]
        assert max(joined) - min(joined) == len(joined) - 1
        runs.append(joined)
    assert column_tree(values[:, :1])[0].tolist() == [0]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cophenetic"])
@pytest.mark.parametrize("cut", [None, {"k": 5}])
def test_distances_of_clusters(metric: str, cut: dict[str, Any] | None) -> None:
    made = drawn(None if metric == "cophenetic" else POINTS, cut, what="distances", metric=metric)
    nodes = made.rows["node"]
    if metric == "cophenetic":
        one_of = [under(TREE, node)[0] for node in nodes]
        expected = squareform(cophenet(linkage(POINTS, "average")))[np.ix_(one_of, one_of)]
    else:
        means = np.array([POINTS[under(TREE, node)].mean(axis=0) for node in nodes])
        expected = cdist(means, means, metric)
    found = whole(made, "distances", metric)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert made.low <= found.min()
    assert found.max() <= made.high
    assert made.shown[0] <= np.median(expected) <= made.shown[1]
    if metric == "euclidean":
        assert made.high < 2.5 * expected.max()


def test_heights_that_fall_towards_the_root() -> None:
    centroid = linkage(POINTS[:, :2], "centroid")
    tree = from_scipy(centroid)
    made = drawn(None, None, tree, what="distances", metric="cophenetic")
    found = whole(made, "distances", "cophenetic")
    leaves = made.rows["node"]
    for a, b in ((0, 5), (7, 3), (20, 39), (39, 0)):
        common = [node for node in path(tree, leaves[a]) if node in path(tree, leaves[b])]
        assert found[a, b] == tree.height[common[-1]]


@pytest.mark.parametrize(
    ("what", "metric"),
    [("features", None)] + [("distances", each) for each in ("euclidean", "cosine", "cophenetic")],
)
def test_a_cell_is_the_average_of_what_lies_in_it(what: Any, metric: str | None) -> None:
    terms = {"what": what} | ({"metric": metric} if metric else {})
    made = drawn(None if metric == "cophenetic" else POINTS, **terms)
    full = whole(made, what, metric)
    power = 2 if metric == "euclidean" else 1
    for rows, columns in [
        (PooledRange(0, 40, 8), PooledRange(0, made.n_columns, 2)),
        (PooledRange(16, 31, 4), PooledRange(1, 5, 1)),
        (PooledRange(3, 9, 4), PooledRange(2, 5, 4)),
    ]:
        found = tile(made.values, what, metric, rows, columns)
        for i, first in enumerate(range(rows.start, rows.stop, rows.pooled)):
            for j, begin in enumerate(range(columns.start, columns.stop, columns.pooled)):
                cell = full[
                    first : min(first + rows.pooled, rows.stop),
                    begin : min(begin + columns.pooled, columns.stop),
                ]
                expected = (cell**power).mean() ** (1 / power)
                assert found[i, j] == pytest.approx(expected, abs=1e-5)


def test_levels_and_tiles_cover_all_once() -> None:
    for n_rows, n_columns in [(1, 1), (256, 10), (257, 1000), (10_000, 10_000)]:
        levels = n_levels(n_rows, n_columns)
        assert pooled_range(n_rows, 0, 1) is None
        for n in (n_rows, n_columns):
            last = pooled_range(n, levels - 1, 0)
            assert last is not None
            assert last.pooled == 1
            for level in range(levels):
                tiles: list[PooledRange] = []
                while (pooled := pooled_range(n, level, len(tiles))) is not None:
                    assert pooled.cells.size <= TILE
                    assert pooled.counts.sum() == pooled.stop - pooled.start
                    tiles.append(pooled)
                assert [tiles[0].start, *(pooled.stop for pooled in tiles)] == [
                    *(pooled.start for pooled in tiles),
                    n,
                ]


def test_values_are_sent_as_steps() -> None:
    values: Array = np.array([[-2.0, 0.0], [1.0, 3.0]])
    sent = quantised(values, -2.0, 3.0)
    assert (sent.dtype, sent.min(), sent.max()) == ("<u2", 0, 65_535)
    np.testing.assert_allclose(-2 + sent / 65_535 * 5, values, atol=5 / 65_535)
    assert quantised(values, 1.0, 1.0).tolist() == [[0, 0], [0, 0]]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="There are 39 rows; the tree has 40 points"):
        drawn(POINTS[:39])
    with pytest.raises(UsageError, match="has no columns"):
        drawn(POINTS[:, :0])
    names = ["a", "b"]
    with pytest.raises(UsageError, match="2 names of 5 columns"):
        heatmap(TREE, None, POINTS, names, HeatmapTerms(), lambda *_: None)
    with pytest.raises(ValueError, match="metric is no term of a heatmap of features"):
        HeatmapTerms.model_validate({"what": "features", "metric": "cosine"})


def test_rows_are_in_the_order_of_the_tree() -> None:
    made = drawn(POINTS)
    assert made.rows["node"] == sorted(made.rows["node"], key=spans(TREE).start.__getitem__)
    assert made.rows["size"] == [1] * 40


def test_rows_have_the_names_of_clusters() -> None:
    """Leaves a to h in pairs; "of four" is then the name of the node over the first four."""
    tree = from_scipy(np.array(LINKAGE), names=["a", "b", "x", "y", "x", "y", "7", "8"])
    assert heatmap_rows(tree, 4) == [None, "x, y (2)", "x, y (2)", "a, b"]
    tree.name[path(tree, int(tree.leaf_of_point[0]))[1]] = "of four"
    assert heatmap_rows(tree, 2) == ["x, y", "of four"]


def heatmap_rows(tree: Tree, k: int) -> list[str | None]:
    rows = np.arange(16.0).reshape(8, 2)
    made = heatmap(tree, {"k": k}, rows, None, HeatmapTerms(what="features"), silent)
    return list(made.rows["name"])
