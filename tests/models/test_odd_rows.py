"""Rows of which most are equal, one or some far from the others, or all too small to be squared:
every method answers as without them, warns, or refuses; what goes with a tree is right or refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from models.arrays import Array
from models.errors import UsageError
from models.heatmaps.drawing import heatmap
from models.heatmaps.heatmap import HeatmapTerms
from models.inputs.oddities import FARTHEST, far_warnings
from models.inputs.rows import ArrayRows
from models.items.placement import placement
from models.items.rankings import ranked, vectors
from models.levels import silhouette
from models.metrics.catalogue import evaluate
from models.metrics.nodes import report_on_nodes
from models.running.progress import silent
from models.tree.build import from_merges
from models.tree.cut import cut
from models.tree.tree import Tree
from tests.contract.contract_kit import with_needs
from tests.models.scales_kit import BRIEF, GROUP, PARAMS, ROWS, SLOW, TAKEN
from umbel.testing.examples import Example

FLAT = [example for example in TAKEN if example.method.family != "sphere"]
SOME = np.arange(60) % 3 == 0


def far_group(distance: float) -> Array:
    rows = ROWS.copy()
    rows[SOME, 1] += distance
    return rows


def fit(example: Example, rows: Array) -> Any:
    """The fit, of one cluster more where there are more rows than `ROWS`."""
    data: Any = example.data()
    data.values["features"] = rows
    group = np.append(GROUP, np.full(len(rows) - 60, -1))
    if "labels" in data.values:
        data.values["labels"] = np.where(group == 2, -1, group)
    params = PARAMS.get(example.method.id, {}) | BRIEF.get(example.method.id, {})
    if len(rows) > 60 and "n_clusters" in example.method.example:
        params["n_clusters"] = 4
    return example.fit(data, **params)


@pytest.mark.parametrize("example", with_needs(FLAT))
def test_a_method_answers_warns_or_refuses(example: Example) -> None:
    with pytest.raises(UsageError, match="squares of values below") as caught:
        fit(example, ROWS * 2.0**-1060)
    assert caught.value.code == "unusable-input"
    slow = example.method.id in SLOW
    far = [np.vstack([ROWS, np.full((1, 4), 2.0**40)]), far_group(2.0**40)]
    for rows in far[:1] if slow else far:
        try:
            fitted = fit(example, rows)
        except UsageError:
            continue
        assert any("times as far away as most rows, in column" in note for note in fitted.warnings)
        assert np.isfinite(fitted.tree.height).all()
    try:
        many = fit(example, np.vstack([ROWS, np.repeat(ROWS[:1], 60 if slow else 1200, axis=0)]))
    except UsageError as error:
        refused = error.code
        many = None
    if many is None:
        assert refused in {"too-few-points", "wrong-input", "wrong-parameter"}
        return
    assert np.isfinite(many.tree.height).all()
    if "labels" not in example.roles:
        assert len(set(many.tree.leaf_of_point[60:].tolist())) == 1 or many.tree.n_leaves >= 60


FAR: dict[str, Array] = {
    "one far row": np.vstack([ROWS, np.full((1, 4), 2.0**40)]),
    "some far rows": far_group(2.0**30),
    "half of the rows far": ROWS + np.outer(np.arange(60) % 2, [2.0**30, 0, 0, 2.0**30]),
    "small": ROWS * 2.0**-390,
    "many equal": np.vstack([ROWS, np.repeat(ROWS[:1], 1200, axis=0)]),
}


def apart(rows: Array, others: Array) -> Array:
    """Distances in extended precision."""
    wide, other = rows.astype(np.longdouble), others.astype(np.longdouble)
    return np.sqrt(((wide[:, None] - other[None]) ** 2).sum(axis=2))


def by_average(distances: Array, leaf_of_point: Array) -> Tree:
    merges = linkage(squareform((distances / distances.max()).astype(float)), "average")
    left, right = merges[:, :2].T.astype(np.int64)
    return from_merges(left, right, merges[:, 2], leaf_of_point=leaf_of_point)


def literal_silhouette(distances: Array, cluster: Array) -> float:
    scores = []
    for row, own in enumerate(cluster):
        mine = cluster == own
        if mine.sum() == 1:
            scores.append(0.0)
            continue
        inside = distances[row, mine].sum() / (mine.sum() - 1)
        outside = min(distances[row, cluster == k].mean() for k in set(cluster) - {own})
        scores.append(float((outside - inside) / max(inside, outside)))
    return float(np.mean(scores))


@pytest.mark.parametrize("name", FAR)
def test_what_goes_with_a_tree_is_right(name: str) -> None:
    rows = FAR[name]
    unique, place = np.unique(rows, axis=0, return_inverse=True)
    distances = apart(unique, unique)
    tree = by_average(distances, place.ravel())
    if name != "many equal":
        # Levels.
        every = distances[np.ix_(place.ravel(), place.ravel())]
        curve = dict(silhouette.curve(tree, rows))
        expected = {k: literal_silhouette(every, cut(tree, k=k).cluster_of_point) for k in curve}
        assert curve == pytest.approx(expected, abs=1e-6)
    # Metrics.
    cluster = cut(tree, k=4).cluster_of_point
    wide = rows.astype(np.longdouble)
    mean = np.array([wide[cluster == k].mean(axis=0) for k in range(4)])
    inside = sum(((wide[cluster == k] - mean[k]) ** 2).sum() for k in range(4))
    between = ((mean[cluster] - wide.mean(axis=0)) ** 2).sum()
    measured = evaluate(tree, metrics=["calinski_harabasz"], features=rows, cut={"k": 4}).metrics
    ratio = float(between / 3 / (inside / (len(rows) - 4)))
    assert measured["calinski_harabasz"] == pytest.approx(ratio, rel=1e-9)
    # Examples.
    placed = placement(tree, len(rows))
    for node in (0, int(np.flatnonzero(tree.parent == 0)[0])):
        items = placed.order[placed.first[node] : placed.first[node] + placed.count[node]]
        away = np.full(len(rows), np.nan, dtype=np.longdouble)
        away[items] = apart(rows[items], wide[items].mean(axis=0)[None])[:, 0]
        for given in (rows, ArrayRows(rows)):
            found = ranked(placed, node, "central", 20, known=vectors(given, tree, placed)[0])
            exact = away[found.item].astype(float)
            assert found.score == pytest.approx(exact, rel=1e-4)
            assert (np.diff(exact) >= -1e-6 * exact[1:]).all()
    # Exemplars of nodes.
    report = report_on_nodes(tree, features=rows)
    assert report.exemplars is not None
    nearest = away[items].min()
    assert away[report.exemplars[node][0]] <= nearest * (1 + 1e-6)


def test_small_rows_are_refused() -> None:
    rows = ROWS * 2.0**-1060
    tree = by_average(apart(ROWS, ROWS), np.arange(60))
    placed = placement(tree, 60)
    terms = HeatmapTerms(what="distances", metric="euclidean")
    for refused in (
        lambda: vectors(rows, tree, placed),
        lambda: heatmap(tree, {"k": 3}, rows, None, terms, silent),
    ):
        with pytest.raises(UsageError, match="squares of values below"):
            refused()


def test_far_rows_are_named() -> None:
    rows = np.tile(ROWS, (100, 1))
    for given in (rows, rows.astype(np.float32), ArrayRows(rows), np.ones((5, 2)), rows[:1]):
        assert far_warnings(given) == ()
    rows[4321, 2] = -6 * FARTHEST
    for given in (rows, rows.astype(np.float32), ArrayRows(rows), rows * 1e-30, rows + 2.0**30):
        (note,) = far_warnings(given)
        assert note.startswith("Row 4321 lies 4e+06 times as far away as most rows, in column 2 ")
    rows[4000] = np.nan
    assert len(far_warnings(rows)) <= 1


def test_the_far_row_itself_is_a_cluster() -> None:
    """Where distances are differences, the others keep their clusters."""
    for example in FLAT:
        if example.method.id in {"hac", "perch"}:
            cluster = cut(fit(example, FAR["one far row"]).tree, k=4).cluster_of_point
            assert adjusted_rand_score(cluster[:60], GROUP) > 0.99
