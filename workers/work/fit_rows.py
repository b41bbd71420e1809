"""What maps, heatmaps and attached items are about: the rows of the fit, as it prepared them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from models.arrays import Matrix
from models.inputs.data import Data, Value, as_matrix, require_finite
from models.inputs.reading import note
from models.inputs.rows import Rows
from models.preprocess.inputs import Preparation, bare_rows, fit_inputs
from models.preprocess.pipeline import ROLE
from workers.artifacts import results
from workers.work.drawn_rows import drawn, n_points_of
from workers.work.sources import Source, values_of


class FitRows(Protocol):
    """Options of work on what a fit saw: `workers.kinds.of_fit`."""

    @property
    def of_fit(self) -> str | None: ...

    @property
    def preprocess(self) -> Sequence[Mapping[str, Any]]: ...


def prepared(
    options: FitRows, tree: Source, given: Sequence[Source], seed: int, *, gaps: bool = False
) -> dict[str, Value]:
    """The values that are shown by role: the fit's as it prepared them, with the words that
    columns stand for; given ones unchanged. A row without a value, which is noise in the fit, is
    filled as any empty value is, with a note.

    tree : with its model if there is one. given : what is shown. seed : of steps that are fitted
    again because the model was deleted. gaps : whether values that distances leave out may be
    empty.
    """
    values = values_of(given, many=frozenset({ROLE}))
    several = values.get(ROLE)
    if isinstance(several, tuple) and len(several) == 1:
        values = {**values, ROLE: several[0]}
    steps = options.preprocess
    if options.of_fit is None or not steps:
        return values
    if results.MODEL in tree.files:
        preparation = Preparation(results.load_prepared(tree.files[results.MODEL]))
    else:
        bare = bare_rows(steps, values)
        seen = values
        if bare.size:
            n_points = n_points_of(values, ())
            seen = drawn(values, np.delete(np.arange(n_points), bare), (), n_points)
        preparation, _, _ = fit_inputs(steps, seen, seed)
    ready = preparation.apply(values, bare=True)
    for sentence in preparation.filled(values, bare=True):
        note(sentence)
    if preparation.pairwise and not gaps:
        require_finite(Data(ready).matrix(ROLE), ROLE)
    return {**ready, **preparation.with_words({}, ready)} if ROLE in ready else ready


def matrix_of(values: Mapping[str, Value]) -> Matrix | Rows:
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
