"""A new dataset on its way into the store: bounded, recognised, streamed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from fastapi import Request

from app.creation.allowances import Allowance
from app.http import threads
from app.http.bodies import content_length
from app.http.dependencies import Service
from app.http.pacing import pace
from app.http.problems import Refused
from app.http.streaming import Turn, in_turn
from app.http.turns import taker
from models.roles import role_of
from workers.artifacts.datasets import Dataset
from workers.child.json_facts import facts_apart
from workers.formats import catalogue, encodings, json_tables, packed
from workers.formats import json as json_format
from workers.formats.column_roles import UNCHOSEN, Choice
from workers.formats.csv_dialect import AS_FOUND
from workers.formats.facts import Facts
from workers.formats.table_files import TABULAR
from workers.model import now

HEAD_BYTES = 64 << 10
"""Enough to recognise a format, and to hold a whole npy header."""

PARSED_HERE_BYTES = 128 << 10
"""A longer JSON document is parsed in a separate process: in this one it would hold up others."""

CHECK_ROOM_EVERY = 64 << 20


@dataclass(frozen=True)
class NewDataset:
    """A dataset that is about to be stored, as the request describes it."""

    tenant: str
    dataset_id: str
    name: str | None
    role: str | None
    member: str | None
    media_type: str | None
    n_features: int | None = None
    choice: Choice = UNCHOSEN
    key: str | None = None
    expires_at: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()


async def receive(
    service: Service, request: Request, new: NewDataset, allowance: Allowance
) -> Dataset:
    """Stream the body into the store; the dataset, which does not exist yet (see `create`).

    Its status is `ready` if npy or small JSON shows its shape at once, else `inspecting`, also for
    long text in npy. Nothing is left if this raises: Refused `too-large`, `full`, `empty`;
    OverLimit; UsageError for a format that is not read or content that is not in its format.
    """
    stated = content_length(request)
    limit = service.settings.max_upload_bytes
    body = bounded_body(service, request, allowance)
    return await store(service, new, body, stated, allowance, limit)


async def read_anew(
    service: Service, request: Request, source: Dataset, new: NewDataset, allowance: Allowance
) -> Dataset:
    """As `receive`, from the file of an earlier dataset, whose name, role, member and number of
    features are taken where the new one has none.

    Raises Refused `invalid-request` where the request has a body too.
    """
    if content_length(request) or request.headers.get("transfer-encoding"):
        raise Refused(
            "invalid-request",
            "`from` names the dataset whose file is read anew; send no body with it.",
        )
    require_room(service, source.bytes)
    new = replace(
        new,
        media_type=catalogue.FORMATS[source.format].media_types[0],
        name=source.name if new.name is None else new.name,
        role=source.role if new.role is None else new.role,
        member=source.member if new.member is None else new.member,
        n_features=source.n_features if new.n_features is None else new.n_features,
    )

    async def chunks() -> AsyncIterator[bytes]:
        pieces = service.blobs.read(service.datasets.content_key(source.tenant, source.id))
        size = 0
        while (piece := await threads.run_sync(next, pieces, b"")) != b"":
            size += len(piece)
            await allowance.grow(size)
            yield piece

    return await store(service, new, chunks(), source.bytes, allowance, source.bytes)


async def store(
    service: Service,
    new: NewDataset,
    chunks: AsyncIterator[bytes],
    stated: int | None,
    allowance: Allowance,
    limit: int,
) -> Dataset:
    """As `receive`, from chunks with `stated` bytes in total, if that is known.

    A packed file is unpacked on the way, and text in UTF-16 becomes UTF-8: what is stored, counted
    and hashed is the file inside, of at most `limit` bytes.
    """
    head, rest = await _head(chunks)
    coding, media_type = packed.coding_of(head), new.media_type
    stated_type = (media_type or "").partition(";")[0].strip().lower()
    if stated_type in packed.MEDIA_TYPES:
        media_type = None
    if coding == "zip" and stated_type not in catalogue.TEXTS:
        media_type = packed.inner_type(head)
    if coding is not None:
        head, rest = await _head(_unpacked(service, rest, coding, allowance, limit))
        stated = None
    encoding = catalogue.text_encoding(head)
    if encoding is not None:
        head, rest = await _head(_recoded(rest, encoding))
        stated = None
    if not head:
        raise Refused("empty", "The body is empty; send the file itself as the body.")
    file_format = catalogue.format_of(media_type, head[:HEAD_BYTES], new.role)
    catalogue.require_reader(file_format)
    if new.n_features is not None and file_format != "libsvm":
        raise Refused(
            "invalid-request",
            f"n_features declares the width of libsvm files; this file is {file_format}, which "
            "has its own width.",
        )
    _require_table(new, file_format)
    if stated is not None:
        # Refuse a broken or pickled npy before gigabytes of it are stored.
        catalogue.peek(file_format, head[:HEAD_BYTES], stated)
    stored = await service.datasets.receive(new.tenant, new.dataset_id, rest)
    try:
        facts = catalogue.peek(file_format, stored.head, stored.length)
        at_once = stored.length <= _parsed_at_once(service) and not _is_table(stored.head, new.role)
        if facts is None and file_format == "json" and at_once:
            facts = await _open_json(service, new, stored.length)
    except BaseException:
        await threads.run_sync(service.datasets.discard, new.tenant, new.dataset_id)
        raise
    return Dataset(
        id=new.dataset_id,
        tenant=new.tenant,
        name=new.name,
        role=new.role,
        status="inspecting" if facts is None else "ready",
        format=file_format,
        member=new.member,
        shape=None if facts is None else facts.shape,
        dtype=None if facts is None else facts.dtype,
        bytes=stored.length,
        sha256=stored.sha256,
        created_at=now(),
        problem=None,
        n_features=new.n_features,
        choice=new.choice,
        columns=None if facts is None else facts.columns or None,
        warnings=() if facts is None else facts.warnings,
        key=new.key,
        expires_at=new.expires_at,
        description=new.description,
        tags=new.tags,
    )


def _require_table(new: NewDataset, file_format: str) -> None:
    """Raises Refused where the request says of a table what this file does not have."""
    if new.choice and file_format not in TABULAR:
        raise Refused(
            "invalid-request",
            f"Columns are chosen by name in tables ({', '.join(sorted(TABULAR))}); this file is "
            f"{file_format}, whose columns have no names.",
        )
    if new.choice.csv != AS_FOUND and file_format != "csv":
        raise Refused(
            "invalid-request",
            "delimiter, decimal, thousands and header say how a CSV file is written; this file is "
            f"{file_format}.",
        )


def _is_table(head: bytes, role: str | None) -> bool:
    """Whether a JSON document seems to be a table, which a worker reads as a table."""
    items = role is not None and role_of(role).table
    return not items and json_tables.begins(head)


def create(service: Service, dataset: Dataset, request_id: str) -> None:
    """Create the dataset, and let a worker open it if needed; blocks."""
    if dataset.status == "inspecting":
        service.ledger.inspections.create(dataset, request_id)
    else:
        service.datasets.create(dataset)


def bounded_body(service: Service, request: Request, allowance: Allowance) -> AsyncIterator[bytes]:
    """The body of a request in chunks, while it is not too large, the store has room, and the
    caller may keep it.

    Raises Refused `too-large` or `full`, before the first chunk if its length is declared.
    """
    stated = content_length(request)
    limit = service.settings.max_upload_bytes
    if stated is not None and stated > limit:
        raise _past_one_request(limit)
    require_room(service, stated or 0)
    return _bounded(service, request, limit, allowance)


def _parsed_at_once(service: Service) -> int:
    return service.settings.max_parsed_json_bytes


async def _open_json(service: Service, new: NewDataset, length: int) -> Facts:
    key = service.datasets.content_key(new.tenant, new.dataset_id)
    role = new.role if new.role and role_of(new.role).by_role else None
    if length <= PARSED_HERE_BYTES:
        return await threads.run_sync(lambda: json_format.facts(service.blobs.get(key), role))
    apart = Turn("json", waits=True)
    return await in_turn(lambda: facts_apart(service.blobs.get(key), role), apart)


async def _bounded(
    service: Service, request: Request, limit: int, allowance: Allowance
) -> AsyncIterator[bytes]:
    size = checked = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _past_one_request(limit)
        await allowance.grow(size)
        if size - checked >= CHECK_ROOM_EVERY:
            checked = size
            await threads.run_sync(require_room, service, 0)
        if chunk:
            yield chunk


async def _unpacked(
    service: Service,
    chunks: AsyncIterator[bytes],
    coding: packed.Coding,
    allowance: Allowance,
    limit: int,
) -> AsyncIterator[bytes]:
    """The content of a packed file, in pieces.

    Raises Refused `too-large` or `full`, OverLimit, and UsageError as `packed.Unpacker`.
    """
    unpacker = packed.Unpacker(coding)
    size = checked = 0
    async for chunk in chunks:
        pieces = unpacker.feed(chunk)
        while (piece := await threads.run_sync(next, pieces, b"")) != b"":
            size += len(piece)
            if size > limit:
                raise Refused(
                    "too-large",
                    f"The {coding} file may have at most {limit} bytes when it is unpacked.",
                    limit=limit,
                )
            await allowance.grow(size)
            if size - checked >= CHECK_ROOM_EVERY:
                checked = size
                await threads.run_sync(require_room, service, 0)
            await pace().unpack(taker.get(), len(piece))
            yield piece
    unpacker.end()


async def _recoded(chunks: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """Text as UTF-8. Raises UsageError as `encodings.Recoder`."""
    recoder = encodings.Recoder(encoding)
    async for chunk in chunks:
        for piece in recoder.feed(chunk):
            yield piece
    for piece in recoder.feed(b"", last=True):
        yield piece


async def _head(chunks: AsyncIterator[bytes]) -> tuple[bytes, AsyncIterator[bytes]]:
    """The first 64 KiB or more (all of a shorter one), and everything from the start."""
    pieces = []
    size = 0
    async for chunk in chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size >= HEAD_BYTES:
            break
    head = b"".join(pieces)

    async def everything() -> AsyncIterator[bytes]:
        yield head
        async for chunk in chunks:
            yield chunk

    return head, everything()


def _past_one_request(limit: int) -> Refused:
    detail = (
        f"One request may have at most {limit} bytes; send a larger file in parts: /v1/uploads."
    )
    return Refused("too-large", detail, limit=limit)


def require_room(service: Service, needed: int) -> None:
    """Raise Refused `full` where the store has no room for this many more bytes."""
    free = service.blobs.free_bytes()
    if free is not None and free - service.settings.min_free_bytes < max(needed, 1):
        left = max(0, free - service.settings.min_free_bytes)
        raise Refused(
            "full",
            f"The store has room for {left} bytes, too little for this upload; delete datasets, "
            "jobs or trees that are no longer needed.",
        )
