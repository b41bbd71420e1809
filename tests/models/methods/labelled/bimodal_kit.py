"""Figure 6.1 of the thesis: clusters apart in one direction, each in two far modes in the other."""

from __future__ import annotations

import numpy as np

from models.arrays import Float, Int
from models.inputs.data import Data


def bimodal(seed: int, n_clusters: int = 6, n_rows: int = 60) -> tuple[Float, Int]:
    """Rows of clusters 4 apart on the first axis, with modes at -12 and 12 on the second."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(n_clusters), n_rows)
    mode = np.tile([-12.0, 12.0], code.size // 2)
    return np.stack([4.0 * code, mode], axis=1) + rng.normal(0.0, 0.5, (code.size, 2)), code


def half_known(seed: int) -> tuple[Data, Int]:
    """The rows with the last three of six clusters labelled, and the cluster of each."""
    points, code = bimodal(seed)
    labels = np.where(code >= 3, code, -1)
    return Data({"features": points, "labels": labels}), code
