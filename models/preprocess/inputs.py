"""The preprocessing of a job: which of its inputs are prepared, and what replaces them.

Each matrix of features has its own pipeline. If the first step is 'words' there is one pipeline,
which turns documents into features: their columns then stand for words, which name them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from models.arrays import Int
from models.errors import UsageError
from models.inputs.data import Data, Value
from models.inputs.rows import Rows
from models.preprocess.pipeline import (
    DOCUMENTS,
    ROLE,
    Pipeline,
    PreparedRows,
    fit,
    parsed,
    reads_documents,
    takes_gaps,
    without_values,
)

TERMS = "feature_names"
"""The input that names the columns; not needed if they stand for words."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """Fitted pipelines, one for each matrix of features; none if features are used as they are."""

    pipelines: tuple[Pipeline, ...] = ()

    @property
    def reads_documents(self) -> bool:
        return bool(self.pipelines) and self.pipelines[0].reads_documents

    @property
    def pairwise(self) -> bool:
        """Whether empty values of features stay, to be left out of distances."""
        return any(pipeline.pairwise for pipeline in self.pipelines)

    @property
    def explained(self) -> dict[str, float]:
        """The share of the variance that each projection keeps, by its name."""
        return {
            name: share for pipeline in self.pipelines for name, share in pipeline.explained.items()
        }

    def apply(self, values: Mapping[str, Value], bare: bool = False) -> dict[str, Value]:
        """The values with features, or documents, prepared as in the fit.

        bare : whether rows without a value are filled, too.

        Raises UsageError for a number of matrices or columns other than in the fit, and for missing
        documents.
        """
        if self.reads_documents:
            counts = self.pipelines[0].apply(_documents(values))
            return _without_documents(values, counts)
        if not self.pipelines or ROLE not in values:
            return dict(values)
        features = values[ROLE]
        matrices = features if isinstance(features, tuple) else (features,)
        if len(matrices) != len(self.pipelines):
            raise UsageError(
                f"Input {ROLE!r}: {len(matrices)} matrix(es) are given; the model takes "
                f"{len(self.pipelines)}.",
                code="wrong-shape",
                role=ROLE,
            )
        prepared: list[Any] = []
        for pipeline, given in zip(self.pipelines, matrices, strict=True):
            matrix = feature_matrix(given)
            by_rows = isinstance(matrix, Rows)
            prepared.append(
                PreparedRows(matrix, pipeline, bare)
                if by_rows
                else pipeline.apply(matrix, bare=bare)
            )
        return {**values, ROLE: tuple(prepared) if isinstance(features, tuple) else prepared[0]}

    def filled(self, values: Mapping[str, Value], bare: bool = False) -> tuple[str, ...]:
        """Warnings of the empty values that `apply` fills, each once. One pass over the features.

        bare : as of `apply`. Raises UsageError as `apply`.
        """
        features = values.get(ROLE)
        if features is None or not any(pipeline.fills for pipeline in self.pipelines):
            return ()
        matrices = features if isinstance(features, tuple) else (features,)
        notes = (
            pipeline.filled(feature_matrix(given), bare)
            for pipeline, given in zip(self.pipelines, matrices, strict=False)
        )
        return tuple(note for several in notes for note in several)

    def with_words(
        self, values: Mapping[str, Value], prepared: Mapping[str, Value]
    ) -> Mapping[str, Value]:
        """The values with the features of `prepared` and, as names of their columns, words.

        Unchanged if the columns do not stand for words, or already have names.
        """
        words = self.pipelines[0].words if self.pipelines else None
        if words is None or TERMS in values:
            return values
        return {**values, ROLE: prepared[ROLE], TERMS: words}

    def roles_given(self, roles: Iterable[str]) -> list[str]:
        """The roles of a method's inputs as a user sends them: documents in place of features."""
        return [DOCUMENTS if self.reads_documents and role == ROLE else role for role in roles]


def fit_inputs(
    steps: Sequence[Mapping[str, Any]], values: Mapping[str, Value], seed: int
) -> tuple[Preparation, dict[str, Value], list[str]]:
    """(the preparation, the values prepared, warnings).

    With the input `base` they are prepared as in that job: steps fitted on the new rows would map
    them into a different space than the old ones. Raises UsageError for steps other than that
    job's, and the errors of the steps.
    """
    earlier = Data(values).earlier()
    if earlier is not None:
        of_base = tuple(fitted for fitted in earlier.prepared if isinstance(fitted, Pipeline))
        _require_steps(steps, of_base)
        preparation = Preparation(of_base)
        return preparation, preparation.apply(values), list(preparation.filled(values))
    if not steps:
        return Preparation(), dict(values), []
    if reads_documents(steps):
        pipeline, counts, notes = fit(steps, _documents(values), seed)
        return Preparation((pipeline,)), _without_documents(values, counts), list(notes)
    features = values.get(ROLE)
    pipelines: list[Pipeline] = []
    prepared: list[Any] = []
    warnings: list[str] = []
    for given in features if isinstance(features, tuple) else (features,):
        pipeline, matrix, notes = fit(steps, feature_matrix(given), seed)
        pipelines.append(pipeline)
        prepared.append(matrix)
        warnings.extend(notes)
    in_place = tuple(prepared) if isinstance(features, tuple) else prepared[0]
    return Preparation(tuple(pipelines)), {**values, ROLE: in_place}, warnings


def bare_rows(steps: Sequence[Mapping[str, Any]], values: Mapping[str, Value]) -> Int:
    """The numbers of the rows of features without any value, in any matrix of several, ascending;
    none where the steps take no empty values. One pass, O(N D)."""
    features = values.get(ROLE)
    if features is None or not takes_gaps(steps):
        return np.zeros(0, dtype=np.int64)
    matrices = features if isinstance(features, tuple) else (features,)
    bare = [without_values(feature_matrix(matrix)) for matrix in matrices]
    if len({len(each) for each in bare}) > 1:
        # Refused where the method compares its inputs.
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.logical_and.reduce(bare))


def feature_matrix(value: Any) -> Any:
    """Features as they can be prepared: numbers by rows, dense or sparse."""
    return value if isinstance(value, Rows) else Data({ROLE: value}).matrix(ROLE)


def _require_steps(steps: Sequence[Mapping[str, Any]], of_base: Sequence[Pipeline]) -> None:
    expected = [step.model_dump(mode="json") for step in of_base[0].steps] if of_base else []
    if [step.model_dump(mode="json") for step in parsed(steps)] != expected:
        raise UsageError(
            f"`preprocess` must be as in the job in 'base', which had {json.dumps(expected)}: new "
            "rows are prepared as its own were.",
            code="wrong-parameter",
            parameter="preprocess",
        )


def _documents(values: Mapping[str, Value]) -> list[str]:
    documents = Data(values).names(DOCUMENTS)
    if not documents or ROLE in values:
        raise UsageError(
            f"The preprocessing begins with 'words': give the input {DOCUMENTS!r}, no {ROLE!r}.",
            code="wrong-input",
            role=DOCUMENTS,
        )
    return documents


def _without_documents(values: Mapping[str, Value], counts: Any) -> dict[str, Value]:
    others = {role: value for role, value in values.items() if role != DOCUMENTS}
    return {**others, ROLE: cast(Value, counts)}
