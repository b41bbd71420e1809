"""What the tree and the warnings say of classes: their confidence, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from models.arrays import Float, Int
from models.errors import listed
from models.methods.logits.classes.parameters import LogitsParams


def node_confidence(size: Int, confidence: Float, left: Int, right: Int) -> Float:
    """(2 K - 1,) mean winning probability of the points under each SciPy id; NaN without points."""
    n_merges = len(left)
    size = np.concatenate([size, np.zeros(n_merges, dtype=np.int64)])
    total = np.concatenate([confidence, np.zeros(n_merges)])
    for step, (a, b) in enumerate(zip(left, right, strict=True), n_merges + 1):
        size[step], total[step] = size[a] + size[b], total[a] + total[b]
    return np.where(size > 0, total / np.maximum(size, 1), np.nan)


def empty_warnings(names: list[str], empty: Int) -> tuple[str, ...]:
    """What to say of the classes in `empty`, in which no row lies; nothing where there are none."""
    if not empty.size:
        return ()
    notes = [
        f"{empty.size} of {len(names)} classes have no point: "
        f"{listed([names[each] for each in empty])}."
    ]
    if empty.size == len(names) - 1:
        notes.append(
            "All rows lie in one class, so that no two classes are seen to be confused: the tree "
            "says little of how alike they are. Send rows of all classes; where they are, one "
            "column may be too large for all rows."
        )
    return tuple(notes)


def masked_warnings(masked: Int, names: list[str], params: LogitsParams) -> tuple[str, ...]:
    of = np.flatnonzero(masked)
    if params.input != "logits" or not of.size:
        return ()
    return (
        f"{int(masked.sum()):,} logit(s) are a mask such as -1e9, or -inf, of {of.size} of "
        f"{len(names)} classes "
        f"({listed([names[c] for c in of])}): a row that has one cannot be of this class, whose "
        "probability in it is 0.",
    )


def confusion_warnings(facts: Mapping[str, Any], rest: float, listed: float) -> tuple[str, ...]:
    warnings = []
    if rest > 0:
        which = "given" if facts["best_only"] else "most probable"
        warnings.append(
            f"In each row only the {facts['n_listed']} {which} other classes are known one by one, "
            f"so masses are lower bounds; the others have {'at most ' * facts['best_only']}"
            f"{rest / (rest + listed):.2g} of the mass on other classes (`rest`)."
        )
    if facts["n_dropped"]:
        warnings.append(
            f"The {facts['n_dropped']} pairs with the smallest masses, {facts['dropped']:.3g} in "
            "all, are not kept; `rest` has their mass."
        )
    if facts["n_unknown"]:
        warnings.append(
            f"{facts['n_unknown']} row(s) of the job in 'base' are left out: it kept no "
            "probabilities."
        )
    return tuple(warnings)
