"""Datasets: uploaded in one request, or in parts that survive a cut."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from umbel_client.core.sending import json_of, new_key, post, sent
from umbel_client.core.steps import Operation, Reply, Request
from umbel_client.encodings import Payload, Source
from umbel_client.errors import (
    ConnectionFailed,
    InputError,
    ProblemError,
    UmbelError,
    UploadInterrupted,
)
from umbel_client.imports import payload_of
from umbel_client.inputs import Converted, Inline, Input, Reference, converted
from umbel_client.progress import Progress, bar_of

T = TypeVar("T")

PART_BYTES = 32 << 20
"""Length of a part, and of the largest content that goes in one request."""
TIMEOUT_S = 300.0
"""How long the service may take for the content of one request."""


def uploaded(
    payload: Payload,
    progress: Progress = None,
    resume: str | None = None,
    *,
    dedupe: bool = False,
) -> Operation[dict[str, Any]]:
    """The dataset made from a payload, as the service describes it.

    resume : id of an upload of the same content, which goes on with the parts that are missing.
    dedupe : whether an earlier dataset with the same content and description will do.

    What is refused or interrupted leaves nothing behind, but for an upload in parts whose
    connection was lost: it can be resumed.

    Raises ProblemError, UploadInterrupted, ConnectionFailed, UnexpectedResponse.
    """
    headers = {"Prefer": "dedupe"} if dedupe else {}
    if resume is None and payload.source.length <= PART_BYTES:
        return (yield from _at_once(payload, headers))
    return (yield from _in_parts(payload, progress, resume, headers))


def labels_id(labels: Input | None) -> Operation[str | None]:
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
    dataset = yield from uploaded(payload_of("labels", payload, {"name": "labels"}))
    return str(dataset["id"])


Inputs: TypeAlias = Mapping[str, Converted | list[Converted]]
"""Inputs by role in the form in which they travel."""


def supplied(
    inputs: Inputs,
    use: Callable[[dict[str, Any]], Operation[T]],
    progress: Progress = None,
    *,
    keep: bool,
) -> Operation[T]:
    """What `use` gives with the inputs as the service takes them: ids, and lists.

    use : is given the inputs by role, after the uploads.
    keep : whether the uploads stay once the service has accepted the work, since a job names its
        inputs; if not, they are removed at its end. Refused work, and a call that is interrupted
        before it was submitted, leaves none.
    """
    fresh: list[str] = []
    submitting = False
    try:
        given: dict[str, Any] = {}
        for role, value in inputs.items():
            if isinstance(value, list):
                given[role] = yield from _several(value, fresh, progress)
            else:
                given[role] = yield from _given(value, fresh, progress)
        submitting = True
        result = yield from use(given)
    except GeneratorExit:
        raise
    except BaseException as error:
        refused = isinstance(error, ProblemError) and error.job is None
        if refused or not submitting or not keep:
            yield from _dropped(fresh)
        raise
    if not keep:
        yield from _dropped(fresh)
    return result


def _several(values: list[Converted], fresh: list[str], progress: Progress) -> Operation[list[Any]]:
    given: list[Any] = []
    while len(given) < len(values):
        given.append((yield from _given(values[len(given)], fresh, progress)))
    return given


def _given(value: Converted, fresh: list[str], progress: Progress) -> Operation[Any]:
    if isinstance(value, Inline):
        return value.values
    if isinstance(value, Reference):
        return value.id
    dataset = yield from uploaded(value, progress)
    fresh.append(str(dataset["id"]))
    return fresh[-1]


def _dropped(datasets: list[str]) -> Operation[None]:
    for dataset_id in datasets:
        yield from abandoned(f"/v1/datasets/{dataset_id}")


def removed(path: str) -> Operation[None]:
    """Remove a resource. Raises ProblemError, ConnectionFailed, UnexpectedResponse."""
    yield from sent(Request("DELETE", path))


def abandoned(path: str) -> Operation[None]:
    """Remove a resource if that is possible; the reason why it is no longer needed counts more."""
    with contextlib.suppress(UmbelError):
        yield from removed(path)


def _at_once(payload: Payload, further: Mapping[str, str]) -> Operation[dict[str, Any]]:
    content = _read(payload.source, 0, payload.source.length)
    media_type = payload.media_type or "application/octet-stream"
    headers = {"Content-Type": media_type, **new_key(), **further}
    request = Request("POST", "/v1/datasets", payload.query, headers, content, TIMEOUT_S)
    reply = yield from sent(request)
    return json_of(reply, "id", "status")


def _in_parts(
    payload: Payload, progress: Progress, resume: str | None, further: Mapping[str, str]
) -> Operation[dict[str, Any]]:
    upload_id, stored = yield from _begun(payload, resume)
    path = f"/v1/uploads/{upload_id}"
    bar = bar_of(progress, "uploading")
    length = payload.source.length
    whole = hashlib.sha256()
    try:
        for number, start in enumerate(range(0, length, PART_BYTES), start=1):
            stop = min(start + PART_BYTES, length)
            content = _read(payload.source, start, stop)
            whole.update(content)
            digest = hashlib.sha256(content).hexdigest()
            if stored.get(number) != digest:
                headers = {"Content-Type": "application/octet-stream"}
                query = {"sha256": digest}
                part = f"{path}/parts/{number}"
                yield from sent(Request("PUT", part, query, headers, content, TIMEOUT_S))
            bar.update(stop / length, f"{stop >> 20} of {length >> 20} MiB")
        n_parts = -(-length // PART_BYTES)
        body = {
            "sha256": whole.hexdigest(),
            "parts": [{"number": number} for number in range(1, n_parts + 1)],
        }
        complete = post(f"{path}/complete", body, headers=further, timeout_s=TIMEOUT_S)
        reply: Reply = yield from sent(complete)
        return json_of(reply, "id", "status")
    except ConnectionFailed as cut:
        raise UploadInterrupted(str(cut), upload_id) from cut
    except GeneratorExit:
        raise
    except BaseException:
        # Refused, or interrupted by Ctrl-C or the cancelling of a task.
        yield from abandoned(path)
        raise
    finally:
        bar.end()


def _begun(payload: Payload, resume: str | None) -> Operation[tuple[str, Mapping[int, str]]]:
    """The id of the upload, and the sha256 of the parts that it has."""
    if resume is not None:
        reply = yield from sent(Request("GET", f"/v1/uploads/{resume}"))
        earlier = json_of(reply, "id", "parts")
        return str(earlier["id"]), {part["number"]: part["sha256"] for part in earlier["parts"]}
    query = dict(payload.query)
    if payload.media_type is not None:
        query["media_type"] = payload.media_type
    reply = yield from sent(Request("POST", "/v1/uploads", query, new_key()))
    return str(json_of(reply, "id")["id"]), {}


def _read(source: Source, start: int, stop: int) -> bytes:
    """Raises InputError for a file that has changed or cannot be read."""
    role = "content"
    try:
        content = source.read(start, stop)
    except OSError as error:
        raise InputError(role, f"the file cannot be read: {error.strerror}.") from None
    if len(content) != stop - start:
        raise InputError(role, "the file became shorter while it was uploaded.")
    return content
