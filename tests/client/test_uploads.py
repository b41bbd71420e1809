"""Uploads against a server that keeps parts, cuts connections and refuses."""

from __future__ import annotations

import asyncio
import gc
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.client.fault_server_kit import (
    CUT,
    Answer,
    Call,
    FaultServer,
    Request,
    operation,
    problem,
    run_both,
    twin,
)
from umbel_client import encodings, problems
from umbel_client.core import uploads
from umbel_client.encodings import Payload
from umbel_client.errors import InputError, UploadInterrupted, WaitTimeout
from umbel_client.inputs import Inline, Inputs, Reference, converted

PART = 1000
DATASET = {"id": "ds_1", "status": "ready"}

uploaded = operation(uploads.uploaded)


def supplied(inputs: Inputs, use: Callable[[dict[str, object]], object], *, keep: bool) -> Call:
    """What `use` gives with the inputs as the service takes them."""
    return Call(_used, (inputs, use), {"keep": keep}, _async_used)


def _used(
    connection: Any, inputs: Inputs, use: Callable[[dict[str, object]], object], *, keep: bool
) -> object:
    with uploads.supplied(connection, inputs, keep=keep) as given:
        return use(given)


async def _async_used(
    connection: Any, inputs: Inputs, use: Callable[[dict[str, object]], object], *, keep: bool
) -> object:
    async with twin(uploads.supplied)(connection, inputs, keep=keep) as given:
        return use(given)


class Store:
    """The service's side of an upload in parts. faults : what happens to a request, by its place
    among those for the same path."""

    def __init__(self, faults: dict[str, list[Answer]] | None = None) -> None:
        self.parts: dict[int, bytes] = {}
        self.deleted: list[str] = []
        self.faults = faults or {}

    def __call__(self, request: Request) -> Answer:
        waiting = self.faults.get(f"{request.method} {request.path}")
        if waiting:
            return waiting.pop(0)
        name = request.path.rpartition("/")[2]
        if request.method == "DELETE":
            self.deleted.append(request.path)
            return Answer(204)
        if request.method == "PUT":
            assert request.query["sha256"] == [hashlib.sha256(request.content).hexdigest()]
            self.parts[int(name)] = request.content
            return Answer(204)
        if name == "complete":
            whole = b"".join(self.parts[number] for number in sorted(self.parts))
            assert request.json()["sha256"] == hashlib.sha256(whole).hexdigest()
            assert [part["number"] for part in request.json()["parts"]] == sorted(self.parts)
            return Answer(201, DATASET)
        if request.method == "GET":
            parts = [
                {"number": number, "sha256": hashlib.sha256(part).hexdigest()}
                for number, part in self.parts.items()
            ]
            return Answer(200, {"id": "up_1", "parts": parts})
        return Answer(201, {"id": "up_1", "parts": []} if name == "uploads" else DATASET)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "PART_BYTES", PART)


def payload(n_values: int = 500) -> Payload:
    return encodings.npy(np.arange(n_values, dtype=np.float64))


def content(of: Payload) -> bytes:
    return of.content.read(0, of.content.length)


def test_small_content_goes_in_one_request(server: FaultServer, kind: str) -> None:
    server.answer = Store()
    small = payload(10)
    assert run_both(kind, server, uploaded(small)) == DATASET
    assert server.paths() == ["POST /v1/datasets"]
    assert server.requests[0].content == content(small)
    assert server.requests[0].headers["Content-Type"] == "application/x-npy"
    assert server.requests[0].headers["Idempotency-Key"]


def test_large_content_goes_in_parts_that_survive_cuts(server: FaultServer, kind: str) -> None:
    store = Store(
        {
            "PUT /v1/uploads/up_1/parts/2": [CUT, problem(503, "unavailable")],
            "POST /v1/uploads/up_1/complete": [CUT],
        }
    )
    server.answer = store
    large = payload()
    fractions: list[float] = []
    result = run_both(kind, server, uploaded(large, lambda done, _: fractions.append(done)))
    assert result == DATASET
    assert b"".join(store.parts[number] for number in sorted(store.parts)) == content(large)
    assert max(map(len, store.parts.values())) == PART
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert not store.deleted


def test_no_part_is_held_once_it_was_sent(
    server: FaultServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in circles of responses and their requests either, which only the collector frees."""
    monkeypatch.setattr(encodings, "PART_BYTES", 1 << 20)
    server.answer = Store()
    large = payload(1 << 18)
    gc.collect()
    gc.disable()
    try:
        run_both(kind, server, uploaded(large))
        held = [each for each in gc.get_objects() if isinstance(each, httpx.Request)]
        # Bytes are not tracked; what refers to them is.
        referred = [of for each in held for of in gc.get_referents(*gc.get_referents(each))]
        assert all(len(of) < 1 << 20 for of in referred if isinstance(of, bytes))
    finally:
        gc.enable()


def test_an_upload_that_was_cut_off_is_resumed(server: FaultServer, kind: str) -> None:
    store = Store({"PUT /v1/uploads/up_1/parts/3": [CUT, CUT]})
    server.answer = store
    with pytest.raises(UploadInterrupted, match="resume='up_1'") as caught:
        run_both(kind, server, uploaded(payload()), retries=1)
    assert sorted(store.parts) == [1, 2]
    assert not store.deleted
    server.requests.clear()
    assert run_both(kind, server, uploaded(payload(), resume=caught.value.upload)) == DATASET
    sent = [request.path for request in server.requests if request.method == "PUT"]
    assert sent == [f"/v1/uploads/up_1/parts/{number}" for number in (3, 4, 5)]


def test_a_refused_upload_leaves_nothing(server: FaultServer, kind: str) -> None:
    store = Store({"PUT /v1/uploads/up_1/parts/2": [problem(507, "full", "No room.")]})
    server.answer = store
    with pytest.raises(problems.Full, match="No room"):
        run_both(kind, server, uploaded(payload()))
    assert store.deleted == ["/v1/uploads/up_1"]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, asyncio.CancelledError])
def test_an_interrupted_upload_leaves_nothing(
    server: FaultServer, kind: str, interruption: type[BaseException]
) -> None:
    store = Store()
    server.answer = store

    def interrupt(done: float, _: str) -> None:
        if done > 0.4:
            raise interruption

    with pytest.raises(interruption):
        run_both(kind, server, uploaded(payload(), interrupt))
    assert store.deleted == ["/v1/uploads/up_1"]


def test_a_file_is_read_part_by_part(server: FaultServer, tmp_path: Path) -> None:
    store = Store()
    server.answer = store
    path = tmp_path / "rows.csv"
    path.write_bytes(b"1,2\n" * 700)
    described = converted("features", path)
    assert isinstance(described, Payload)
    run_both("sync", server, uploaded(described))
    assert b"".join(store.parts[number] for number in sorted(store.parts)) == path.read_bytes()
    assert server.requests[0].query["media_type"] == ["text/csv"]
    assert server.requests[0].query["name"] == ["rows.csv"]
    path.write_bytes(b"1,2\n")
    with pytest.raises(InputError, match="became shorter"):
        run_both("sync", server, uploaded(described))


@pytest.mark.parametrize("keep", [True, False])
def test_uploads_of_refused_work_are_removed(server: FaultServer, kind: str, *, keep: bool) -> None:
    store = Store()
    server.answer = store

    def refused(given: dict[str, object]) -> object:
        assert given == {"features": "ds_1", "labels": ["a", "b"], "base": "job_1"}
        raise problems.WrongInput({"type": "/problems/wrong-input", "detail": "Wrong."})

    inputs = {
        "features": payload(4),
        "labels": Inline(["a", "b"]),
        "base": Reference("job_1"),
    }
    with pytest.raises(problems.WrongInput):
        run_both(kind, server, supplied(inputs, refused, keep=keep))
    assert store.deleted == ["/v1/datasets/ds_1"]


@pytest.mark.parametrize("keep", [True, False])
def test_uploads_of_accepted_work_stay_only_where_a_job_names_them(
    server: FaultServer, kind: str, *, keep: bool
) -> None:
    store = Store()
    server.answer = store

    def used(_: dict[str, object]) -> object:
        return "done"

    def goes_on(_: dict[str, object]) -> object:
        raise WaitTimeout("job_1", 1.0)

    with pytest.raises(WaitTimeout):
        run_both(kind, server, supplied({"features": payload(4)}, goes_on, keep=keep))
    assert store.deleted == []
    assert run_both(kind, server, supplied({"features": payload(4)}, used, keep=keep)) == "done"
    assert store.deleted == ([] if keep else ["/v1/datasets/ds_1"])


def test_inputs_before_a_refused_one_are_removed(server: FaultServer, kind: str) -> None:
    store = Store({"POST /v1/datasets": [Answer(201, DATASET), problem(413, "too-large")]})
    server.answer = store

    def never(_: dict[str, object]) -> object:
        raise AssertionError("used although an upload was refused")

    inputs = {"features": payload(4), "distances": payload(4)}
    with pytest.raises(problems.TooLarge):
        run_both(kind, server, supplied(inputs, never, keep=True))
    assert store.deleted == ["/v1/datasets/ds_1"]
