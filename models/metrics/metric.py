"""One entry of the catalogue: the name, inputs and definition of a metric.

A metric is a function of a `Subject` under the decorator `metric`, in one of the modules that
`models.metrics.catalogue` collects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from models.metrics.estimate import Estimate
from models.metrics.evaluation import Subject

Role = Literal["labels", "features", "distances", "similarity", "hierarchy", "measured"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the catalogue.

    needs : roles of which one is required; the first one present is used. "measured" is no input:
        the tree's method measured the metric itself.
    looks_at : "cut" (a flat clustering), "tree" (the whole tree) or "method" (the method that made
        it).
    low, high : range of its values; None: unbounded.
    better : which end is better.
    definition, source : one sentence for people; paper and place.
    compute : the metric itself.
    """

    id: str
    title: str
    needs: tuple[Role, ...]
    looks_at: Literal["cut", "tree", "method"]
    low: float | None
    high: float | None
    better: Literal["higher", "lower"]
    definition: str
    source: str
    compute: Callable[[Subject], Estimate]

    def applies(self, subject: Subject) -> bool:
        """Whether its inputs are present: one of its roles, and a cut if it needs one."""
        if self.needs == ("measured",):
            return self.id in subject.measured
        if not subject.given & set(self.needs):
            return False
        return self.looks_at != "cut" or subject.has_clusters


def metric(
    title: str,
    *,
    needs: tuple[Role, ...],
    looks_at: Literal["cut", "tree", "method"],
    low: float | None,
    high: float | None,
    better: Literal["higher", "lower"],
    source: str,
) -> Callable[[Callable[[Subject], Estimate]], Metric]:
    """Make a function an entry of the catalogue: its name is the id, its docstring the definition.

    The other fields are as in `Metric`.
    """

    def entry(compute: Callable[[Subject], Estimate]) -> Metric:
        definition = " ".join((compute.__doc__ or "").split())
        return Metric(
            compute.__name__,
            title,
            needs,
            looks_at,
            low,
            high,
            better,
            definition,
            source,
            compute,
        )

    return entry
