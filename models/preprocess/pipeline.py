"""A chain of steps, fitted on the features of a job and applied to them and to new rows.

Features that are read by rows remain so: fitting takes one pass over them for each step, and every
block is prepared when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from pydantic import TypeAdapter

from models.arrays import Arrays, Mask, Matrix
from models.errors import UsageError
from models.inputs.data import require_finite, require_two_axes
from models.inputs.rows import Rows, widened
from models.preprocess.steps import Missing, Step, Words, empty_values, require_filled_rows

ROLE = "features"
"""The input that is prepared."""

DOCUMENTS = "documents"
"""The input from which features are made if the first step is 'words'."""

_STEPS: TypeAdapter[list[Step]] = TypeAdapter(list[Step])
_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Fitted steps.

    n_features : columns that the pipeline takes; 0 if it takes documents.
    learned : what each step learned.
    """

    steps: tuple[Any, ...]
    learned: tuple[Arrays, ...]
    n_features: int

    def apply(self, rows: Matrix | list[str], first_row: int = 0, bare: bool = False) -> Matrix:
        """The prepared rows, (n, n_columns).

        first_row : the number of the first row, for messages. bare : whether rows without a value
            are filled, too.

        Raises UsageError for another number of columns, and for values that are not finite; where
        the first step is 'missing', as `require_filled_rows`.
        """
        if isinstance(rows, list):
            rows = self.steps[0].apply(rows, self.learned[0])
            return Pipeline(self.steps[1:], self.learned[1:], rows.shape[1]).apply(rows)
        require_two_axes(rows, ROLE)
        self.require_columns(rows.shape[1])
        if self.fills:
            require_filled_rows(rows, first_row, bare)
        else:
            require_finite(rows, ROLE, first_row=first_row)
        for step, learned in zip(self.steps, self.learned, strict=True):
            rows = step.apply(rows, learned)
        return rows

    def require_columns(self, n: int) -> None:
        if n != self.n_features:
            raise UsageError(
                f"Input {ROLE!r} has {n} columns; the preprocessing was fitted on "
                f"{self.n_features}.",
                code="wrong-shape",
                role=ROLE,
            )

    @property
    def fills(self) -> bool:
        """Whether the rows may have empty values."""
        return bool(self.steps) and isinstance(self.steps[0], Missing)

    @property
    def pairwise(self) -> bool:
        """Whether empty values stay, to be left out of distances."""
        return self.fills and self.steps[0].fill == "pairwise"

    def filled(self, features: Matrix | Rows, bare: bool = False) -> tuple[str, ...]:
        """Warnings of the empty values that applying it to the rows fills. One pass, O(N D).

        bare : as of `apply`.
        """
        first = self.steps[0] if self.steps else None
        if not isinstance(first, Missing):
            return ()
        require_two_axes(features, ROLE)
        self.require_columns(features.shape[1])
        empty, first_row = np.zeros(self.n_features, dtype=np.int64), 0
        for block in _as_given(features):
            require_filled_rows(block, first_row, bare)
            empty += empty_values(block).sum(axis=0)
            first_row += block.shape[0]
        return first.notes(empty)

    @property
    def reads_documents(self) -> bool:
        return bool(self.steps) and isinstance(self.steps[0], Words)

    @property
    def words(self) -> list[str] | None:
        """The words that the columns count; None where columns are not words of documents."""
        if not self.reads_documents or not all(step.keeps_columns for step in self.steps):
            return None
        return Words.words(self.learned[0])

    @property
    def n_columns(self) -> int:
        n = self.n_features
        for step in self.steps:
            n = step.n_columns(n)
        return n

    @property
    def explained(self) -> dict[str, float]:
        """The share of the variance that each projection keeps, by its name."""
        return {
            f"{step.step}_explained_variance": float(learned["explained"][0])
            for step, learned in zip(self.steps, self.learned, strict=True)
            if "explained" in learned
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The learned arrays, by "<number of the step>.<name>"."""
        return {
            f"{number}.{name}": array
            for number, learned in enumerate(self.learned)
            for name, array in learned.items()
        }

    @classmethod
    def of(cls, requested: Sequence[Any], arrays: Arrays, n_features: int) -> Pipeline:
        """The pipeline with these steps, `arrays()` and `n_features`."""
        learned = [
            {
                name.partition(".")[2]: array
                for name, array in arrays.items()
                if name.startswith(f"{number}.")
            }
            for number in range(len(requested))
        ]
        return cls(tuple(parsed(requested)), tuple(learned), n_features)


def parsed(requested: Sequence[Any]) -> list[Step]:
    """Steps from their JSON. Raises pydantic's ValidationError."""
    return _STEPS.validate_python(list(requested))


def reads_documents(requested: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the steps make features of documents."""
    return bool(requested) and requested[0].get("step") == "words"


def takes_gaps(requested: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the steps take empty values."""
    return bool(requested) and requested[0].get("step") == "missing"


def leaves_gaps(requested: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the steps leave empty values, for distances that do without them."""
    return takes_gaps(requested) and requested[0].get("fill") == "pairwise"


def columns_are_words(requested: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the steps make features of documents with columns that stand for words."""
    return reads_documents(requested) and all(step.keeps_columns for step in parsed(requested))


def fit(
    requested: Sequence[Mapping[str, Any]], features: Matrix | Rows | list[str], seed: int
) -> tuple[Pipeline, Matrix | Rows, tuple[str, ...]]:
    """The fitted pipeline, the prepared features and warnings. features : or documents.

    Raises UsageError for features that a step cannot take. O(N D) time per step; for pca and svd
    see `models.preprocess.steps`.
    """
    steps_given = parsed(requested)
    if any(isinstance(step, Missing) for step in steps_given[1:]):
        raise UsageError(
            "Step 'missing' comes first: the other steps take no empty values and leave none.",
            code="wrong-parameter",
            parameter="preprocess",
        )
    if len(steps_given) > 1 and leaves_gaps(requested):
        raise UsageError(
            "Step 'missing' with 'pairwise' is the only step: the others take no empty values. "
            "Fill these by their mean or median, or leave the other steps out.",
            code="wrong-parameter",
            parameter="preprocess",
        )
    if isinstance(features, list):
        first, *rest = steps_given
        learned, notes = first.fit(lambda: (cast(Any, features),), seed)
        counts = first.apply(cast(Any, features), learned)
        done, rows, more = fit([step.model_dump() for step in rest], counts, seed)
        whole = Pipeline((first, *done.steps), (learned, *done.learned), 0)
        return whole, rows, (*notes, *more)
    require_two_axes(features, ROLE)
    if not features.shape[0] or not features.shape[1]:
        raise UsageError(
            f"Input {ROLE!r} has {features.shape[0]} rows and {features.shape[1]} columns; at "
            "least one of each is needed.",
            code="wrong-shape",
            role=ROLE,
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return _fit(steps_given, features, seed)


def _fit(
    steps: Sequence[Step], features: Matrix | Rows, seed: int
) -> tuple[Pipeline, Matrix | Rows, tuple[str, ...]]:
    warnings: list[str] = []
    done = Pipeline((), (), features.shape[1])
    if isinstance(features, Rows):
        for step in steps:
            source = PreparedRows(features, done)
            given = partial(_as_given, features)
            learned, notes = step.fit(given if isinstance(step, Missing) else source.blocks, seed)
            warnings += notes
            done = Pipeline((*done.steps, step), (*done.learned, learned), done.n_features)
        return done, PreparedRows(features, done), tuple(warnings)
    rows: Matrix = features
    if not steps or not isinstance(steps[0], Missing):
        require_finite(rows, ROLE)
    for step in steps:
        learned, notes = step.fit(_Whole(rows), seed)
        warnings += notes
        done = Pipeline((*done.steps, step), (*done.learned, learned), done.n_features)
        rows = step.apply(rows, learned)
    return done, rows, tuple(warnings)


def without_values(features: Matrix | Rows) -> Mask:
    """(n_rows,) whether a row of dense features has no value; none of a sparse one. O(N D)."""
    require_two_axes(features, ROLE)
    if isinstance(features, sp.csr_array) or not features.shape[0] or not features.shape[1]:
        return np.zeros(features.shape[0], dtype=bool)
    return np.concatenate([empty_values(block).all(axis=1) for block in _as_given(features)])


def _as_given(features: Matrix | Rows) -> Iterable[Matrix]:
    """All rows in order, some at a time, with their empty values."""
    step = max(1, _BLOCK_BYTES // (8 * max(1, features.shape[1])))
    for start in range(0, features.shape[0], step):
        stop = min(start + step, features.shape[0])
        yield features.values(start, stop) if isinstance(features, Rows) else features[start:stop]


@dataclass(frozen=True, slots=True)
class _Whole:
    """All rows as one block."""

    rows: Matrix

    def __call__(self) -> Iterable[Matrix]:
        return (self.rows,)


class PreparedRows(Rows):
    """Rows that a pipeline prepares when they are read."""

    def __init__(self, rows: Rows, pipeline: Pipeline, bare: bool = False) -> None:
        """bare : as of `Pipeline.apply`."""
        pipeline.require_columns(rows.shape[1])
        self._rows, self._pipeline, self._bare = rows, pipeline, bare
        self.shape = (rows.shape[0], pipeline.n_columns)
        single = rows.bfloat16 or (rows.dtype == np.float32 and bool(pipeline.steps))
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.far = rows.far

    def blocks(self) -> Iterable[Matrix]:
        """All rows in order, some at a time."""
        step = max(1, _BLOCK_BYTES // (8 * max(self._rows.shape[1], self.shape[1])))
        for start in range(0, self.shape[0], step):
            yield self.read(start, start + step)

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self._prepared(self._rows.values(start, min(stop, self.shape[0])), start)

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        values = self._rows.take(rows)
        return self._prepared(widened(values) if self._rows.bfloat16 else values)

    def _prepared(self, values: npt.NDArray[Any], first_row: int = 0) -> npt.NDArray[Any]:
        prepared = self._pipeline.apply(values, first_row, self._bare)
        assert not isinstance(prepared, sp.csr_array)
        return np.ascontiguousarray(prepared, dtype=self.dtype)
