"""Plots of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from bench.l2h import DOUBLE, READ, RIVALS, SINGLE
from bench.report import Row

STYLES: dict[str, dict[str, Any]] = {
    RIVALS["printed"].name: {"color": "#8c2d04", "marker": "x", "linestyle": "none"},
    RIVALS["hoisted"].name: {"color": "#d95f0e", "marker": "s"},
    SINGLE: {"color": "#08519c", "marker": "o"},
    DOUBLE: {"color": "#4292c6", "marker": "o", "linestyle": "--"},
    READ: {"color": "#737373", "marker": "^"},
}


FIGURE_2: dict[str, dict[str, Any]] = {
    "HMMC": {"color": "#b2182b", "marker": "o", "linewidth": 2},
    "HKM": {"color": "#4393c3", "marker": "s"},
    "HKM-D": {"color": "#4393c3", "marker": "s", "linestyle": "--"},
    "HSC": {"color": "#1b7837", "marker": "^"},
    "HSC-D": {"color": "#1b7837", "marker": "^", "linestyle": "--"},
    "MMC": {"color": "#ef8a62", "marker": "D", "linestyle": ":"},
    "KM": {"color": "#737373", "marker": "v", "linestyle": ":"},
    "SC": {"color": "#000000", "marker": "x", "linestyle": ":"},
}
"""The methods of the HMMC paper's figure 2, which leaves out agglomerative ones."""


def l2h(rows: Sequence[Row], path: Path) -> None:
    """Seconds over N and over K on planted float32 arrays, at the most frequent K and N."""
    planted = [row for row in rows if row["logits"] == "planted" and row["dtype"] == "float32"]
    mpl.use("Agg")
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    over_n, over_k = figure.subplots(1, 2, sharey=True)
    k, n = _most_sizes(planted, "k", "n"), _most_sizes(planted, "n", "k")
    _lines(over_n, planted, "n", "k", k)
    _lines(over_k, planted, "k", "n", n)
    over_n.set(title=f"K = {k:,} classes", xlabel="N points", ylabel="seconds by the clock, median")
    over_k.set(title=f"N = {n:,} points", xlabel="K classes")
    over_n.legend(frameon=False, fontsize="small")
    figure.suptitle("L2H on planted float32 logits")
    figure.savefig(path, dpi=150)


def l2h_kinds(rows: Sequence[Row], path: Path) -> None:
    """Reads of the array that a fit costs: by rank and confidence, classes and type, imbalance."""
    mpl.use("Agg")
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    axes: Sequence[Axes] = figure.subplots(1, 3, width_ratios=(5, 7, 4))
    panels = (
        ("rank and confidence", "rank", "confidence", "rank of the logits", "mean confidence"),
        ("classes and type", "dtype", "k", "", "K classes, rank 32, confidence 0.5"),
        ("classes and imbalance", "k", "imbalance", "K classes", "points of class i: i^-x, x ="),
    )
    for axis, (part, down, across, ylabel, xlabel) in zip(axes, panels, strict=True):
        own = {(row[down], row[across]): row["reads"] for row in rows if row["what"] == part}
        y, x = (list(dict.fromkeys(key[i] for key in own)) for i in (0, 1))
        shown = [[own[a, b] for b in x] for a in y]
        axis.imshow(shown, cmap="RdYlGn_r", norm=LogNorm(3, 100), aspect="auto")
        for i, line in enumerate(shown):
            for j, reads in enumerate(line):
                axis.text(j, i, f"{reads:.0f}", ha="center", va="center")
        axis.set_xticks(range(len(x)), [f"{b:,}" for b in x])
        axis.set_yticks(range(len(y)), [a if isinstance(a, str) else f"{a:,}" for a in y])
        axis.set(title=part.capitalize(), xlabel=xlabel, ylabel=ylabel)
    usual = next(row for row in rows if row["what"] == "rank and confidence")
    figure.suptitle(
        "L2H: CPU time of a fit, in reads of the array of logits "
        f"(about {usual['n'] * usual['k'] / 1e6:.0f} million)"
    )
    figure.savefig(path, dpi=110)


def few_shot(rows: Sequence[Row], path: Path) -> None:
    """Micro and macro F1 over the number of training rows of each class, with standard errors."""
    mpl.use("Agg")
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    axes: Sequence[Axes] = figure.subplots(1, 2)
    for axis, measure in zip(axes, ("micro_f1", "macro_f1"), strict=True):
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [row for row in rows if row["method"] == method]
            axis.errorbar(
                [row["rows_per_class"] for row in own],
                [row[measure] for row in own],
                [row[f"{measure}_error"] for row in own],
                label=method.strip(),
                marker="o",
                markersize=4,
                capsize=2,
            )
        axis.set(
            title=f"{measure.removesuffix('_f1').capitalize()} F1, per cent",
            xlabel="training rows of each class",
            xscale="log",
        )
        sizes = list(dict.fromkeys(row["rows_per_class"] for row in rows))
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.minorticks_off()
        _plain(axis)
    axes[0].legend(frameon=False, fontsize="small")
    figure.suptitle("ImCLEF07A with few training rows: mean and standard error over draws")
    figure.savefig(path, dpi=150)


def _most_sizes(rows: Sequence[Row], fixed: str, over: str) -> Any:
    """The value of `fixed` with the most measured values of `over`."""
    sizes: dict[Any, set[Any]] = {}
    for row in rows:
        sizes.setdefault(row[fixed], set()).add(row[over])
    return max(sizes, key=lambda value: len(sizes[value]))


def attributes(rows: Sequence[Row], path: Path) -> None:
    """The tree from left to right: at each branch the attributes that draw animals in."""
    mpl.use("Agg")
    children: dict[int, list[int]] = {}
    for row in rows[1:]:
        children.setdefault(row["parent"], []).append(row["node"])
    depth, height, order = {0: 0}, {}, [0]
    for node in order:  # Parents first.
        for child in children.get(node, ()):
            depth[child] = depth[node] + 1
            order.append(child)
    open_nodes, n_leaves = [0], 0
    while open_nodes:
        node = open_nodes.pop()
        if node not in children:
            height[node], n_leaves = float(n_leaves), n_leaves + 1
        open_nodes += reversed(children.get(node, []))
    for node in reversed(order):
        if node in children:
            height[node] = sum(height[child] for child in children[node]) / len(children[node])
    figure = Figure(figsize=(16, 0.75 * n_leaves + 1), layout="constrained")
    axis: Axes = figure.subplots()
    end = max(depth.values()) + 1
    for row in rows:
        node, parent = row["node"], row["parent"]
        x, y = depth[node], height[node]
        if parent is not None:
            axis.plot([x - 1, x - 1, x], [height[parent], y, y], color="#969696", linewidth=1)
            axis.text(x - 0.97, y - 0.08, row["draws_in"], fontsize=8, va="bottom")
        if row["animals"]:
            axis.plot([x, end - 1], [y, y], color="#d9d9d9", linewidth=1)
            axis.text(end - 0.97, y, fill(row["animals"], 80), fontsize=8, va="center")
    axis.set(xlim=(0, end + 1.2), ylim=(n_leaves - 0.3, -0.7))
    axis.axis("off")
    figure.suptitle("Animals, split by the attributes that draw them into a branch")
    figure.savefig(path, dpi=150)


def leaves_and_branching(rows: Sequence[Row], path: Path) -> None:
    """SP of each set against the number of leaves, below against the branching of the trees.

    The flat methods, which have no branching, are only in the upper row.
    """
    mpl.use("Agg")
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure = Figure(figsize=(4.2 * len(sets) + 1.6, 7.2), layout="constrained")
    axes = figure.subplots(2, len(sets), squeeze=False)
    for column, name in enumerate(sets):
        own = [row for row in rows if row["set"] == name]
        fewest = min(row["leaves"] for row in own)
        shapes = (("leaves", [row for row in own if row["branching"] == 2]),)
        shapes += (("branching", [row for row in own if row["leaves"] == fewest]),)
        for axis, (over, shaped) in zip(axes[:, column], shapes, strict=True):
            values = sorted({row[over] for row in shaped})
            for method, style in FIGURE_2.items():
                points = sorted((row[over], row["SP"]) for row in shaped if row["method"] == method)
                if points and (over == "leaves" or len(points) > 1):
                    axis.plot(*zip(*points, strict=True), label=method, **style)
            axis.set(
                title=f"{name}, K = 2" if over == "leaves" else f"{name}, F = {fewest}",
                xlabel="F, number of leaves" if over == "leaves" else "K, children of a node",
                xticks=values,
            )
            _plain(axis)
    for axis in axes[:, 0]:
        axis.set_ylabel("SP, per cent")
    axes[0, -1].legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    figure.suptitle("Shortest path similarity by the form of the tree")
    figure.savefig(path, dpi=150)


def _lines(axes: Axes, rows: Sequence[Row], over: str, fixed: str, value: Any) -> None:
    for what, style in STYLES.items():
        own = [
            (row[over], row["wall_s"])
            for row in rows
            if row[fixed] == value and row["what"] == what
        ]
        if own:
            x, y = zip(*sorted(own), strict=True)
            axes.plot(x, y, label=what, **style)
    axes.set(xscale="log", yscale="log")
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.grid(which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
