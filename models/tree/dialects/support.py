"""Support of nodes as other tools write it, on one scale: the share of runs, from 0 to 1."""

from __future__ import annotations

import numpy as np

from models.arrays import Float

KEYS = (
    "support",
    "posterior",
    "posterior_probability",
    "prob",
    "probability",
    "pp",
    "bootstrap",
    "bootstrap_support",
    "bootstraps",
    "ufboot",
    "sh_alrt",
    "sh-alrt",
    "alrt",
    "bs",
    "confidence",
    "confidence_values",
)
"""Names of fields and annotations that are support, the most telling first; in lower case."""


def scaled(values: Float, where: str) -> tuple[Float | None, str]:
    """The support as shares, or None where the values are neither shares nor percent, and a
    warning of what was decided.

    values : (n_nodes,) with NaN for nodes without one. where : what they were read from, for the
    warning. The whole tree has one scale: percent if any value is above 1.
    """
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    if low < 0 or high > 100:
        return None, (
            f"{known.size} number(s) from {where}, {low:g} to {high:g}, are neither shares nor "
            "percent, and were not read as support."
        )
    how = (
        f"as percent, since the greatest is {high:g}, and divided by 100"
        if high > 1
        else "as shares from 0 to 1, since none is greater than 1"
    )
    return (
        values / 100 if high > 1 else values,
        f"The support of {known.size} node(s) was read from {where} {how}.",
    )
