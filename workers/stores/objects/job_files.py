"""The objects of a job in the store: the files of its attempt, then the single terminal object."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from workers.errors import AlreadyThere, FatalError, Missing, Problem
from workers.model import Claim, End, File, Request, Retry, now
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.seals import read_model, read_sealed, sealed, unsealed

REQUEST = "request.json"
END = "end.json"


def read_request(blobs: Blobs, tenant: str, job_id: str) -> Request:
    """The request of a job. Missing where the job was deleted."""
    return read_model(blobs, layout.job(tenant, job_id, REQUEST), Request)


def read_end(blobs: Blobs, tenant: str, job_id: str) -> End | None:
    """The end of a job; None if it has not ended."""
    try:
        return read_model(blobs, layout.job(tenant, job_id, END), End)
    except Missing:
        return None


def put_once(blobs: Blobs, key: str, content: BaseModel) -> None:
    """Store `content` as JSON, create-only; AlreadyThere if the key holds other content.

    Identical content counts as success: the store's client may have tried twice.
    """
    data = sealed(key, content.model_dump_json().encode())
    try:
        blobs.put(key, data, create=True)
    except AlreadyThere:
        if read_sealed(blobs, key) != unsealed(key, data)[0]:
            raise


def write_end(blobs: Blobs, tenant: str, end: End) -> bool:
    """Write the terminal object, create-only; False if there is one already."""
    key = layout.job(tenant, end.job, END)
    try:
        blobs.put(key, sealed(key, end.model_dump_json().encode()), create=True)
    except AlreadyThere:
        return False
    return True


def publish(blobs: Blobs, claim: Claim, end: End, folder: Path | None) -> End | None:
    """Store the files under `folder`, if given, as part of the attempt and then, create-only, the
    terminal object, which names them; may be called again after a failure.

    Returns the end as stored; None if the job has ended before. Raises FatalError for anything that
    is not a plain file: a link could lead out of the folder.
    """
    tenant, job_id = claim.request.tenant, claim.request.id
    files = [] if folder is None else attempt_files(claim, folder)
    end = end.model_copy(update={"files": tuple(file for file, _, _ in files)})
    objects = {key: path for _, key, path in files}
    key = layout.job(tenant, job_id, END)
    last = (key, sealed(key, end.model_dump_json().encode()))
    try:
        blobs.put_files(objects, then=last)
    except AlreadyThere:
        return None
    return end


def attempt_files(claim: Claim, folder: Path) -> list[tuple[File, str, Path]]:
    """The files under `folder` as an attempt publishes them, with their keys."""
    files = []
    for path in _plain_files(folder):
        name = path.relative_to(folder).as_posix()
        size, sha256 = _measure(path)
        key = layout.attempt(claim.request.tenant, claim.request.id, claim.fence, name)
        files.append((File(name=name, size=size, sha256=sha256), key, path))
    return files


def bare_end(
    job_id: str,
    status: Literal["failed", "cancelled", "rejected"],
    *,
    attempt: int = 0,
    started_at: str | None = None,
    error: Problem | None = None,
    given_up: tuple[Retry, ...] = (),
) -> End:
    """An end not written by an attempt: a cancel, a rejection, a lost worker."""
    return End(
        job=job_id,
        status=status,
        attempt=attempt,
        fence="",
        started_at=started_at,
        finished_at=now(),
        error=error,
        given_up=given_up,
    )


def _plain_files(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            kind = path.lstat().st_mode
            if stat.S_ISDIR(kind):
                waiting.append(path)
            elif stat.S_ISREG(kind):
                yield path
            else:
                raise FatalError(f"{path.name!r} in a result is not a plain file")


def _measure(path: Path) -> tuple[int, str]:
    with path.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256")
        return os.fstat(source.fileno()).st_size, digest.hexdigest()
