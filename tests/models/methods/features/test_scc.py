"""Sub-cluster components against their definition, and on data of many kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from bench.measure import measured
from models import registry
from models.clusters import lloyd
from models.errors import UsageError
from models.graphs import cells, neighbours
from models.inputs.data import Data
from models.inputs.rows import ArrayRows, Rows, widened
from models.method import Fitted
from models.metrics.hierarchical import dendrogram_purity
from models.metrics.inputs import classes_of
from models.numerics.distances import FLAT
from models.running.progress import Progress, silent
from models.tree.tree import Tree

METHOD = registry.method("scc")


def fit(features: Any, names: list[str] | None = None, **params: Any) -> Fitted:
    values: dict[str, Any] = {"features": np.asarray(features)}
    if names is not None:
        values["names"] = names
    return METHOD.fit(Data(values), METHOD.Params(**params))


def clades(tree: Tree) -> set[tuple[frozenset[int], float]]:
    under: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for point, leaf in enumerate(tree.leaf_of_point):
        under[leaf].add(point)
    for node in range(tree.n_nodes - 1, 0, -1):
        under[tree.parent[node]] |= under[node]
    return {
        (frozenset(points), float(height))
        for points, height in zip(under, tree.height, strict=True)
    }


def naive(
    points: np.ndarray, k: int, n_rounds: int, must: list[tuple[int, int]]
) -> set[tuple[frozenset[int], float]]:
    """Rounds over sets of distinct points that are connected by their neighbours."""
    n_points = len(points)
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :k]
    scale = np.take_along_axis(distances, near, axis=1).mean()
    edge = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(edge, near, True, axis=1)
    similar = np.where(edge | edge.T, scale / (scale + distances), 0.0)
    groups = [frozenset([i]) for i in range(n_points)]
    clades = {(group, 0.0) for group in groups}
    for a, b in must:
        both = frozenset().union(*(group for group in groups if group & {a, b}))
        groups = [group for group in groups if not group & both] + [both]
    clades |= {(group, 0.0) for group in groups}
    first = max(
        (
            similar[np.ix_(sorted(a), sorted(b))].mean()
            for a in groups
            for b in groups
            if a is not b
        ),
        default=0.0,
    )
    thresholds = [first * n_points ** (-2 * r / n_rounds) for r in range(1, n_rounds + 1)] + [0.0]
    rounds = 0
    while len(groups) > 1:
        mean = np.array(
            [
                [0 if a is b else similar[np.ix_(sorted(a), sorted(b))].mean() for b in groups]
                for a in groups
            ]
        )
        joined = (mean >= max(thresholds[0], 1e-300)) & np.isclose(
            mean, mean.max(axis=1, keepdims=True), rtol=1e-12
        )
        joined |= joined.T
        if not joined.any():
            thresholds.pop(0)
            continue
        rounds += 1
        left = set(range(len(groups)))
        new = []
        while left:
            part, todo = set(), [left.pop()]
            while todo:
                at = todo.pop()
                part.add(at)
                more = [other for other in left if joined[at, other]]
                left -= set(more)
                todo += more
            new.append(frozenset().union(*(groups[at] for at in part)))
        clades |= {(group, float(rounds)) for group in new if group not in groups}
        groups = new
    return clades


@given(
    seed=st.integers(0, 10**6),
    n_points=st.integers(2, 24),
    k=st.integers(3, 6),
    n_rounds=st.sampled_from([1, 3, 30]),
    n_pairs=st.integers(0, 6),
)
def test_it_is_its_definition(
    seed: int, n_points: int, k: int, n_rounds: int, n_pairs: int
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, 2))
    must = [tuple(rng.choice(n_points, 2, replace=False).tolist()) for _ in range(n_pairs)]
    values = {"features": points, **({"must_link": np.array(must)} if must else {})}
    fitted = METHOD.fit(Data(values), METHOD.Params(n_neighbors=k, n_rounds=n_rounds))
    if fitted.metrics["n_parts"] > 1:
        return
    assert clades(fitted.tree) == naive(points, min(k, n_points - 1), n_rounds, must)


def test_pairs_that_must_link_by_name_and_across_parts() -> None:
    """Two pairs of places far apart; `a`, `c` and `e`, which coincides with `a`, are one."""
    points = np.array([[0.0], [1.0], [100.0], [101.0], [0.0]])
    pairs = np.array([["a", "c"], ["e", "a"]], dtype=object)
    values = {"features": points, "must_link": pairs, "names": list("abcde")}
    fitted = METHOD.fit(Data(values), METHOD.Params(n_neighbors=1))
    found = clades(fitted.tree)
    assert (frozenset([0, 2, 4]), 0.0) in found
    values["must_link"] = np.array([["x", "a"]], dtype=object)
    with pytest.raises(UsageError, match="names 'x' at row 0"):
        METHOD.fit(Data(values), METHOD.Params())


# Drawn: with one round each point first joins its nearest one (affinity clustering).
#
#    a b    c d          e f        round 1: (a b) (c d) (e f)
#    0 1    4 5         20 21       round 2: (a b) and (c d) choose each other, (e f) chooses (c d)
def test_the_drawn_tree() -> None:
    points = np.array([[0.0], [1.0], [4.0], [5.0], [20.0], [21.0]])
    tree = fit(points, list("abcdef"), n_rounds=1, n_neighbors=5).tree
    assert tree.parent.tolist() == [-1, 0, 0, 0, 1, 1, 2, 2, 3, 3]
    assert tree.height.tolist() == [2, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert tree.name.tolist() == [None] * 4 + list("abcdef")
    fine = fit(points, n_rounds=100, n_neighbors=5).tree
    assert frozenset([0, 1, 2, 3]) in {points for points, _ in clades(fine)}


def test_more_rounds_make_a_finer_tree() -> None:
    points = np.random.default_rng(0).normal(size=(500, 3))
    nodes = [fit(points, n_rounds=n_rounds).tree.n_nodes for n_rounds in (1, 10, 100, 1000)]
    assert nodes == sorted(nodes)
    assert nodes[-1] > 900


def test_similarities_fall_from_child_to_parent() -> None:
    tree = fit(np.random.default_rng(1).normal(size=(200, 2))).tree
    column = tree.extra["similarity"]
    assert (column[tree.leaves] == 1).all()
    assert (column[1:] >= column[tree.parent[1:]]).all()
    assert column[0] >= 0


def test_equal_points_are_joined_first_and_count() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(40, 2))
    points[5:9] = points[0]
    points[20] = points[30]
    tree = fit(points).tree
    together = {(group, height) for group, height in clades(tree) if height == 0 and len(group) > 1}
    assert together == {(frozenset([0, 5, 6, 7, 8]), 0.0), (frozenset([20, 30]), 0.0)}
    alone = fit(np.ones((4, 2)))
    assert alone.tree.parent.tolist() == [-1, 0, 0, 0, 0]
    assert alone.tree.height.tolist() == [0, 0, 0, 0, 0]
    assert any("1 distinct points" in warning for warning in alone.warnings)


def test_one_point_is_a_tree_of_one_node() -> None:
    tree = fit([[1.0, 2.0]], ["only"]).tree
    assert (tree.n_nodes, tree.name[0]) == (1, "only")


def test_far_groups_are_joined_last_with_a_warning() -> None:
    rng = np.random.default_rng(3)
    at = np.array([0.0, 20, 2000, 2020])
    points = np.concatenate([rng.normal(size=(50, 2)) + np.array([x, 0]) for x in at])
    fitted = fit(points, n_neighbors=5)
    assert any("fell into" in warning for warning in fitted.warnings)
    groups = {group for group, _ in clades(fitted.tree)}
    for i in range(4):
        assert frozenset(range(50 * i, 50 * i + 50)) in groups
    assert frozenset(range(100)) in groups


@pytest.mark.parametrize("metric", ["cosine", "cityblock", "sqeuclidean"])
def test_metrics_find_their_groups(metric: str) -> None:
    rng = np.random.default_rng(4)
    group = np.repeat([0, 1, 2], 40)
    points = (np.eye(3)[group] * 5 + rng.random((120, 3))) * rng.uniform(1, 3, size=(120, 1))
    tree = fit(points, metric=metric).tree
    if metric == "cosine":
        assert {frozenset(np.flatnonzero(group == g)) for g in range(3)} <= {
            points for points, _ in clades(tree)
        }
    assert tree.n_leaves == 120


@pytest.mark.parametrize(("name", "least"), [("optdigits", 0.85), ("pendigits", 0.8)])
def test_purity_on_real_data(name: str, least: float, real_data: Callable[[str], Path]) -> None:
    """Average linkage over all pairs has 0.826 on optdigits."""
    with np.load(real_data(f"bench_{name}.npz")) as file:
        features, labels = file["X"], file["y"]
    tree = fit(features).tree
    assert dendrogram_purity(tree, classes_of(labels, len(labels))).value > least


@pytest.mark.parametrize(
    ("features", "params", "code", "part"),
    [
        (np.array([[1e200], [0.0]]), {}, "too-large", "row 0"),
        (np.eye(3)[[0, 1, 1]] * [1, 0, 0], {"metric": "cosine"}, "no-distance", "all zeros"),
    ],
)
def test_unusable_input_is_named(
    features: np.ndarray, params: dict[str, Any], code: str, part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit(features, **params)
    assert caught.value.code == code
    assert part in caught.value.detail


def test_read_by_rows_it_takes_no_more_memory_than_estimated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = np.random.default_rng(0).normal(size=(40_000, 4)).astype(np.float16)
    monkeypatch.setattr(lloyd, "WHOLE", 0)
    monkeypatch.setattr(cells, "AT_ONCE", 1 << 14)
    monkeypatch.setattr(cells, "TILE", 1 << 14)
    params = METHOD.Params(n_neighbors=30)

    def fitted(n_points: int) -> float:
        rows = ArrayRows(points[:n_points])
        return METHOD.fit(Data({"features": rows}), params).metrics["neighbor_recall"]

    taken = measured(lambda: fitted(len(points)), 1, prepare=lambda: fitted(500))
    assert taken.result > 0.9
    estimate = METHOD._memory({"features": points.shape}, params)
    # Beside it blocks of fixed sizes, and buffers of the libraries.
    assert taken.peak_bytes <= estimate + (48 << 20)
    assert estimate <= 2 * taken.peak_bytes


def test_inputs_too_large_for_memory_are_refused() -> None:
    METHOD.check_size({"features": (10**7, 128)}, METHOD.Params(), 8 * 2**30)
    METHOD.check_size({"features": (10**6, 64)}, METHOD.Params(), 8 * 2**30)
    with pytest.raises(UsageError, match=r"GiB.*'n_neighbors'"):
        METHOD.check_size({"features": (10**8, 64)}, METHOD.Params(), 24 * 2**30)


def fit_by_rows(rows: Rows, progress: Progress = silent, threads: int = 1, **params: Any) -> Fitted:
    """Fits as where nothing is held as a whole, in small blocks, and finds all neighbours."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lloyd, "WHOLE", 0)
        patched.setattr(neighbours, "EDGES_AT_ONCE", 100)
        for name, value in (("RECALL", 1.0), ("SAMPLE", 1 << 20), ("AT_ONCE", 300)):
            patched.setattr(cells, name, value)
        chosen = METHOD.Params(**params)
        return METHOD.fit(Data({"features": rows}), chosen, progress, threads=threads)


def typed(points: np.ndarray, kind: str) -> Rows:
    if kind != "bfloat16":
        return ArrayRows(points.astype(kind))
    return ArrayRows(
        (points.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16), bfloat16=True
    )


@given(
    seed=st.integers(0, 10**6),
    n_points=st.integers(2, 80),
    n_groups=st.integers(1, 3),
    kind=st.sampled_from(["float16", "float32", "float64", "bfloat16"]),
    metric=st.sampled_from(FLAT),
    k=st.integers(1, 12),
)
def test_read_by_rows_it_gives_the_same_tree(
    seed: int,
    n_points: int,
    n_groups: int,
    kind: str,
    metric: str,
    k: int,
) -> None:
    """With equal points, a column of one value, and groups apart."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, 6)) + 30.0 * rng.integers(n_groups, size=(n_points, 1))
    points[:, 3] = 2.0
    points[rng.integers(n_points, size=n_points // 4)] = points[0]
    rows = typed(points, kind)
    whole = widened(rows.read(0, n_points)) if rows.bfloat16 else rows.read(0, n_points)
    held = fit(whole, metric=metric, n_neighbors=k)
    read = fit_by_rows(rows, metric=metric, n_neighbors=k)
    assert clades(read.tree) == clades(held.tree)
    assert read.metrics == {**held.metrics, **read.metrics}
    assert read.model is not None
    assert read.model.arrays["points"] is not whole


def test_a_mapped_file_is_read_by_rows_and_placed_by_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(5, size=1_000)
    points = (6 * np.eye(5)[group] + rng.normal(size=(1_000, 5))).astype(np.float16)
    np.save(tmp_path / "rows.npy", points)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    seen: list[float] = []
    fitted = fit_by_rows(ArrayRows(mapped), lambda fraction, *_: seen.append(fraction))
    assert seen == sorted(seen)
    assert len(seen) > 50
    (note,) = (warning for warning in fitted.warnings if "half precision" in warning)
    assert "100.0%" in note
    assert fitted.metrics["neighbor_recall"] == 1.0
    assert clades(fitted.tree) == clades(fit(points).tree)
    assert fitted.model is not None
    assert np.shares_memory(fitted.model.arrays["points"], mapped)
    monkeypatch.setattr(lloyd, "WHOLE", 700)
    new = rng.normal(size=(300, 5)).astype(np.float16)
    places = METHOD.predict(fitted.model, fitted.tree, Data({"features": ArrayRows(new)}))
    nearest = cdist(new, points).argmin(axis=1)
    assert (places.leaf == fitted.tree.leaf_of_point[nearest]).all()
    new[250, 3] = np.inf
    with pytest.raises(UsageError, match="row 250, column 3"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": ArrayRows(new)}))


def test_a_model_of_bfloat16_places_as_one_of_its_values() -> None:
    points = np.random.default_rng(0).normal(size=(60, 3))
    rows = typed(points, "bfloat16")
    fitted = fit_by_rows(rows)
    assert fitted.model is not None
    assert fitted.model.arrays["points"].dtype == np.uint16
    places = METHOD.predict(fitted.model, fitted.tree, Data({"features": rows}))
    np.testing.assert_array_equal(places.leaf, fitted.tree.leaf_of_point)


def test_threads_change_nothing_by_rows() -> None:
    rows = ArrayRows(np.random.default_rng(0).normal(size=(700, 4)).astype(np.float16))
    one, two = fit_by_rows(rows), fit_by_rows(rows, threads=2)
    np.testing.assert_array_equal(one.tree.parent, two.tree.parent)
    np.testing.assert_array_equal(one.tree.extra["similarity"], two.tree.extra["similarity"])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6, 0.9])
def test_it_ends_where_it_is_cancelled(share: float) -> None:
    rows = ArrayRows(np.random.default_rng(0).normal(size=(400, 3)))
    calls: list[float] = []
    fit_by_rows(rows, lambda fraction, *_: calls.append(fraction))
    last, n_calls = int(share * len(calls)), 0

    def stop(fraction: float, stage: str, message: str = "") -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls > last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_by_rows(rows, stop)
    assert n_calls == last + 1


@pytest.mark.parametrize(
    ("value", "metric", "part"),
    [
        (np.nan, "euclidean", "NaN at row 37"),
        (0.0, "cosine", "Row 37 of"),
        (1.0, "correlation", "Row 37 of"),
    ],
)
def test_unusable_rows_are_named(value: float, metric: str, part: str) -> None:
    points = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    points[[5, 20]] = points[4]
    points[37] = value
    with pytest.raises(UsageError) as caught:
        fit_by_rows(ArrayRows(points), metric=metric)
    assert part in caught.value.detail
