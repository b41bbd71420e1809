"""Weights of rows: the role `sample_weight`, one number a row."""

from __future__ import annotations

import numpy as np

from models.arrays import Float
from models.errors import UsageError, shown
from models.inputs.data import Data, require_finite
from models.method import Input

ROLE = "sample_weight"

WEIGHT_INPUTS = {
    ROLE: Input(
        required=False,
        fit_only=True,
        one_per="row",
        description=(
            "The weight of each row: a row of weight 3 counts as three equal rows. A table of "
            "features with a column of weights brings it."
        ),
    )
}


def row_weights(data: Data, n_rows: int, *, zeros: bool = True) -> Float | None:
    """(n_rows,) the weights in double precision; None where there are none, or all are equal.

    zeros : whether a weight may be 0.

    Raises UsageError naming the row of a weight that is no number, not finite or negative, for
    another number of weights, and where none is above 0.
    """
    if ROLE not in data:
        return None
    given = data.values[ROLE]
    if not isinstance(given, np.ndarray) or given.ndim != 1 or given.dtype.kind not in "fiub":
        raise UsageError(
            f"Input {ROLE!r} must be numbers, one for each row{_first_text(given)}.",
            code="wrong-input",
            role=ROLE,
        )
    if len(given) != n_rows:
        raise UsageError(
            f"Input {ROLE!r} has {len(given):,} values for {n_rows:,} rows; one for each row is "
            "needed.",
            code="wrong-shape",
            role=ROLE,
        )
    weight = given.astype(np.float64)
    require_finite(weight[:, None], ROLE)
    low = np.flatnonzero(weight < 0.0 if zeros else weight <= 0.0)
    if low.size:
        row = int(low[0])
        accepted = "0 or more" if zeros else "above 0: leave the row out of the table"
        raise UsageError(
            f"Input {ROLE!r} is {weight[row]:g} at row {row} (counted from 0); weights are "
            f"{accepted}.",
            code="wrong-input",
            role=ROLE,
            row=row,
        )
    if not weight.any():
        raise UsageError(
            f"Input {ROLE!r} is 0 in every row; some weight must be above 0.",
            code="wrong-input",
            role=ROLE,
        )
    return None if (weight == weight[0]).all() else weight


def _first_text(given: object) -> str:
    if not isinstance(given, np.ndarray) or given.ndim != 1:
        return ""
    for row, value in enumerate(given.tolist()):
        try:
            float(value)
        except (TypeError, ValueError):
            return f"; it is {shown(str(value))} at row {row} (counted from 0)"
    return ""


def unused(reason: str) -> tuple[str, ...]:
    """A warning that the weights did not count."""
    return (f"Input {ROLE!r} was not used, so that all rows count the same: {reason}.",)
