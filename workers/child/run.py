"""One job, inside its own process: read the input files, do the work, write the result files.

It has access to neither Redis nor the object store: it gets local paths, the address of an object
that is read in parts, and a folder. What the work is, its kind says (`workers.kinds`).
"""

from __future__ import annotations

from pathlib import Path

from models.errors import EmptyValue, UsageError
from models.inputs.reading import noting
from workers.errors import problem_of
from workers.kinds.registry import kind_of
from workers.model import Request, now
from workers.work.crew import Coordinator
from workers.work.empty_cells import of_table, with_column_name
from workers.work.job import Job, Outcome, Report, Spec
from workers.work.sources import Source, looked_at


def run(spec: Spec, report: Report, coordinator: Coordinator | None = None) -> Outcome:
    """Do the job.

    The user's errors and a lack of memory are returned as `Outcome.error`.
    coordinator : hands out the pieces of a fit; None: all are computed here.
    """
    try:
        own = kind_of(spec.request.kind)
        if not own.opens_dataset:
            sources = tuple(map(looked_at, spec.sources))
            spec = spec.model_copy(update={"sources": sources})
        with noting() as notes:
            outcome = own.run(Job(spec, report, coordinator), own.options(spec.request))
        of_inputs = [note for source in spec.sources for note in source.warnings]
        warnings = tuple(dict.fromkeys([*of_inputs, *notes, *outcome.warnings]))
        result = outcome.result
        if result is not None:
            result = own.with_warnings(result, warnings)
        return outcome.model_copy(update={"result": result, "warnings": warnings})
    except EmptyValue as error:
        return Outcome(error=problem_of(of_table(error, spec.sources)))
    except UsageError as error:
        named = with_column_name(error, spec.sources, spec.request.preprocess)
        return Outcome(error=problem_of(named))
    except MemoryError as error:
        return Outcome(error=problem_of(error))


def trial(folder: Path) -> Spec:
    """A trivial job with its files in `folder`: it warms a process up."""
    result = folder / "result"
    result.mkdir(parents=True)
    path = folder / "logits.json"
    path.write_text("[[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1.0, 2.0], [2.0, 1.0, 0.0]]")
    request = Request(
        id="job_trial",
        tenant="none",
        kind="fit",
        method="l2h",
        inputs={"logits": "inline"},
        created_at=now(),
    )
    source = Source(role="logits", kind="inline", path=path)
    return Spec(request=request, sources=(source,), folder=result)


def opens_sockets(spec: Spec) -> bool:
    """Whether the job reads from the object store by address, or has a fit of several processes."""
    sources: list[Source | None] = list(spec.sources)
    while sources:
        if (source := sources.pop()) is not None:
            if source.link is not None:
                return True
            sources += source.before
    return kind_of(spec.request.kind).opens_sockets(spec.request)
