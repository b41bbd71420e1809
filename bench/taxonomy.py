"""Taxonomies completed, questions answered, and what no choice of nodes could find.

The puzzles of `completion`: a fifth of the inner nodes and of the leaves is hidden, half of the
other rows not labelled. `tcs-tree` has the rows in 30 columns as they are.

- `at once`: placed and found as there. `answers`: after a second fit with a person's answers to the
  questions served; `random`: with as many questions about new nodes drawn at random; `ideal`: with
  questions about found leaves that hang wrong, chosen with the truth: no choice of questions
  does better. The person knows the true place of the hidden node that the new one has an F1 of at
  least one half with, else of the row that stands for it.
- `any new node`: whether new nodes are kept, and in `nothing hidden`, where only half of the rows
  are not labelled, whether some are though there are none.
- `ward, all`: found by the best of all nested nodes of Ward's tree over the rows that are not
  labelled, and `ward, hidden` over the hidden rows alone, as if these were known: bounds on what
  may be found among nested nodes, of which no method knows the best.
- `trained`: leaves with an F1 of at least one half where the hidden leaves are labelled as well
  (by half, as the others) and each row that is not goes to the nearest mean: a bound by features.
- `classes ...`: all rows of hidden leaves, also of those in hidden subtrees, are labelled as new
  classes, which have to be placed; counted are those below a known parent.

Figures are mean and standard deviation over draws. `--seeds` sets how many; they begin at 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench import Chosen, Size, truths
from bench.completion import (
    ENOUGH,
    N_COMPONENTS,
    UNLABELLED,
    NewNodes,
    Path,
    Puzzle,
    drawn,
    of_tree,
    outcome,
    path_of_rows,
)
from bench.report import Report
from models.arrays import Array, Float, Int
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import Fitted
from models.methods.labelled.hierarchy.hanging import TOP
from models.methods.labelled.hierarchy.new_nodes import WardTree
from models.methods.labelled.hierarchy.questions import MOST
from models.methods.labelled.supervision.transformation import prepare
from models.registry import method
from models.tree import class_paths

SETS = ("emoji", "wordnet12k")
_MOST_ROWS: dict[Size, int] = {"quick": 1000, "default": 2000, "full": 12_000}
_N_DRAWS: dict[Size, int] = {"quick": 2, "default": 8, "full": 8}


@dataclass(frozen=True, slots=True)
class Doubt:
    """A new node that a question may be about.

    row : that stands for it. labels : its likeliest places.
    """

    row: int
    labels: list[str]

    def answers(self, right: str) -> list[str]:
        """A person's entries of `answers`."""
        if right in self.labels:
            return [f"{self.row} under {right}"]
        return [f"{self.row} not under {label}" for label in self.labels]


def table(report: Report, size: Size, chosen: Chosen) -> None:
    for name in chosen.sets_of(SETS):
        loaded = truths.loaded(name)
        if loaded is None:
            report.left_out("taxonomy", name)
            continue
        rows = np.sort(np.random.default_rng(0).permutation(loaded.label.size)[: _MOST_ROWS[size]])
        points = loaded.points[rows].astype(np.float32)
        path_of = path_of_rows(loaded, rows)
        shares: dict[tuple[str, str], list[float]] = {}
        for seed in range(chosen.seeds_of(_N_DRAWS[size])):
            puzzle = drawn(path_of, np.random.default_rng(seed))
            with threadpool_limits(1):
                for what, own in measured(points, puzzle, seed).items():
                    for kind, share in own.items():
                        shares.setdefault((what, kind), []).append(share)
        for (what, kind), values in shares.items():
            report.row(
                "taxonomy",
                set=name.ljust(10),
                what=what.ljust(16),
                figure=kind.ljust(16),
                draws=len(values),
                share=f"{np.mean(values):.3f} +- {np.std(values):.3f}",
            )


def measured(points: Array, puzzle: Puzzle, seed: int) -> dict[str, dict[str, float]]:
    """By what was given, the shares."""
    found: dict[str, dict[str, float]] = {}
    fitted = _fitted(points, puzzle, seed, [])
    new_nodes = of_tree(fitted, puzzle)
    found["at once"] = {**_shares(puzzle, new_nodes), "any new node": float(bool(new_nodes.parent))}
    found["nothing hidden"] = {"any new node": float(any_new_node(points, puzzle, seed))}
    may = doubts(fitted)
    right = {own.row: right_place(puzzle, new_nodes, own.row) for own in may}
    rng = np.random.default_rng(seed)
    for what, some in {
        "answers": served(fitted, may),
        "random": [may[at] for at in rng.permutation(len(may))[:MOST].tolist()],
        "ideal": worth_asking(puzzle, new_nodes, may),
    }.items():
        entries = [entry for own in some for entry in own.answers(right[own.row])]
        again = of_tree(_fitted(points, puzzle, seed, entries), puzzle) if entries else new_nodes
        found[what] = _shares(puzzle, again)
    _, prepared, _ = prepare(points, N_COMPONENTS, seed)
    free = ~puzzle.known
    is_hidden = np.any([puzzle.below(path) for path in puzzle.hidden], axis=0)
    for what, rows in {"ward, all": free, "ward, hidden": is_hidden}.items():
        found[what] = nested(prepared, np.flatnonzero(rows), puzzle)
    found["trained"] = _trained(prepared, puzzle, rng)
    found.update(_classes(points, puzzle, seed))
    return found


def any_new_node(points: Array, puzzle: Puzzle, seed: int) -> bool:
    """Whether new nodes are found where half of the rows of every class are labelled."""
    known = np.random.default_rng(seed).random(len(puzzle.path_of)) >= UNLABELLED
    whole = Puzzle(puzzle.path_of, {}, known)
    return bool(of_tree(_fitted(points, whole, seed, []), whole).parent)


def _fitted(points: Array, puzzle: Puzzle, seed: int, answers: Sequence[str]) -> Fitted:
    return _fit(points, {"labels": puzzle.labels}, seed, answers=answers)


def _fit(points: Array, inputs: Mapping[str, Any], seed: int, **params: Any) -> Fitted:
    used = method("tcs-tree")
    fixed = {"regularizer": "identity", "gamma": 1e12, "n_components": N_COMPONENTS, "seed": seed}
    return used.fit(Data({"features": points, **inputs}), used.Params(**fixed, **params))


def _shares(puzzle: Puzzle, new_nodes: NewNodes) -> dict[str, float]:
    shares = {}
    outcomes = outcome(puzzle, new_nodes)
    for kind in ("leaf", "subtree"):
        own = [value for path, value in outcomes.items() if puzzle.hidden[path] == kind]
        if own:
            _, is_found, placed = np.mean(own, axis=0)
            shares[f"{kind} found"], shares[f"{kind} placed"] = float(is_found), float(placed)
    return shares


def doubts(fitted: Fitted) -> list[Doubt]:
    """New nodes that have more than one place."""
    columns = fitted.tree.extra
    return [
        Doubt(int(row), list(places))
        for row, places in zip(columns["row"], columns["places"], strict=True)
        if places is not None and len(places) > 1
    ]


def served(fitted: Fitted, may: Sequence[Doubt]) -> list[Doubt]:
    """Those that questions are about."""
    columns = fitted.tree.extra
    rows = {int(row) for row, own in zip(columns["row"], columns["question"], strict=True) if own}
    return [own for own in may if own.row in rows]


def right_place(puzzle: Puzzle, new_nodes: NewNodes, row: int) -> str:
    """The label of the place of what a row stands for."""
    holds = np.flatnonzero(new_nodes.rows[:, row])
    leaf = new_nodes.rows[holds[new_nodes.rows[holds].sum(axis=1).argmin()]] & ~puzzle.known
    f1 = {path: _f1(leaf, puzzle.below(path)) for path in puzzle.hidden}
    best = max(f1, key=lambda path: f1[path], default=())
    path = best if best and f1[best] >= ENOUGH else puzzle.path_of[row]
    return "/".join(path[:-1]) or TOP


def _f1(some: Array, own: Array) -> float:
    return float(2.0 * (some & own).sum() / max(some.sum() + own.sum(), 1))


def worth_asking(puzzle: Puzzle, new_nodes: NewNodes, may: Sequence[Doubt]) -> list[Doubt]:
    """At most `MOST` found leaves that hang wrong, those first whose place is offered."""
    wrong = []
    outcomes = outcome(puzzle, new_nodes)
    for path, (_, is_found, placed) in outcomes.items():
        if puzzle.hidden[path] != "leaf" or not is_found or placed:
            continue
        own = puzzle.below(path)
        number = int(np.argmax([_f1(rows & ~puzzle.known, own) for rows in new_nodes.rows]))
        some = [one for one in may if new_nodes.rows[number, one.row]]
        if len(some) == 1:
            offered = ("/".join(path[:-1]) or TOP) in some[0].labels
            wrong.append((not offered, some[0]))
    return [own for _, own in sorted(wrong, key=lambda pair: pair[0])][:MOST]


def nested(points: Array, rows: Int, puzzle: Puzzle) -> dict[str, float]:
    """The share of hidden nodes that some node of Ward's tree over the rows has an F1 of at least
    one half with."""
    ward = WardTree.of(points[rows])
    shares: dict[str, list[bool]] = {}
    for path, kind in puzzle.hidden.items():
        own = puzzle.below(path)
        both = ward.means(own[rows].astype(np.float64)[:, None])[:, 0] * ward.size
        best = float((2.0 * both / (ward.size + own.sum())).max())
        shares.setdefault(f"{kind} found", []).append(best >= ENOUGH)
    return {kind: float(np.mean(own)) for kind, own in shares.items() if kind != "within found"}


def _trained(points: Float, puzzle: Puzzle, rng: np.random.Generator) -> dict[str, float]:
    path_of = np.array(["/".join(path) for path in puzzle.path_of], dtype=object)
    code = np.unique(path_of, return_inverse=True)[1]
    known = rng.random(code.size) < 0.5
    known[np.unique(code, return_index=True)[1]] = True
    means = np.array([points[known & (code == own)].mean(axis=0) for own in range(code.max() + 1)])
    away = np.square(means).sum(axis=1) - 2.0 * points @ means.T
    placed, free = away.argmin(axis=1), ~known
    shares = []
    for path, kind in puzzle.hidden.items():
        if kind == "leaf":
            own = int(code[puzzle.path_of.index(path)])
            shares.append(_f1((placed == own) & free, (code == own) & free) >= ENOUGH)
    return {"leaf found": float(np.mean(shares))} if shares else {}


def _classes(points: Array, puzzle: Puzzle, seed: int) -> dict[str, dict[str, float]]:
    """All leaves that are hidden as new classes; the share of those below a known parent that hang
    there. Known places of the others are none, which is what a person answers."""
    ends = sorted({path for path in puzzle.path_of if path in puzzle.hidden})
    known = sorted({puzzle.path_of[row] for row in np.flatnonzero(puzzle.known).tolist()})
    hierarchy = class_paths.read("\n".join("/".join(path) for path in known))
    names = np.array(["/".join(path) for path in puzzle.path_of], dtype=object)
    labelled = puzzle.known.copy()
    for number, path in enumerate(ends):
        rows = puzzle.below(path)
        names[rows], labelled[rows] = f"class {number}", True
    whole = LabelSets.of(names)
    start = np.concatenate([[0], np.cumsum(labelled)])
    labels = LabelSets(start, whole.code[labelled], whole.names, ~labelled)
    inputs = {"labels": labels, "hierarchy": hierarchy}
    counted = {number for number, path in enumerate(ends) if puzzle.hidden[path] == "leaf"}

    def fit(some: Sequence[Doubt]) -> Fitted:
        places = ["/".join(puzzle.path_of[own.row][:-1]) or TOP for own in some]
        entries = [e for own, place in zip(some, places, strict=True) for e in own.answers(place)]
        return _fit(points, inputs, seed, new_classes=True, answers=entries)

    def share(fitted: Fitted) -> dict[str, float]:
        wrong = counted & set(placed_wrong(fitted, ends))
        return {"leaf placed": 1.0 - len(wrong) / len(counted)}

    fitted = fit([])
    may = doubts(fitted)
    rng = np.random.default_rng(seed)
    wrong = {f"class {number}" for number in counted & set(placed_wrong(fitted, ends))}
    return {
        "classes": share(fitted),
        "classes, answers": share(fit(served(fitted, may))),
        "classes, random": share(fit([may[at] for at in rng.permutation(len(may))[:MOST]])),
        "classes, ideal": share(fit([own for own in may if str(names[own.row]) in wrong][:MOST])),
    }


def placed_wrong(fitted: Fitted, ends: Sequence[Path]) -> list[int]:
    """The classes that do not hang under the parent that their path says."""
    tree = fitted.tree
    path_to: list[Path] = [()]
    for node in range(1, tree.n_nodes):
        path_to.append((*path_to[tree.parent[node]], str(tree.name[node])))
    above = {path[-1]: path[:-1] for path in path_to[1:]}
    return [own for own, path in enumerate(ends) if above.get(f"class {own}") != path[:-1]]
