"""The linkage that `hac` takes by default: `ward` where variances are defined, else `average`.

Why: docs/decisions/default-linkage.md.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from models.errors import UsageError
from models.inputs.checks import require_squares
from models.inputs.data import Data

REASONS = {
    "ward": "Features by Euclidean distance: its cuts are clusters of like size.",
    "average": "It is defined for every distance; 'ward' is for variances of features alone.",
}
"""Why a linkage was taken."""


def automatic(role: str, metric: str, *, fits: bool) -> Literal["ward", "average"]:
    """role : of the points. fits : whether variances can be computed of them."""
    return "ward" if fits and role == "features" and metric == "euclidean" else "average"


def has_variances(data: Data, role: str) -> bool:
    """Whether sums of squares of all points are defined: not for given distances, for features
    with empty values, nor where they overflow, though distances may not. O(N D)."""
    if role != "features" or data.pairwise:
        return False
    try:
        require_squares(np.asarray(data.dense(role)))
    except UsageError:
        return False
    return True
