"""How often drifts find what was planted, and what was not.

A fifth of the rows makes the tree (`l2h`). Reference and batch are drawn from the others without
replacement, once for each run. `drift_null`: nothing is changed; the share of runs in which any
change is found, by aspect and in all, which is to be at most the level. `drift_planted`: at a node
with at least a tenth of the rows, drawn anew in each run, a share of the batch's rows under its
largest child (`moved`) is replaced by rows under its other children, so that one split is other
than it was and all others are as they were. `found`: the share of runs in which that split is
rejected; `false`: the mean share of other splits among those rejected, the false discovery rate.

`drift_confidence`: at such a node, with half of the rows at most, the probabilities of the batch's
rows are multiplied by `times`. `found`: the share of runs in which the list of what moved has that
node, `near`: that node or one above or below it. `false`: the share of nodes neither above nor
below it among those rejected; `listed`: the same of the list, which is shorter.

Beside the procedure that is served: that of Benjamini and Hochberg over all splits (`bh`), and
TreeBH along the tree itself, where a node is looked into only if something under it changed
(`deep`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import false_discovery_control

from bench import Size
from bench.report import Report
from bench.trust import SETS, LabelledLogits
from models.arrays import Float, Int, Mask
from models.drift.drift import Drift, Sample, drift, selected
from models.drift.options import ASPECTS
from models.inputs.data import Data
from models.registry import method
from models.tree.tree import Tree
from models.tree.walk import path, ranks, spans

LEVEL = 0.05
_RUNS: dict[Size, int] = {"quick": 10, "default": 200, "full": 1000}
N_ROWS = (200, 1000, 3000)
MOVED = (0.05, 0.1, 0.2, 0.4)
TIMES = (0.95, 0.8)
LEAST_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows of a data set in its tree; (n_rows,) each."""

    tree: Tree
    leaf: Int
    confidence: Float
    label: Int

    def sample(self, rows: Int) -> Sample:
        return Sample(self.leaf[rows], self.confidence[rows], self.label[rows])

    def mass(self, rows: Int) -> Sample:
        """Without labels, and with nothing to tell from confidence."""
        return Sample(self.leaf[rows], np.ones(rows.size))

    def under(self, node: int) -> Mask:
        """(n_rows,) whether each row is under a node."""
        ranges = spans(self.tree)
        place, first = ranges.start[self.leaf], int(ranges.start[node])
        inside: Mask = (place >= first) & (place < first + int(ranges.count[node]))
        return inside


def table(report: Report, size: Size) -> None:
    for name, make in SETS.items():
        known = make(size)
        if known is None:
            report.left_out("drift", name)
            continue
        placed = _placed(known)
        for n_rows in N_ROWS:
            if 2 * n_rows <= placed.leaf.size:
                _null(report, name, placed, n_rows, _RUNS[size])
        for n_rows in N_ROWS:
            if 2 * n_rows <= placed.leaf.size:
                for moved in MOVED:
                    _planted(report, name, placed, n_rows, moved, _RUNS[size])
        for n_rows in N_ROWS:
            if 2 * n_rows <= placed.leaf.size:
                for times in TIMES:
                    _unsure(report, name, placed, n_rows, times, _RUNS[size])


def _placed(known: LabelledLogits) -> Placed:
    order = np.random.default_rng(0).permutation(len(known.label))
    first, rest = np.split(order, [len(order) // 5])
    l2h = method("l2h")
    fitted = l2h.fit(Data({"logits": known.logits[first]}), l2h.Params())
    assert fitted.model is not None
    found = l2h.predict(fitted.model, fitted.tree, Data({"logits": known.logits[rest]}))
    last = np.asarray(found.probability)[found.start[1:] - 1]
    return Placed(fitted.tree, found.leaf.astype(np.int64), last, known.label[rest])


def _null(report: Report, name: str, placed: Placed, n_rows: int, n_runs: int) -> None:
    rng = np.random.default_rng(n_rows)
    found: dict[str, int] = dict.fromkeys((*ASPECTS, "any"), 0)
    for _ in range(n_runs):
        rows = rng.permutation(placed.leaf.size)[: 2 * n_rows]
        result = drift(
            placed.tree, placed.sample(rows[:n_rows]), placed.sample(rows[n_rows:]), LEVEL
        )
        aspects = {aspect for aspect, _ in result.moves(placed.tree)}
        for aspect in aspects:
            found[aspect] += 1
        found["any"] += bool(aspects)
    shares = {what: number / n_runs for what, number in found.items()}
    report.row("drift_null", data=name, rows=n_rows, runs=n_runs, level=LEVEL, **shares)


def _planted(
    report: Report, name: str, placed: Placed, n_rows: int, moved: float, n_runs: int
) -> None:
    rng = np.random.default_rng(n_rows)
    tree = placed.tree
    share = np.array([placed.under(node).mean() for node in range(tree.n_nodes)])
    able = np.flatnonzero((tree.n_children > 0) & (share >= LEAST_SHARE))
    found = dict.fromkeys(SYSTEMS, 0)
    false: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    for _ in range(n_runs):
        node = int(rng.choice(able))
        child = max(np.flatnonzero(tree.parent == node).tolist(), key=lambda each: share[each])
        rows = rng.permutation(placed.leaf.size)[: 2 * n_rows]
        batch = _changed(placed, rows[n_rows:], node, child, moved, rng)
        result = drift(tree, placed.mass(rows[:n_rows]), placed.mass(batch), LEVEL)
        for system, reject in SYSTEMS.items():
            splits = reject(tree, result)
            found[system] += node in splits
            others = len(splits - {node})
            false[system].append(others / max(1, len(splits)))
    columns = {
        f"{what}{suffix}": value
        for system, suffix in zip(SYSTEMS, ("", "_bh", "_deep"), strict=True)
        for what, value in (
            ("found", found[system] / n_runs),
            ("false", float(np.mean(false[system]))),
        )
    }
    report.row("drift_planted", data=name, rows=n_rows, moved=moved, runs=n_runs, **columns)


def _unsure(
    report: Report, name: str, placed: Placed, n_rows: int, times: float, n_runs: int
) -> None:
    rng = np.random.default_rng(n_rows)
    tree = placed.tree
    share = np.array([placed.under(node).mean() for node in range(tree.n_nodes)])
    able = np.flatnonzero((share >= LEAST_SHARE) & (share <= 0.5))
    counts = {"found": 0, "near": 0}
    false: dict[str, list[float]] = {"false": [], "listed": []}
    for _ in range(n_runs):
        node = int(rng.choice(able))
        rows = rng.permutation(placed.leaf.size)[: 2 * n_rows]
        batch = rows[n_rows:]
        confidence = np.where(placed.under(node)[batch], times, 1.0) * placed.confidence[batch]
        before = Sample(placed.leaf[rows[:n_rows]], placed.confidence[rows[:n_rows]])
        result = drift(tree, before, Sample(placed.leaf[batch], confidence), LEVEL)
        related = set(path(tree, node).tolist()) | set(_below(tree, node))
        listed = {own for aspect, own in result.moves(tree) if aspect == "confidence"}
        rejected = set(np.flatnonzero(result.nodes["confidence"].rejected).tolist())
        counts["found"] += node in listed
        counts["near"] += bool(listed & related)
        false["false"].append(len(rejected - related) / max(1, len(rejected)))
        false["listed"].append(len(listed - related) / max(1, len(listed)))
    report.row(
        "drift_confidence",
        data=name,
        rows=n_rows,
        times=times,
        runs=n_runs,
        **{what: number / n_runs for what, number in counts.items()},
        **{what: float(np.mean(shares)) for what, shares in false.items()},
    )


def _below(tree: Tree, node: int) -> list[int]:
    rank, weight = ranks(tree.parent)
    inside = (rank >= rank[node]) & (rank < rank[node] + weight[node])
    return np.flatnonzero(inside).tolist()


def _changed(
    placed: Placed, rows: Int, node: int, child: int, moved: float, rng: np.random.Generator
) -> Int:
    """The rows, with a share of those under the child replaced by rows under its siblings."""
    inside = np.flatnonzero(placed.under(child)[rows])
    leaving = inside[rng.random(inside.size) < moved]
    beside = np.flatnonzero(placed.under(node) & ~placed.under(child))
    changed = rows.copy()
    if beside.size:
        changed[leaving] = rng.choice(beside, leaving.size)
    return changed


def _served(tree: Tree, result: Drift) -> set[int]:
    """The splits of which some child is rejected."""
    return set(tree.parent[result.nodes["mass"].rejected].tolist())


def _benjamini_hochberg(_: Tree, result: Drift) -> set[int]:
    tested = np.flatnonzero(np.isfinite(result.split_p_value))
    if not tested.size:
        return set()
    adjusted = false_discovery_control(result.split_p_value[tested])
    return set(tested[adjusted <= LEVEL].tolist())


def _along_the_tree(tree: Tree, result: Drift) -> set[int]:
    """That something changed under a node is what all splits under it say together: the node's own,
    and those under each child."""
    tested = np.isfinite(result.split_p_value)
    within = tested.copy()
    for node in range(tree.n_nodes - 1, 0, -1):
        within[tree.parent[node]] |= within[node]
    nodes = np.flatnonzero(within)
    number = np.full(tree.n_nodes, -1)
    number[nodes] = np.arange(nodes.size)
    own = np.flatnonzero(tested)
    above = np.where(nodes > 0, number[np.maximum(tree.parent[nodes], 0)], -1)
    parent = np.concatenate([above, number[own]])
    p_value = np.concatenate([np.ones(nodes.size), result.split_p_value[own]])
    rejected = selected(parent, p_value, LEVEL).rejected[nodes.size :]
    return set(own[rejected].tolist())


SYSTEMS = {
    "served": _served,
    "Benjamini-Hochberg": _benjamini_hochberg,
    "along the tree": _along_the_tree,
}
