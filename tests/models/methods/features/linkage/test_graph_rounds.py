"""Merges in rounds, replayed one by one: each within (1 + epsilon) of the best at its time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models import registry
from models.errors import Cancelled, UsageError
from models.graphs.neighbours import Graph, neighbour_graph
from models.inputs.data import Data
from models.method import Fitted
from models.methods.features.linkage import graph_rounds
from models.methods.features.linkage.graph_linkage import BY_CENTRE, GraphRule, agglomerate
from models.methods.features.linkage.graph_rounds import agglomerate_nearly
from models.running.progress import silent
from umbel.testing.lost_worker import MemoryCheckpoint


def knn(points: np.ndarray, k: int) -> Graph:
    return neighbour_graph(points, k, "euclidean", 1, silent)


def replay(
    graph: Graph,
    rule: GraphRule,
    points: np.ndarray,
    merges: np.ndarray,
    height: np.ndarray,
    epsilon: float,
) -> float:
    """Make the merges one at a time, by the definition of the linkage; returns the largest ratio of
    a merge to the shortest edge between any two groups at its time.

    Groups of points that coincide come first. Then `total` has the sums of squared distances
    between the points of each two groups, `beside` which of them an edge joins.
    """
    n = len(points)
    apart = points[:, None] - points
    total = (apart**2).sum(axis=2)
    same = graph.place[:, None] == graph.place
    beside = np.zeros((n, n), dtype=bool)
    low, high = graph.ends.T
    for one, other in ((low, high), (high, low)):
        joined = np.zeros((graph.n_nodes, graph.n_nodes), dtype=bool)
        joined[one, other] = True
        beside |= joined[graph.place][:, graph.place]
    size, middle = np.ones(n), points.astype(float).copy()
    alive, slot = np.ones(n, dtype=bool), list(range(n))
    worst, scale = 1.0, float(np.sqrt(total.max()))
    for (first, second), at in zip(merges, height, strict=True):
        a, b = slot[first], slot[second]
        assert alive[a]
        assert alive[b]
        within = np.diag(total) / (2.0 * size**2)
        mean = total / np.outer(size, size)
        gap = np.maximum(mean - within[:, None] - within, 0.0)
        if rule == "spread":
            length = np.sqrt(mean)
        elif rule == "median":
            length = np.sqrt(((middle[:, None] - middle) ** 2).sum(axis=2))
        elif rule == "ward":
            length = np.sqrt(2.0 * np.outer(size, size) / np.add.outer(size, size) * gap)
        else:
            length = np.sqrt(gap)
        if at == 0 and same[a, b]:
            assert total[a, b] == 0
        else:
            assert beside[a, b], "no edge joins the two"
            assert at == pytest.approx(length[a, b], rel=1e-7, abs=1e-7 * scale)
            open_ = beside & alive & alive[:, None] & ~np.eye(n, dtype=bool)
            best = float(length[open_].min())
            assert at <= (1.0 + epsilon) * best * (1.0 + 1e-7) + 1e-7 * scale
            if best > 1e-6 * scale:
                worst = max(worst, at / best)
        share = 0.5 if rule == "median" and at > 0 else size[a] / (size[a] + size[b])
        middle[b] += share * (middle[a] - middle[b])
        total[b] += total[a]
        total[:, b] += total[:, a]
        beside[b] |= beside[a]
        beside[:, b] |= beside[:, a]
        size[b] += size[a]
        alive[a] = False
        slot.append(b)
    assert alive.sum() == 1
    return worst


def clouds(seed: int, n: int, n_columns: int) -> np.ndarray:
    """Dense groups, and points far around them, which large groups take up one by one."""
    rng = np.random.default_rng(seed)
    centre = 6.0 * rng.normal(size=(3, n_columns))
    points = centre[rng.integers(0, 3, n)] + rng.normal(size=(n, n_columns))
    far = rng.random(n) < 0.3
    points[far] += 4.0 * rng.normal(size=(int(far.sum()), n_columns))
    return points


@pytest.mark.parametrize("rule", BY_CENTRE)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0])
def test_every_merge_is_nearly_the_best(rule: GraphRule, epsilon: float) -> None:
    reached = 1.0
    for seed, n, k in ((0, 30, 3), (1, 60, 5), (2, 150, 8)):
        points = clouds(seed, n, 2 + 2 * seed)
        graph = knn(points, k)
        merges, height = agglomerate_nearly(graph, rule, points, epsilon, 1, silent)
        reached = max(reached, replay(graph, rule, points, merges, height, epsilon))
    if epsilon >= 0.1:
        assert reached > 1.0 + epsilon / 4, "nothing was merged out of order"


@pytest.mark.parametrize("rule", BY_CENTRE)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
def test_all_small_sizes_with_ties_and_points_that_coincide(
    rule: GraphRule, epsilon: float
) -> None:
    rng = np.random.default_rng(7)
    for n in range(2, 13):
        for k in (1, 2, 4):
            points = rng.integers(0, 3, size=(n, 2)).astype(float)
            graph = knn(points, k)
            merges, height = agglomerate_nearly(graph, rule, points, epsilon, 1, silent)
            replay(graph, rule, points, merges, height, epsilon)


def test_a_large_group_that_takes_up_others_one_by_one() -> None:
    """Its edges are not measured at each of these merges; their bounds hold all the same."""
    rng = np.random.default_rng(3)
    shell = rng.normal(size=(110, 3))
    shell /= np.linalg.norm(shell, axis=1, keepdims=True)
    points = np.concatenate([0.3 * rng.normal(size=(70, 3)), 3.0 * shell])
    graph = knn(points, 12)
    for rule in ("centroid", "spread", "ward"):
        merges, height = agglomerate_nearly(graph, rule, points, 1.0, 1, silent)
        replay(graph, rule, points, merges, height, 1.0)


def test_the_slack_of_average_shrinks_with_the_groups_that_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = clouds(5, 400, 3)
    graph = knn(points, 6)
    seen: list[tuple[int, float]] = []
    made = graph_rounds._Rounds.round

    def noted(state: Any, epsilon: float, *how: Any) -> None:
        seen.append((state.n_done, epsilon))
        made(state, epsilon, *how)

    monkeypatch.setattr(graph_rounds._Rounds, "round", noted)
    for rule, power in (("spread", 0.5), ("centroid", 0.0)):
        seen.clear()
        agglomerate_nearly(graph, rule, points, 0.2, 1, silent)
        assert len(seen) > 5
        for n_done, epsilon in seen:
            assert epsilon == pytest.approx(0.2 * (1 - n_done / graph.n_nodes) ** power)


@pytest.mark.parametrize("rule", BY_CENTRE)
def test_without_slack_the_merges_are_those_of_the_exact_order(rule: GraphRule) -> None:
    # Many seeds: a heap that is out of order for a moment shows in few of them.
    for seed in range(40):
        points = clouds(seed, 200, 3)
        graph = knn(points, 6)
        merges, height = agglomerate_nearly(graph, rule, points, 0.0, 1, silent)
        expected, at = agglomerate(graph, rule, points, silent)
        np.testing.assert_array_equal(np.sort(merges), np.sort(expected))
        np.testing.assert_allclose(height, at, rtol=1e-9)


@pytest.mark.parametrize("rule", BY_CENTRE)
def test_threads_and_checkpoints_change_no_digit(
    rule: GraphRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_rounds, "AT_A_TIME", 1)
    points = clouds(5, 200, 4)
    points[40:60] = points[:20]
    graph = knn(points, 6)
    whole = MemoryCheckpoint()
    merges, height = agglomerate_nearly(graph, rule, points, 0.2, 1, silent, whole)
    n_rounds = len(whole.states)
    for threads in (2, 3):
        again = agglomerate_nearly(graph, rule, points, 0.2, threads, silent)
        np.testing.assert_array_equal(again[0], merges)
        np.testing.assert_array_equal(again[1], height)
    for number in {1, n_rounds // 2, n_rounds - 1, n_rounds}:
        kept = MemoryCheckpoint(whole.states[number - 1])
        again = agglomerate_nearly(graph, rule, points, 0.2, 1, silent, kept)
        np.testing.assert_array_equal(again[0], merges)
        np.testing.assert_array_equal(again[1], height)
        assert len(kept.states) == n_rounds - number


def test_nothing_but_equal_points() -> None:
    points = np.ones((4, 2))
    merges, height = agglomerate_nearly(knn(points, 3), "spread", points, 0.1, 1, silent)
    assert merges.tolist() == [[0, 1], [4, 2], [5, 3]]
    assert height.tolist() == [0, 0, 0]


def test_cancel_is_obeyed() -> None:
    def cancel(fraction: float, stage: str, message: str = "") -> None:
        raise Cancelled

    points = clouds(6, 20, 2)
    with pytest.raises(Cancelled):
        agglomerate_nearly(knn(points, 3), "ward", points, 0.1, 1, cancel)


HAC = registry.method("hac")


def fit(inputs: dict[str, Any], **params: Any) -> Fitted:
    return HAC.fit(Data(inputs), HAC.Params(**{"connectivity": "knn", "n_neighbors": 6, **params}))


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "correlation"])
def test_hac_says_what_epsilon_gives_away(metric: str) -> None:
    points = clouds(8, 150, 5)
    exact = fit({"features": points}, linkage="average", metric=metric)
    nearly = fit({"features": points}, linkage="average", metric=metric, epsilon=0.1)
    assert [w for w in nearly.warnings if "at most 1.1 times" in w]
    assert not [w for w in exact.warnings if "nearly" in w]
    assert nearly.tree.n_nodes == exact.tree.n_nodes
    assert nearly.tree.height[0] == pytest.approx(exact.tree.height[0], rel=0.3)


@pytest.mark.parametrize(
    ("inputs", "params", "part"),
    [
        ({}, {"connectivity": "none"}, "set 'connectivity' to 'knn'"),
        ({}, {"linkage": "single"}, "no merges by linkage 'single', which goes by edges"),
        ({}, {"linkage": "average", "metric": "cityblock"}, "linkage 'average' by 'cityblock'"),
        ({"must_link": np.array([[0, 1]])}, {}, "the input 'must_link'"),
    ],
)
def test_epsilon_is_refused_where_merges_have_an_exact_order_alone(
    inputs: dict[str, Any], params: dict[str, Any], part: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit({"features": clouds(9, 30, 3), **inputs}, epsilon=0.1, **params)
    assert part in caught.value.detail
    assert caught.value.where["parameter"] == "epsilon"
