"""`ghhc` beside average linkage of the same rows, on ten sets: purity and Dasgupta's cost.

For each set and seed at most `MOST` points, drawn by the seed, minus their mean and at norm
`POINT_NORM`. Trees of `ghhc`: of its start, after its steps, and with the points within leaves
joined by average linkage ('below': "average"); for `NODES` nodes each. Purity and cost are
differences from average linkage's, the cost relative, on the same points; the interval is Student's
of 95%. Dasgupta's cost has the cosine of all pairs as similarity, which no step looks at.

"linkage_gains" has what the steps gain: purity of the start and of the trained tree, and their cost
on the graph of neighbours, which the steps lower, with the differences on the same points.
"linkage_goals" counts the sets where the mean is at or above average linkage's purity, and those
where steps lower the cost of their start.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from bench import Chosen, Size
from bench.purity import scaled
from bench.quality import loaded
from bench.report import Report, interval
from models.arrays import Int
from models.inputs.data import Data
from models.method import Fitted
from models.methods.hyperbolic.ball.extraction import BallTree, leaf_merges, merged_tree
from models.metrics.catalogue import evaluate
from models.registry import method
from models.running.progress import silent
from models.tree.tree import Tree
from models.tree.walk import lca

SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("glass",),
    "default": (
        *("glass", "libras", "vehicle", "vowel", "segment", "optdigits"),
        *("usps", "pendigits", "letter", "tinyimagenet"),
    ),
    "full": (
        *("glass", "libras", "vehicle", "vowel", "segment", "optdigits"),
        *("usps", "pendigits", "letter", "tinyimagenet"),
    ),
}
SEEDS: dict[Size, int] = {"quick": 2, "default": 5, "full": 10}
NODES: dict[Size, tuple[int, ...]] = {"quick": (64,), "default": (64,), "full": (64, 128, 256)}
MOST = 2_000
N_NEIGHBORS = 5
N_CLASSES = 40
"""The number of classes of `tinyimagenet`, drawn by the seed."""


class Score(NamedTuple):
    """The costs of a tree.

    cost : Dasgupta's, of all pairs. graph_cost : the same of the graph of `N_NEIGHBORS` nearest
        rows, over its number of edges and of points (`ball.decoding`).
    """

    purity: float
    cost: float
    graph_cost: float


def table(report: Report, size: Size, chosen: Chosen) -> None:
    """A row for each set and number of nodes in "linkage" and "linkage_gains", counts of sets in
    "linkage_goals"."""
    n_above: dict[str, int] = defaultdict(int)
    n_sets = 0
    for name in chosen.sets_of(SETS[size]):
        points_and_classes = loaded(name)
        if points_and_classes is None:
            report.left_out("linkage", name)
            continue
        n_sets += 1
        scores: dict[str, list[Score]] = defaultdict(list)
        for seed in range(chosen.seeds_of(SEEDS[size])):
            points, classes = _drawn(name, *points_and_classes, seed)
            for tree_name, score in _scores(points, classes, NODES[size], seed).items():
                scores[tree_name].append(score)
        for n_nodes in NODES[size]:
            _row(report, name, n_nodes, scores, n_above)
        for n_nodes in NODES[size]:
            _gains(report, name, n_nodes, scores)
    for what, count in n_above.items():
        goal = (n_sets + 1) // 2
        report.row(
            "linkage_goals", what=what, sets=f"{count} of {n_sets}", goal=goal, met=count >= goal
        )


def _drawn(
    name: str, features: npt.NDArray[Any], labels: npt.NDArray[Any], seed: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[Any]]:
    """Points of the ball and their classes."""
    rng = np.random.default_rng(seed)
    rows = np.arange(len(features))
    if name == "tinyimagenet":
        classes = rng.permutation(np.unique(labels))[:N_CLASSES]
        rows = np.flatnonzero(np.isin(labels, classes))
    if len(rows) > MOST:
        rows = rng.permutation(rows)[:MOST]
    return scaled(np.asarray(features[rows], dtype=np.float32)), labels[rows]


def _scores(
    points: npt.NDArray[np.float32], classes: npt.NDArray[Any], nodes: tuple[int, ...], seed: int
) -> dict[str, Score]:
    """Each tree's score, by name."""
    hac, ghhc = method("hac"), method("ghhc")
    data = Data({"features": points})
    near = neighbours(points)
    linkage = hac.Params.model_validate({"linkage": "average"})
    scores = {"linkage": _score(hac.fit(data, linkage, threads=1).tree, points, near, classes)}
    for n_nodes in nodes:
        options = {"n_internal": n_nodes, "seed": seed, "scaling": "none"}
        for tree_name, more in (("start", {"max_iter": 0}), ("trained", {})):
            params = ghhc.Params.model_validate({**options, **more})
            fitted = ghhc.fit(data, params, threads=1)
            scores[f"{tree_name} {n_nodes}"] = _score(fitted.tree, points, near, classes)
        joined = merged_tree(leaf_merges(_ball_tree(fitted), points, silent))
        scores[f"joined {n_nodes}"] = _score(joined, points, near, classes)
    return scores


def _ball_tree(fitted: Fitted) -> BallTree:
    arrays = fitted.model.arrays if fitted.model else {}
    probability = fitted.point_columns["parent_probability"]
    return BallTree(fitted.tree, arrays["embedding"], arrays["leaf_of_node"], probability, 0.0, 0)


def _score(
    tree: Tree, points: npt.NDArray[np.float32], near: Int, classes: npt.NDArray[Any]
) -> Score:
    purity = evaluate(tree, labels=classes, metrics=["dendrogram_purity"]).metrics
    cost = evaluate(tree, features=points, metrics=["dasgupta_cost"]).metrics
    return Score(
        purity["dendrogram_purity"] or 0.0, cost["dasgupta_cost"] or 0.0, graph_cost(tree, near)
    )


def neighbours(points: npt.NDArray[np.float32]) -> Int:
    """(n_points, `N_NEIGHBORS`) the nearest other rows of each row."""
    index: Int = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(points).kneighbors()[1]
    return index


def graph_cost(tree: Tree, near: Int) -> float:
    """The mean share of all points below the common ancestor of a point and its neighbour."""
    leaf = tree.leaf_of_point
    first, second = np.repeat(leaf, near.shape[1]), leaf[near.ravel()]
    return float(tree.size[lca(tree, first, second)].mean() / len(leaf))


def _row(
    report: Report,
    name: str,
    n_nodes: int,
    scores: dict[str, list[Score]],
    n_above: dict[str, int],
) -> None:
    purity = {key: np.array([score.purity for score in values]) for key, values in scores.items()}
    cost = {key: np.array([score.cost for score in values]) for key, values in scores.items()}
    columns: dict[str, str] = {}
    for tree_name in ("start", "trained", "joined"):
        difference = purity[f"{tree_name} {n_nodes}"] - purity["linkage"]
        columns[tree_name] = interval(difference)
        what = f"{tree_name}, {n_nodes} nodes: purity at or above average linkage's"
        n_above[what] += int(difference.mean() >= 0)
    for tree_name in ("start", "joined"):
        relative = cost[f"{tree_name} {n_nodes}"] / cost["linkage"] - 1
        columns[f"cost_{tree_name}"] = interval(relative)
    lower = cost[f"trained {n_nodes}"].mean() < cost[f"start {n_nodes}"].mean()
    n_above[f"trained, {n_nodes} nodes: all-pairs cost below its start's"] += int(lower)
    report.row(
        "linkage",
        what=name,
        nodes=n_nodes,
        seeds=len(purity["linkage"]),
        linkage=f"{purity['linkage'].mean():.3f}",
        **columns,
    )


def _gains(report: Report, name: str, n_nodes: int, scores: dict[str, list[Score]]) -> None:
    start, trained = scores[f"start {n_nodes}"], scores[f"trained {n_nodes}"]
    columns = {}
    for measure in ("purity", "graph_cost"):
        before, after, linked = (
            np.array([getattr(score, measure) for score in tree_scores])
            for tree_scores in (start, trained, scores["linkage"])
        )
        columns |= {
            f"{measure}_start": f"{before.mean():.3f}",
            f"{measure}_trained": f"{after.mean():.3f}",
            f"{measure}_gain": interval(after - before),
            f"{measure}_linkage": f"{linked.mean():.3f}",
        }
    report.row("linkage_gains", what=name, nodes=n_nodes, seeds=len(start), **columns)
