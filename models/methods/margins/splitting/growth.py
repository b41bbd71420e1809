"""Trees grown from the root with large margins: leaves are split on trial, the best for good.

The best leaf has the highest splitting score S (`splitting.objective`); ties go to the oldest leaf.
A trial is kept until its leaf is split, so each leaf is tried only once. Growth ends with
`max_leaves` leaves, or when every leaf is smaller than `min_size`, lies at `max_depth` or cannot be
split. Heights count the splits: the last split has height 1 and the root the largest height.

Source: Zhou et al., "Hierarchical Maximum-Margin Clustering" (2015), section 4.1, algorithm 1.
Deviations: `max_leaves` is never exceeded; the leaves created by the last split are not tried.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import replace

import numpy as np

from models.arrays import Array, Arrays, Int
from models.method import Checkpoint
from models.methods.margins.splitting.alternating import Terms
from models.methods.margins.splitting.inputs import refuse_weightless
from models.methods.margins.splitting.objective import Ancestors
from models.methods.margins.splitting.result import GrowthLimits, MarginTree
from models.methods.margins.splitting.split import (
    OBSTACLES,
    MarginSplit,
    NodeToSplit,
    Obstacle,
    SearchEffort,
    split_all,
    stacked,
    unstacked,
)
from models.methods.margins.splitting.tasks import Tick
from models.running.progress import Progress, held_progress

NOT_TRIED = -1
"""In a checkpoint: a leaf not tried yet; lower numbers are obstacles, higher ones splits."""


def grow(
    points: Array,
    terms: Terms,
    search: SearchEffort,
    limits: GrowthLimits,
    seed: int,
    threads: int,
    progress: Progress,
    checkpoint: Checkpoint,
) -> MarginTree:
    """The tree with at most `limits.max_leaves` leaves.

    The result does not depend on the number of threads or on interruptions.
    """
    whole, within = held_progress(progress)
    growing = _Growing(points, terms, limits, checkpoint.load())
    limit = f"of {limits.max_leaves:,} leaves"
    while growing.room:
        n_leaves = growing.n_leaves
        whole(n_leaves / limits.max_leaves, "splitting", f"{n_leaves:,} {limit}")

        def tick(at: int = n_leaves) -> None:
            within(0.0, "splitting", f"{at:,} {limit}")

        growing.try_leaves(seed, search, threads, tick)
        if not growing.split_best():
            break
        checkpoint.save(growing.state())
    return growing.grown()


class _Growing:
    """A tree while it grows. A leaf's `rows` are the points in it, None for all points."""

    def __init__(
        self, points: Array, terms: Terms, limits: GrowthLimits, state: Arrays | None
    ) -> None:
        self._points, self._terms, self._limits = points, terms, limits
        self._parent, self._depth, self._step = [-1], [0], [-1]
        self._above: dict[int, Ancestors] = {0: Ancestors.root(points.shape[1])}
        self._rows: dict[int, Int | None] = {0: None}
        self._trial: dict[int, MarginSplit | Obstacle] = {}
        self._untried = [0]
        self._waiting: list[tuple[float, int]] = []
        self._splits: list[MarginSplit] = []
        self._margin = np.full(len(points), np.inf)
        self.n_leaves = 1
        if state is not None:
            self._restore(state)

    @property
    def room(self) -> bool:
        """Whether another split would stay within the number of leaves."""
        return self.n_leaves + self._terms.n_clusters - 1 <= self._limits.max_leaves

    def try_leaves(self, seed: int, search: SearchEffort, threads: int, tick: Tick) -> None:
        """Split on trial every leaf that has not been tried."""
        tried: dict[int, MarginSplit | Obstacle] = {}
        nodes = []
        for node in self._untried:
            obstacle = self._obstacle(node)
            if obstacle is None:
                nodes.append(node)
            else:
                tried[node] = obstacle
        tasks = [
            NodeToSplit(self._points_of(node), self._above[node], (seed, node)) for node in nodes
        ]
        trials = split_all(tasks, self._terms, search, threads, tick)
        tried.update(zip(nodes, trials, strict=True))
        self._untried = []
        if tried.get(0) == "weightless":
            refuse_weightless(self._terms.regularizer.alpha)
        for node, trial in tried.items():
            self._keep(node, trial)

    def split_best(self) -> bool:
        """Split the leaf with the highest score; False where no leaf can be split."""
        if not self._waiting:
            return False
        _, node = heapq.heappop(self._waiting)
        split = self._trial.pop(node)
        assert isinstance(split, MarginSplit)
        self._divide(node, split)
        return True

    def grown(self) -> MarginTree:
        obstacles = [trial for trial in self._trial.values() if not isinstance(trial, MarginSplit)]
        return MarginTree(
            np.array(self._parent),
            np.array(self._step),
            self._splits,
            self._leaf_of_point(),
            self._margin,
            Counter(obstacles),
            self.room,
            int(self._points.shape[1]),
        )

    def state(self) -> Arrays:
        """The state as arrays; the clusters and margins of trials are stored by point."""
        leaf = self._leaf_of_point()
        cluster, margin = np.zeros(leaf.size, dtype=np.int16), np.zeros(leaf.size)
        tried = np.full(len(self._parent), NOT_TRIED)
        splits = list(self._splits)
        for node, trial in self._trial.items():
            if isinstance(trial, MarginSplit):
                tried[node] = len(splits)
                splits.append(trial)
                here = self._here(node)
                cluster[here], margin[here] = trial.cluster, trial.margin
            else:
                tried[node] = NOT_TRIED - 1 - OBSTACLES.index(trial)
        return {
            "parent": np.array(self._parent),
            "step": np.array(self._step),
            "tried": tried,
            "leaf_of_point": leaf,
            "margin_so_far": self._margin,
            "cluster": cluster,
            "margin": margin,
            **stacked(splits, self._terms.n_clusters, self._points.shape[1]),
        }

    def _restore(self, state: Arrays) -> None:
        splits = unstacked(state)
        step, tried = state["step"].tolist(), state["tried"].tolist()
        leaf = state["leaf_of_point"]
        order = np.argsort(leaf, kind="stable")
        first = np.searchsorted(leaf[order], np.arange(len(step) + 1))
        inner = sorted((number, node) for node, number in enumerate(step) if number >= 0)
        self._splits = splits[: len(inner)]
        self._parent, self._step = state["parent"].tolist(), step
        self._margin = state["margin_so_far"].copy()
        self._depth, self._rows, self._untried = [], {}, []
        self.n_leaves = len(step) - len(inner)
        for node, parent in enumerate(self._parent):
            self._depth.append(0 if parent < 0 else self._depth[parent] + 1)
            if step[node] >= 0:
                continue
            rows = order[first[node] : first[node + 1]]
            self._rows[node] = rows if node else None
        for number, node in inner:
            above = self._above.pop(node)
            first_child = 1 + number * self._terms.n_clusters
            for child, weights in enumerate(splits[number].weights, first_child):
                self._above[child] = above.extended_by(weights)
        for node in self._rows:
            if tried[node] == NOT_TRIED:
                self._untried.append(node)
            elif tried[node] < NOT_TRIED:
                self._keep(node, OBSTACLES[NOT_TRIED - 1 - tried[node]])
            else:
                here = self._here(node)
                split = replace(
                    splits[tried[node]],
                    cluster=state["cluster"][here].astype(np.int64),
                    margin=state["margin"][here],
                )
                self._keep(node, split)

    def _keep(self, node: int, trial: MarginSplit | Obstacle) -> None:
        self._trial[node] = trial
        if isinstance(trial, MarginSplit):
            heapq.heappush(self._waiting, (-trial.score, node))

    def _obstacle(self, node: int) -> Obstacle | None:
        rows, limits = self._rows[node], self._limits
        n_points = len(self._points) if rows is None else rows.size
        if n_points < max(limits.min_size, self._terms.n_clusters):
            return "small"
        if limits.max_depth is not None and self._depth[node] >= limits.max_depth:
            return "deep"
        return None

    def _here(self, node: int) -> Int | slice:
        rows = self._rows[node]
        return slice(None) if rows is None else rows

    def _points_of(self, node: int) -> Array:
        return self._points[self._here(node)]

    def _leaf_of_point(self) -> Int:
        leaf = np.zeros(len(self._points), dtype=np.int64)
        for node in self._rows:
            leaf[self._here(node)] = node
        return leaf

    def _divide(self, node: int, split: MarginSplit) -> None:
        here, above = self._here(node), self._above.pop(node)
        rows = self._rows.pop(node)
        self._step[node] = len(self._splits)
        self._splits.append(split.bare())
        self.n_leaves += self._terms.n_clusters - 1
        self._margin[here] = np.minimum(self._margin[here], split.margin)
        for k, weights in enumerate(split.weights):
            inside = np.flatnonzero(split.cluster == k)
            child = len(self._parent)
            self._parent.append(node)
            self._depth.append(self._depth[node] + 1)
            self._step.append(-1)
            self._above[child] = above.extended_by(weights)
            self._rows[child] = inside if rows is None else rows[inside]
            self._untried.append(child)
