"""Whether what was sent as logits looks like probabilities, their logarithms or these negated."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Float
from models.inputs.reading import note
from models.inputs.rows import Rows
from models.methods.logits.merging.logit_matrix import TOTAL, LogitMatrix

Look: TypeAlias = Literal[
    "logits", "probs", "log_probs", "percent", "bytes", "costs", "shares", "counts"
]
"""percent : numbers from 0 to 100 that sum to 100. bytes : integers from 0 to 255 that sum to 255,
but for rounding. costs : negated log-probabilities. shares : numbers from 0 to 1 of another sum.
counts : whole numbers from 0, a row for each class."""

_FIRST, _STEP_BYTES = 64, 4 << 20
"""Rows read first, which settle it for most logits, and the size of later blocks."""

_LOOKS: tuple[Look, ...] = ("probs", "log_probs", "percent", "bytes", "costs", "shares")
_MOST_ROUNDED = 20.0
"""The sum of probabilities as bytes is off by at most half a byte a class, and by this."""
_FEWEST = 10.0
"""Points of a class on average in a matrix of confusions: fewer are small whole logits as well."""
_LEAST = 0.5
"""Probabilities of only the best classes are expected to have this mass on average."""


def note_kind(matrix: LogitMatrix, *, best_only: bool = False, log_probs_too: bool = True) -> None:
    """Note where all rows of logits look like another kind. O(n K) where they do, else it ends with
    the first rows that do not.

    best_only : whether the rows have their best classes alone, whose sum may be below 1.
    log_probs_too : whether log-probabilities, whose softmax they are, are worth a note.
    """
    if matrix.kind != "logits":
        return
    found = looks_like(matrix.rows, best_only)
    if found == "probs":
        note(
            "All rows of input 'logits' look like probabilities (numbers from 0 to 1 that sum to "
            f"{'at most ' * best_only}1), and are read as logits: softmax is applied to them once "
            "more, which makes them nearly equal. If they are probabilities, fit with the "
            "parameter `input: probs`."
        )
    elif found == "log_probs" and log_probs_too:
        effect = (
            "with it, the classes that are not given are bounded by what is left to 1"
            if best_only
            else "the softmax of them is the same, but each row is then checked"
        )
        note(
            "All rows of input 'logits' look like log-probabilities (none above 0, their "
            f"exponentials sum to {'at most ' * best_only}1); if they are, fit with the parameter "
            f"`input: log_probs`: {effect}."
        )
    elif found == "percent":
        note(
            "All rows of input 'logits' look like percentages (numbers from 0 to 100 that sum to "
            "100), and are read as logits: softmax is applied to them. If they are probabilities, "
            "divide them by 100, and fit with the parameter `input: probs`."
        )
    elif found == "bytes":
        note(
            "All rows of input 'logits' look like probabilities as bytes (integers from 0 to 255 "
            "that sum to 255), and are read as logits: softmax is applied to them. If they are "
            "probabilities, divide them by their sums, and fit with the parameter `input: probs`."
        )
    elif found == "costs":
        note(
            "All rows of input 'logits' look like negated log-probabilities (none below 0, the "
            "exponentials of what is negated sum to 1), and are read as logits: the least likely "
            "class counts as the likeliest. If they are, negate them, and fit with the parameter "
            "`input: log_probs`."
        )
    elif found == "shares":
        note(
            "All values of input 'logits' are from 0 to 1, as a sigmoid gives them, or "
            "probabilities without the small ones, and are read as logits: softmax is applied to "
            "them, which makes the classes of each row nearly equal. Send the values from before "
            "the sigmoid, or whole probabilities with the parameter `input: probs`."
        )
    elif found == "counts":
        note(
            "Input 'logits' has a row for each class, of whole numbers from 0, as a matrix of "
            "confusions has, and each row is read as the logits of a point. If it is one, divide "
            "it by the sums of its rows, and give `hac` as 'similarity' the mean of that and its "
            "transpose."
        )


def looks_like(rows: Rows, best_only: bool = False) -> Look:
    """What every row may be, if it is one thing alone; else "logits"."""
    n_rows, n_columns = rows.shape
    kinds: list[Look] = ["probs", "log_probs"] if best_only else [*_LOOKS]
    if n_rows == n_columns and not best_only:
        kinds.append("counts")
    mass: dict[Look, float] = dict.fromkeys(kinds, 0.0)
    start, stop = 0, min(_FIRST, n_rows)
    while start < n_rows and kinds:
        values = rows.values(start, stop).astype(np.float64)
        for kind in tuple(kinds):
            total = _total(values, kind)
            fine = total <= 1.0 + TOTAL if best_only else np.abs(total - 1.0) <= TOTAL
            if kind in ("shares", "counts"):
                fine = total >= 0.0
            mass[kind] += float(total.sum())
            if not fine.all():
                kinds.remove(kind)
        start, stop = stop, min(n_rows, stop + max(1, _STEP_BYTES // (8 * n_columns)))
    # Zeros are no logarithms of several classes, and no probabilities.
    likely = [kind for kind in kinds if not best_only or mass[kind] >= _LEAST * n_rows]
    if "counts" in likely and (len(likely) > 1 or mass["counts"] < _FEWEST * n_rows):
        likely.remove("counts")
    if likely in (["probs", "shares"], ["costs", "shares"]):
        return likely[0]
    if likely == ["shares"] and (n_rows < _FIRST or mass["shares"] < _LEAST * n_rows):
        # A few small numbers show nothing.
        return "logits"
    return likely[0] if len(likely) == 1 else "logits"


def _total(values: Float, kind: Look) -> Float:
    """(n,) sum of the probabilities of each row; NaN for a row that cannot hold them."""
    if kind == "bytes":
        off = np.abs(values.sum(axis=1) - 255.0)
        whole = ((values >= 0.0) & (values <= 255.0) & (values == np.trunc(values))).all(axis=1)
        near = off <= min(values.shape[1] / 2, _MOST_ROUNDED)
        one: Float = np.where(whole & near, 1.0, np.nan)
        return one
    if kind == "counts":
        whole = ((values >= 0.0) & (values == np.trunc(values))).all(axis=1)
        sums: Float = np.where(whole, values.sum(axis=1), np.nan)
        return sums
    if kind == "percent":
        values = values / 100.0
    if kind == "costs":
        values = -values
    if kind not in ("log_probs", "costs"):
        fine = (values >= 0.0) & (values <= 1.0 + TOTAL)
        probs = values
    else:
        fine = values <= 0.0
        with np.errstate(over="ignore"):
            probs = np.exp(values)
    total: Float = np.where(fine.all(axis=1), probs.sum(axis=1), np.nan)
    return total
