"""The fits that a comparison keeps: each becomes a separate job, with its tree and model.

The process of the comparison leaves the files of a kept run under `runs/<number>/` among its own;
the jobs are made of them here, when the comparison's end is settled. The request of such a job
follows from that of the comparison, and so does its id: what the process says of itself decides
neither.
"""

from __future__ import annotations

from workers.errors import AlreadyThere, Missing
from workers.kinds.registry import kind_of
from workers.model import End, File, Request
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import END, REQUEST, put_once
from workers.work.job import OUTCOME, RUNS, Outcome


def adopted_runs(blobs: Blobs, comparison: Request, end: End) -> list[tuple[Request, End]]:
    """The jobs made of the kept runs that have not been made yet; all their objects are stored.

    May be called again until `release` was called: then there are none, even if a job was deleted
    since.
    """
    files: dict[int, list[File]] = {}
    for file in end.files:
        number, _, name = file.name.removeprefix(f"{RUNS}/").partition("/")
        if file.name.startswith(f"{RUNS}/") and number.isdecimal() and name:
            own = file.model_copy(update={"name": name})
            files.setdefault(int(number), []).append(own)
    if not files:
        return []
    requests = kind_of(comparison.kind).runs(comparison)
    made = [
        _adopted(blobs, comparison, end, number, requests[number], own)
        for number, own in sorted(files.items())
        if number < len(requests)
    ]
    return [job for job in made if job is not None]


def release(blobs: Blobs, comparison: Request, end: End) -> None:
    """Remove the files of the kept runs, whose jobs have them now."""
    names = [file.name for file in end.files if file.name.startswith(f"{RUNS}/")]
    # The outcomes first: without them no job is made again.
    for name in sorted(names, key=lambda name: not name.endswith(OUTCOME)):
        blobs.delete(layout.attempt(comparison.tenant, comparison.id, end.fence, name))


def _adopted(
    blobs: Blobs, comparison: Request, end: End, number: int, request: Request, files: list[File]
) -> tuple[Request, End] | None:
    tenant, folder = comparison.tenant, f"{RUNS}/{number}"

    def source(name: str) -> str:
        return layout.attempt(tenant, comparison.id, end.fence, f"{folder}/{name}")

    try:
        outcome = Outcome.model_validate_json(blobs.get(source(OUTCOME)))
        own_files = tuple(file for file in files if file.name != OUTCOME)
        own_end = End(
            job=request.id,
            status="succeeded",
            attempt=end.attempt,
            fence=end.fence,
            started_at=end.started_at,
            finished_at=end.finished_at,
            result=outcome.result,
            tree=outcome.tree,
            warnings=outcome.warnings,
            files=own_files,
        )
        # The request first: a rebuild takes a job without one for a removal that was interrupted.
        put_once(blobs, layout.job(tenant, request.id, REQUEST), request)
        for file in own_files:
            target = layout.attempt(tenant, request.id, end.fence, file.name)
            blobs.put_file(target, blobs.local_path(source(file.name)))
        put_once(blobs, layout.job(tenant, request.id, END), own_end)
    except Missing:
        return None  # Another process has been faster.
    except AlreadyThere:
        return None
    return request, own_end
