"""Which labels a row gets where it may have several, chosen on rows held out of the training.

- RCut ('rank'): every row gets its t best classes. t is chosen by F1.
- SCut ('class'): a row gets the classes whose scores reach their own thresholds, each chosen by the
  F1 of its class on a grid of scores, which is fine near 0 and coarse far from it.

Both are counted fold by fold, and the counts add up.

Source: Yang, "A Study on Thresholding Strategies for Text Categorization" (2001), RCut and SCut;
Gopal, "Large-scale Structured Learning" (2014), §2.6.3, which names both beside the cut-off of each
row ('instance', `validation`).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Arrays, Float, Int, Mask

CutOff: TypeAlias = Literal["auto", "half", "instance", "rank", "class"]

BY_FOLDS: tuple[CutOff, ...] = ("instance", "rank", "class")
"""Those that are fitted to rows held out."""

MOST_RANKS = 10
"""The most classes that 'rank' gives to a row."""

EDGES = np.sinh(np.linspace(-3.5, 3.5, 129)) / 2.0
"""The thresholds that are tried, of scores before the link, 0 among them."""


def counts(values: Float, top: Int, has: Mask, cut_off: CutOff) -> dict[str, Float]:
    """What these rows tell of the cut-off, to be added up; nothing for the others.

    values, has : (n_rows, n_classes). top : (n_rows, t) the best classes, the best first.

    O(n_rows n_classes log |EDGES|) for 'class', O(n_rows t) for 'rank'.
    """
    n_classes = values.shape[1]
    if cut_off == "rank":
        hit = np.take_along_axis(has, top, axis=1)
        given, right = np.zeros((2, top.shape[1], n_classes))
        for rank, classes in enumerate(top.T):
            given[rank] = np.bincount(classes, minlength=n_classes)
            right[rank] = np.bincount(classes[hit[:, rank]], minlength=n_classes)
        return {"given": given.cumsum(axis=0), "given_right": right.cumsum(axis=0)}
    if cut_off == "class":
        n_bins = EDGES.size + 1
        cell = np.searchsorted(EDGES, values, side="right") + n_bins * np.arange(n_classes)
        found = [
            np.bincount(cells.ravel(), minlength=n_bins * n_classes).reshape(n_classes, n_bins)
            for cells in (cell, cell[has])
        ]
        # Rows at or above each edge.
        given, right = (some[:, :0:-1].cumsum(axis=1)[:, ::-1].T.astype(float) for some in found)
        return {"given": given, "given_right": right}
    return {}


def best_rank(total: Arrays, micro: bool) -> int:
    """t of the highest F1, of equals the smallest. total : added tallies."""
    right, both = total["given_right"], total["given"] + total["actual"]
    if micro:
        reached = 2.0 * right.sum(axis=1) / np.maximum(both.sum(axis=1), 1.0)
    else:
        some = both > 0
        each = np.where(some, 2.0 * right / np.maximum(both, 1.0), 0.0)
        reached = each.sum(axis=1) / np.maximum(some.sum(axis=1), 1)
    return int(reached.argmax()) + 1


def best_edges(total: Arrays) -> Int:
    """(n_classes,) the place in `EDGES` of each class's threshold of highest F1, of equals the one
    nearest to 0; that of 0 for a class that no held-out row has."""
    order = np.argsort(np.abs(EDGES), kind="stable")
    right, both = total["given_right"], total["given"] + total["actual"]
    reached = 2.0 * right / np.maximum(both, 1.0)
    return np.asarray(order[reached[order].argmax(axis=0)])


def applied(total: Arrays, cut_off: CutOff, micro: bool) -> Arrays:
    """The added tallies with the rows that the best cut-off gives each class, as `predicted` and
    `right`."""
    if cut_off == "rank":
        place = best_rank(total, micro) - 1
        return {**total, "predicted": total["given"][place], "right": total["given_right"][place]}
    if cut_off == "class":
        at = best_edges(total), np.arange(total["actual"].size)
        return {**total, "predicted": total["given"][at], "right": total["given_right"][at]}
    return total
