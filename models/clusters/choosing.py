"""The number of clusters: candidates, the curve of a criterion over them, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from models.errors import UsageError
from models.inputs.checks import Points, count_distinct, refuse_clusters
from models.inputs.data import Data
from models.parameters import Params

MOST_CLUSTERS = 100_000


class Count(Params):
    """Parameters of a method whose number of clusters is given or chosen.

    A method's own field `choose` lists the criteria that it takes.
    """

    n_clusters: int = Field(
        8,
        ge=1,
        le=MOST_CLUSTERS,
        description="Number of clusters. Ignored where 'choose' says how to choose it.",
    )
    choose: str | None = None
    min_clusters: int = Field(
        2, ge=1, le=MOST_CLUSTERS, description="The fewest clusters that 'choose' tries."
    )
    max_clusters: int = Field(
        20, ge=1, le=MOST_CLUSTERS, description="The most clusters that 'choose' tries."
    )

    @property
    def fewest(self) -> int:
        """The smallest possible number of clusters; there must be at least as many points."""
        return self.n_clusters if self.choose is None else self.min_clusters

    @property
    def most(self) -> int:
        """The largest possible number of clusters."""
        return self.n_clusters if self.choose is None else self.max_clusters

    @property
    def count_parameter(self) -> str:
        """The name of the parameter whose value is `fewest`."""
        return "n_clusters" if self.choose is None else "min_clusters"


@dataclass(frozen=True, slots=True)
class Choice:
    """A number of clusters and the criterion that chose it; `given` for one that was not chosen.

    value, error : the criterion at each candidate and its standard error, None if it has none.
    warnings : what a user should know about the choice.
    """

    criterion: str
    n_clusters: int
    candidates: tuple[int, ...]
    value: tuple[float, ...]
    error: tuple[float, ...] | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def given(cls, n_clusters: int) -> Choice:
        """A number of clusters that was a parameter."""
        return cls("", n_clusters, (), ())

    @property
    def curves(self) -> dict[str, list[tuple[int, float]]]:
        """The criterion and its standard error by name, each as points (n_clusters, value)."""
        if not self.candidates:
            return {}
        curves = {self.criterion: self._points(self.value)}
        if self.error is not None:
            curves[f"{self.criterion}_standard_error"] = self._points(self.error)
        return curves

    @property
    def metrics(self) -> dict[str, float]:
        """The chosen number of clusters and the value of each curve at it."""
        if not self.candidates:
            return {}
        at = self.candidates.index(self.n_clusters)
        values = {name: curve[at][1] for name, curve in self.curves.items()}
        return {"n_clusters": float(self.n_clusters), **values}

    def _points(self, values: Sequence[float]) -> list[tuple[int, float]]:
        return [(k, float(v)) for k, v in zip(self.candidates, values, strict=True)]


def check_count(data: Data, params: Count, unnamed: str = "cluster") -> None:
    """Raises UsageError for an impossible choice, or if the number of names is not that of
    clusters.

    unnamed : what one name refers to, for the message.
    """
    if params.choose is None:
        data.leaf_names(params.n_clusters, unnamed)
        return
    if params.min_clusters > params.max_clusters:
        raise UsageError(
            f"Parameter 'min_clusters' is {params.min_clusters} and 'max_clusters' "
            f"{params.max_clusters}; it must not be larger.",
            code="wrong-parameter",
            parameter="min_clusters",
        )
    if params.choose == "silhouette" and params.min_clusters < 2:
        raise UsageError(
            "Parameter 'min_clusters' is 1, but a silhouette compares a cluster with another: it "
            "is defined from 2 clusters on.",
            code="wrong-parameter",
            parameter="min_clusters",
        )
    if "names" in data:
        raise UsageError(
            f"Input 'names' holds one name for each {unnamed}, but their number is yet to be "
            "chosen; leave out 'names' or 'choose'.",
            code="wrong-input",
            role="names",
        )


def candidates(features: Points, params: Count) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of clusters that are tried, and a warning where `max_clusters` is not reached.

    All are below the number of distinct points: with single points as clusters no criterion is
    finite.
    """
    n_distinct = count_distinct(features, params.max_clusters + 1)
    most = min(params.max_clusters, n_distinct - 1)
    if most < params.min_clusters:
        refuse_clusters(
            params.min_clusters,
            n_distinct,
            "distinct point(s), and the choice ends before that number",
            "min_clusters",
        )
    notes: tuple[str, ...] = ()
    if most < params.max_clusters:
        notes = (
            f"There are {n_distinct} distinct points, so the number of clusters was chosen up to "
            f"{most}, not 'max_clusters' = {params.max_clusters}.",
        )
    return tuple(range(params.min_clusters, most + 1)), notes


def lowest(
    criterion: str, numbers: Sequence[int], values: Sequence[float], notes: Sequence[str] = ()
) -> Choice:
    """The number of clusters with the lowest value, the smallest of several."""
    return _choice(criterion, numbers, values, None, notes, int(np.argmin(values)))


def highest(
    criterion: str,
    numbers: Sequence[int],
    values: Sequence[float],
    errors: Sequence[float] | None = None,
    notes: Sequence[str] = (),
) -> Choice:
    """The number of clusters with the highest value, the smallest of several."""
    return _choice(criterion, numbers, values, errors, notes, int(np.argmax(values)))


def _choice(
    criterion: str,
    numbers: Sequence[int],
    values: Sequence[float],
    errors: Sequence[float] | None,
    notes: Sequence[str],
    at: int,
) -> Choice:
    """`numbers[at]`, with a warning if that is the last of several."""
    warnings = tuple(notes)
    if len(numbers) > 1 and at == len(numbers) - 1:
        warnings += (
            f"The best number of clusters by {criterion} is the largest that was tried, "
            f"{numbers[at]}; more may be better.",
        )
    error = None if errors is None else tuple(errors)
    return Choice(criterion, numbers[at], tuple(numbers), tuple(values), error, warnings)
