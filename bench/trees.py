"""Trees of a million leaves: the cost of each form, cut and view, and the size of its pieces.

Every run starts from the bare columns, as after loading; nothing is cached between runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from app.http.forms import Form
from app.resources.trees import forms
from app.resources.trees.assignments import routes as assignments
from bench import Size
from bench.measure import measured
from bench.report import Report
from models.tree import columns, cut, linkage, named, walk, window
from models.tree.build import from_merges
from models.tree.tree import Tree
from workers.artifacts.trees import TreeRecord

LEAVES: dict[Size, int] = {"quick": 20_000, "default": 1_000_000, "full": 1_000_000}
RUNS: dict[Size, int] = {"quick": 1, "default": 3, "full": 5}
SHAPES = ("random", "chain", "balanced")


def table(report: Report, size: Size) -> None:
    """One row for each shape and output.

    made_bytes : the length of the output. piece_bytes : that of its longest piece.
    """
    n_leaves = LEAVES[size]
    for shape in SHAPES:
        tree = binary_tree(shape, n_leaves)
        for name, output in _outputs(tree).items():
            cost = measured(partial(_lengths, output, tree), runs=RUNS[size])
            pieces = cost.result
            report.row(
                "trees",
                tree=f"{shape}, {n_leaves:,} leaves",
                output=name,
                cpu_s=cost.cpu_s,
                wall_s=cost.wall_s,
                peak_bytes=cost.peak_bytes,
                made_bytes=pieces[0],
                piece_bytes=pieces[1],
            )


def binary_tree(shape: str, n_leaves: int, seed: int = 0) -> Tree:
    """A binary tree whose merge i has height i + 1. It merges two random parts ("random"), the next
    leaf and all leaves before it ("chain"), or the two oldest parts ("balanced").
    """
    if shape == "chain":
        merged = np.append(0, np.arange(n_leaves, 2 * n_leaves - 2)), np.arange(1, n_leaves)
    elif shape == "balanced":
        merged = tuple(np.arange(2 * (n_leaves - 1)).reshape(-1, 2).T)
    else:
        merged = _drawn(n_leaves, seed)
    return from_merges(*merged, np.arange(1.0, n_leaves))


def _drawn(n_leaves: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(seed).random((2, n_leaves - 1)).tolist()
    parts = list(range(n_leaves))
    left, right = [], []
    for merged, (first, second) in enumerate(zip(*draws, strict=True), n_leaves):
        place = int(first * len(parts))
        parts[place], parts[-1] = parts[-1], parts[place]
        left.append(parts.pop())
        place = int(second * len(parts))
        right.append(parts[place])
        parts[place] = merged
    return np.array(left), np.array(right)


Output = Callable[[Tree], Iterator[bytes] | None]
"""A function that makes an output of a tree and returns its pieces if it is a text or file."""


def _outputs(tree: Tree) -> dict[str, Output]:
    stored = columns.to_table(tree)
    k = min(1000, tree.n_leaves)
    middle = float(np.median(tree.height))
    return {
        "load from Arrow": _no_text(lambda t: columns.from_table(stored, t.leaf_of_point)),
        "cut at k": _no_text(lambda t: cut.cut(t, k=k)),
        "cut at a height": _no_text(lambda t: cut.cut(t, height=middle)),
        **{f"assignments.{form.suffix}": _assignments(form, k) for form in assignments.FORMS},
        **{
            f".{form.suffix}": _form(form)
            for form in forms.FORMS
            if form.suffix in ("json", "nwk", "nex", "linkage.npy", "hclust.json", "arrow", "svg")
        },
        "nested .json, 10 levels": _form(forms.FORMS[0], layout="nested", depth=10),
        "view of 20,000 nodes": _no_text(lambda t: window.view(t, max_nodes=20_000)),
        "part under node 1": _no_text(lambda t: walk.part(t, 1)),
        "search": _no_text(lambda t: named.find(t, "99")),
        "from a linkage": _no_text(partial(_from, linkage.to_scipy(tree))),
    }


def _from(matrix: np.ndarray, tree: Tree) -> object:
    return linkage.from_scipy(matrix)


def _no_text(function: Callable[[Tree], object]) -> Output:
    def call(tree: Tree) -> None:
        function(tree)

    return call


def _form(form: Form[forms.TreeExport], **options: object) -> Output:
    return lambda tree: form.write(forms.TreeExport(_record(tree), tree, **options))  # type: ignore[arg-type]


def _assignments(form: Form[assignments.Assigned], k: int) -> Output:
    return lambda tree: form.write(assignments.Assigned(tree, {"k": k}, cut.cut(tree, k=k), {}))


def _record(tree: Tree) -> TreeRecord:
    return TreeRecord(
        id="tr_" + "0" * 26,
        tenant="bench",
        job=None,
        name=None,
        method="hac",
        kind="hierarchy",
        n_points=tree.n_points,
        n_nodes=tree.n_nodes,
        n_leaves=tree.n_leaves,
        max_depth=0,
        monotone=True,
        created_at="2026-01-01T00:00:00Z",
        etag="",
    )


def _lengths(output: Output, tree: Tree) -> tuple[int | None, int | None]:
    """The total number of bytes and that of the longest piece; pieces are not stored."""
    pieces = output(replace(tree))
    if pieces is None:
        return None, None
    total = longest = 0
    for piece in pieces:
        total += len(piece)
        longest = max(longest, len(piece))
    return total, longest
