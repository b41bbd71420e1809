"""Datasets: uploaded in one request, or in parts that survive a cut.

For asyncio. Written by `make client` from `umbel_client.core.uploads`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
import warnings
from collections.abc import AsyncIterator, Mapping
from typing import Any

from umbel_client import encodings
from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client.core.messages import CONTENT_TIMEOUT_S, Request, json_of, new_key, post
from umbel_client.encodings import Payload
from umbel_client.errors import (
    ConnectionFailed,
    InputError,
    ProblemError,
    UmbelWarning,
    UploadInterrupted,
    WaitTimeout,
)
from umbel_client.imports import payload_of
from umbel_client.inputs import Converted, Inline, Input, Inputs, Reference, converted
from umbel_client.progress import Progress, bar_of
from umbel_client.quoting import as_arguments

INSPECTED_S = 60.0
"""How long to wait until the service has opened a dataset; work on it may begin before."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 1.0


async def uploaded(
    connection: AsyncConnection,
    payload: Payload,
    progress: Progress = None,
    resume: str | None = None,
    *,
    dedupe: bool = False,
) -> dict[str, Any]:
    """The dataset made from a payload, as the service describes it.

    resume : id of an upload of the same content, which goes on with the parts that are missing.
    dedupe : whether an earlier dataset with the same content and description will do.

    What is refused or interrupted leaves nothing behind, but for an upload in parts whose
    connection was lost: it can be resumed.

    Raises ProblemError, UploadInterrupted, ConnectionFailed, UnexpectedResponse.
    """
    headers = {"Prefer": "dedupe"} if dedupe else {}
    if resume is None and payload.content.length <= encodings.PART_BYTES:
        return await _at_once(connection, payload, headers)
    return await _in_parts(connection, payload, progress, resume, headers)


async def inspected(connection: AsyncConnection, dataset: dict[str, Any]) -> dict[str, Any]:
    """The dataset once the service has opened it, or after `INSPECTED_S`, still unopened.

    Raises ProblemError, ConnectionFailed, UnexpectedResponse.
    """
    deadline = time.monotonic() + INSPECTED_S
    pause_s = FIRST_PAUSE_S
    while dataset["status"] == "inspecting" and time.monotonic() < deadline:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        dataset = await connection.described(f"/v1/datasets/{dataset['id']}", "id", "status")
    return dataset


async def labels_id(connection: AsyncConnection, labels: Input | None) -> str | None:
    """The id of a dataset of labels, which are uploaded if they are none yet.

    Raises InputError for labels that cannot be sent, and as `uploaded`.
    """
    if labels is None:
        return None
    payload = converted("labels", labels)
    if isinstance(payload, Reference):
        return payload.id
    if isinstance(payload, list):
        raise InputError("labels", "several are given; one is accepted.")
    dataset = await uploaded(connection, payload_of("labels", payload, {"name": "labels"}))
    return str(dataset["id"])


@contextlib.asynccontextmanager
async def supplied(
    connection: AsyncConnection,
    inputs: Inputs,
    progress: Progress = None,
    *,
    keep: bool,
    warn: bool = True,
) -> AsyncIterator[dict[str, Any]]:
    """The inputs as the service takes them, ids and lists, while a request uses them.

    UmbelWarning for each warning of an uploaded dataset.

    keep : whether the uploads stay once the service has accepted the work, since a job names its
        inputs; if not, they are removed at its end, unless it goes on after the wait is over.
        Refused work, and a call that is interrupted before it was submitted, leaves none.
    warn : False where the answer has the warnings of the datasets, as that of a job.

    Raises as `uploaded`.
    """
    fresh: list[str] = []
    submitting = False
    try:
        given: dict[str, Any] = {}
        for role, value in inputs.items():
            if isinstance(value, list):
                given[role] = [
                    await _given(connection, each, fresh, progress, warn) for each in value
                ]
            else:
                given[role] = await _given(connection, value, fresh, progress, warn)
        submitting = True
        yield given
    except BaseException as error:
        refused = isinstance(error, ProblemError) and error.job is None
        stays = submitting and (keep or isinstance(error, WaitTimeout))
        if refused or not stays:
            await _dropped(connection, fresh)
        raise
    if not keep:
        await _dropped(connection, fresh)


async def _given(
    connection: AsyncConnection,
    value: Converted,
    fresh: list[str],
    progress: Progress,
    warn: bool,
) -> Any:
    if isinstance(value, Inline):
        return value.values
    if isinstance(value, Reference):
        return value.id
    dataset = await uploaded(connection, value, progress)
    fresh.append(str(dataset["id"]))
    if warn:
        warn_of(await inspected(connection, dataset))
    return fresh[-1]


def warn_of(body: Mapping[str, Any]) -> None:
    """UmbelWarning for each warning of a dataset or job, and for what makes a dataset unusable."""
    sentences = [*(body.get("warnings") or ())]
    if body.get("status") == "invalid":
        detail = (body.get("problem") or {}).get("detail", "it could not be read.")
        sentences.append(f"The dataset {body['id']} cannot be used: {detail}")
    for sentence in sentences:
        warnings.warn(as_arguments(sentence), UmbelWarning, stacklevel=3)


async def _dropped(connection: AsyncConnection, datasets: list[str]) -> None:
    for dataset_id in datasets:
        await connection.abandon(f"/v1/datasets/{dataset_id}")


async def _at_once(
    connection: AsyncConnection, payload: Payload, further: Mapping[str, str]
) -> dict[str, Any]:
    content = payload.read(0, payload.content.length)
    media_type = payload.media_type or "application/octet-stream"
    headers = {"Content-Type": media_type, **new_key(), **further}
    request = Request("POST", "/v1/datasets", payload.query, headers, content, CONTENT_TIMEOUT_S)
    return json_of(await connection.send(request), "id", "status")


async def _in_parts(
    connection: AsyncConnection,
    payload: Payload,
    progress: Progress,
    resume: str | None,
    further: Mapping[str, str],
) -> dict[str, Any]:
    upload_id, stored = await _begun(connection, payload, resume)
    path = f"/v1/uploads/{upload_id}"
    bar = bar_of(progress, "uploading")
    length = payload.content.length
    part_bytes = encodings.PART_BYTES
    whole = hashlib.sha256()
    try:
        for number, start in enumerate(range(0, length, part_bytes), start=1):
            stop = min(start + part_bytes, length)
            content = payload.read(start, stop)
            whole.update(content)
            digest = hashlib.sha256(content).hexdigest()
            if stored.get(number) != digest:
                headers = {"Content-Type": "application/octet-stream"}
                query = {"sha256": digest}
                part = f"{path}/parts/{number}"
                await connection.send(
                    Request("PUT", part, query, headers, content, CONTENT_TIMEOUT_S)
                )
            bar.update(stop / length, f"{stop >> 20} of {length >> 20} MiB")
        n_parts = -(-length // part_bytes)
        body = {
            "sha256": whole.hexdigest(),
            "parts": [{"number": number} for number in range(1, n_parts + 1)],
        }
        complete = post(f"{path}/complete", body, headers=further, timeout_s=CONTENT_TIMEOUT_S)
        return json_of(await connection.send(complete), "id", "status")
    except ConnectionFailed as cut:
        raise UploadInterrupted(str(cut), upload_id) from cut
    except BaseException:
        # Refused, or interrupted by Ctrl-C or the cancelling of a task.
        await connection.abandon(path)
        raise
    finally:
        bar.end()


async def _begun(
    connection: AsyncConnection, payload: Payload, resume: str | None
) -> tuple[str, Mapping[int, str]]:
    """The id of the upload, and the sha256 of the parts that it has."""
    if resume is not None:
        earlier = await connection.described(f"/v1/uploads/{resume}", "id", "parts")
        return str(earlier["id"]), {part["number"]: part["sha256"] for part in earlier["parts"]}
    query = dict(payload.query)
    if payload.media_type is not None:
        query["media_type"] = payload.media_type
    reply = await connection.send(Request("POST", "/v1/uploads", query, new_key()))
    return str(json_of(reply, "id")["id"]), {}
