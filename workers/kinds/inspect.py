"""`inspect`: an uploaded dataset opened, to find its shape or what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workers.kinds.kind import Find, Kind, Options, Size
from workers.work.job import Job, Outcome
from workers.work.remote_rows import facts_of
from workers.work.sources import Source, of_role


class InspectionOptions(Options):
    """dataset : its id."""

    dataset: str


class _Inspect(Kind[InspectionOptions]):
    name = "inspect"
    noun = "inspection"
    listed = False
    opens_dataset = True
    Options = InspectionOptions

    def sources(self, find: Find, options: InspectionOptions) -> list[Source]:
        return [find.uninspected("dataset", options.dataset)]

    def seconds(
        self, options: InspectionOptions, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """A file is read once."""
        return 2e-8 * size.n_bytes

    def run(self, job: Job, options: InspectionOptions) -> Outcome:
        from workers.formats.catalogue import inspect

        source = of_role(job.sources, "dataset")
        format = source.format or ""
        if source.link is None:
            facts = inspect(
                format, source.file, source.member, source.bounds, source.hint, source.choice
            )
        else:
            facts = facts_of(source.link, format, source.member, source.role)
        found: dict[str, Any] = {"shape": list(facts.shape), "dtype": facts.dtype}
        if facts.columns:
            found["columns"] = [column.model_dump() for column in facts.columns]
        return Outcome(result={"dataset": found}, warnings=facts.warnings)


KIND = _Inspect()
