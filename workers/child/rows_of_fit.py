"""The rows of the fit of a tree, prepared as the fit had them, for what is made of them later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from models.arrays import Matrix
from models.data import Data, Value
from models.images import as_matrix
from models.preprocess.inputs import Preparation, fit_inputs
from models.preprocess.pipeline import ROLE
from models.rows import Rows
from workers.artifacts import results
from workers.child.sources import Source


def prepared_values(
    steps: Sequence[Mapping[str, Any]], values: dict[str, Value], tree: Source, seed: int
) -> dict[str, Value]:
    """The values as the fit of the tree prepared them: by its model, or where that is gone by the
    steps fitted again. A single matrix of several is taken out of its tuple."""
    several = values.get(ROLE)
    if isinstance(several, tuple) and len(several) == 1:
        values = {**values, ROLE: several[0]}
    if not steps:
        return values
    if results.MODEL in tree.files:
        return Preparation(results.load_prepared(tree.files[results.MODEL])).apply(values)
    return fit_inputs(steps, values, seed)[1]


def one_matrix(values: Mapping[str, Value]) -> Matrix | Rows:
    """The one matrix; of several over the same points, their columns side by side."""
    (value,) = values.values()
    if not isinstance(value, tuple):
        return value if isinstance(value, Rows) else _matrix(value)
    matrices = [
        each.values(0, each.shape[0]) if isinstance(each, Rows) else _matrix(each) for each in value
    ]
    if any(isinstance(each, sp.csr_array) for each in matrices):
        return sp.csr_array(sp.hstack([sp.csr_array(each) for each in matrices]))
    return np.hstack(matrices)


def _matrix(value: Any) -> Matrix:
    return Data({ROLE: as_matrix(value)}).matrix(ROLE)
