"""Long answers are sent in pieces, with the same content as short ones."""

from __future__ import annotations

import asyncio
import csv
import gc
import io
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.http import streaming, turns
from app.http.problems import Refused
from app.http.streaming import Stream, Turn, streamed, whole
from app.http.turns import ROOMS, Room, Taker, queue, taker
from app.resources.predictions import routes as predictions
from app.resources.trees.nodes import routes as nodes
from app.resources.trees.views import routes as views
from models.method import Predictions
from tests.app.conftest import Working
from tests.workers.waiting_kit import until
from workers.artifacts import results
from workers.artifacts.predictions import save_predictions

CHAIN = 3000


def placement(folder: Path, lengths: list[int]) -> predictions.Placement:
    """Predictions whose paths have these lengths."""
    start = np.append(0, np.cumsum(lengths)).astype(np.int64)
    node = np.concatenate([np.arange(n) for n in lengths]) if lengths else np.empty(0)
    share = 1.0 / (1.0 + node)
    leaf = np.array(lengths, np.int64) - 1
    save_predictions(Predictions(leaf, start, node.astype(np.int64), share), folder)
    placed = predictions.Placement.at(folder / results.PREDICTIONS)
    # A reader in the middle of the stream is not disturbed.
    (folder / results.PREDICTIONS).unlink()
    return placed


@pytest.mark.parametrize(
    "lengths",
    [[1], [3, 1, 2], [5000, 1, 5000], [2] * 9_000, [1] * 140_000],
    ids=["one", "few", "longer than a piece", "many", "several batches"],
)
def test_predictions_in_pieces(
    tmp_path: Path, lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "PIECE_NODES", 1000)
    placed = placement(tmp_path, lengths)
    expected = [
        {
            "leaf": length - 1,
            "path": list(range(length)),
            "probabilities": [1.0 / (1.0 + node) for node in range(length)],
        }
        for length in lengths
    ]
    written = {form.suffix: list(form.write(placed)) for form in predictions.FORMS}
    assert json.loads(b"".join(written["json"])) == {"items": expected}
    with pa.ipc.open_file(b"".join(written["arrow"])) as file:
        assert file.read_all().equals(placed.table)
    table = list(csv.reader(io.StringIO(b"".join(written["csv"]).decode())))
    assert table[0] == ["row", "leaf", "path", "probabilities"]
    assert [int(row[0]) for row in table[1:]] == list(range(len(lengths)))
    assert [int(row[1]) for row in table[1:]] == [length - 1 for length in lengths]
    assert table[-1][2].split() == [str(node) for node in range(lengths[-1])]
    if sum(lengths) > 3 * predictions.PIECE_NODES:
        assert len(written["json"]) > 3


def test_no_predictions(tmp_path: Path) -> None:
    assert json.loads(b"".join(predictions.FORMS[0].write(placement(tmp_path, [])))) == {
        "items": []
    }


def chain(working: Working) -> str:
    """A chain: 0 - 1 - 2 - ... - the only leaf."""
    nodes = [
        {"id": n, "parent": n - 1 if n else None, "name": f"n{n}", "path": "mine", "children": 1}
        for n in range(CHAIN)
    ]
    answer = working.client.post("/v1/trees", json={"nodes": nodes})
    assert answer.status_code == 201, answer.text
    return f"/v1/trees/{answer.json()['id']}"


def test_views_of_a_deep_tree(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small pieces, so that answers in several pieces are put together again.
    monkeypatch.setattr(streaming, "WHOLE_BYTES", 1000)
    for module, name, size in ((views.parts, "ITEMS", 7), (nodes, "IDS", 100)):
        monkeypatch.setattr(module, name, size)
    tree = chain(working)
    ids = list(range(CHAIN))
    answer = working.client.get(f"{tree}/nodes/{CHAIN - 1}")
    node = answer.json()
    assert node["path"] == ids
    assert node["children"] == []
    assert node["depth"] == CHAIN - 1
    # A tree's own fields neither hide the service's nor appear twice.
    assert answer.text.count('"path"') == 1
    assert answer.text.count('"children"') == 1

    first = working.client.get(f"{tree}/search?q=n&limit=3&cursor={CHAIN - 2}")
    assert [hit["node"] for hit in first.json()["items"]] == [CHAIN - 2, CHAIN - 1]
    assert first.json()["items"][-1]["path"] == ids
    assert first.json()["next_cursor"] is None
    assert "link" not in first.headers
    page = working.client.get(f"{tree}/search?q=n&limit=2")
    assert page.json()["next_cursor"] == "2"
    assert 'rel="next"' in page.headers["link"]
    assert working.client.get(f"{tree}/search?q=zebra").json() == {
        "items": [],
        "next_cursor": None,
    }

    view = working.client.get(f"{tree}/view?max_nodes={CHAIN}").json()
    assert [node["id"] for node in view["nodes"]] == ids
    assert (view["root"], view["max_nodes"]) == (0, CHAIN)
    assert working.client.get(f"{tree}/view?root={CHAIN}").status_code == 422


class Held(bytearray):
    """What a response is made of."""


class Reader:
    """A client of an ASGI response that takes `most` pieces, and then leaves or reads no more."""

    def __init__(self, response: Any, most: int, *, stays: bool = False) -> None:
        self.sent: list[dict[str, Any]] = []
        self.left = asyncio.Event()
        self.stuck = asyncio.Event()
        self._most, self._stays = most, stays
        self.task = asyncio.create_task(response({"type": "http"}, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)
        if len(self.sent) > self._most:
            self.stuck.set()
            if self._stays:
                await self.left.wait()
            self.left.set()
            await asyncio.sleep(0)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def test_what_a_broken_off_response_holds_is_let_go_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streaming, "WHOLE_BYTES", 10)
    held: list[weakref.ref[Held]] = []
    ended = []

    def chunks() -> Iterator[bytes]:
        own = Held(b"x" * 8)
        held.append(weakref.ref(own))
        try:
            while True:
                yield bytes(own)
        finally:
            ended.append(True)

    async def read() -> None:
        for most in (0, 1, 2, 5):
            response = await streamed(chunks(), Turn("look", waits=True))
            await Reader(response, most).task
            unsent = await streamed(chunks(), Turn("look", waits=True))
            del response, unsent
        assert queue("stream").n_running == 0

    gc.collect()
    gc.disable()
    try:
        asyncio.run(read())
        assert len(held) == 8
        # The thread that made the first pieces holds its last call a moment longer.
        until(lambda: len(ended) == 8)
        assert not any(each() for each in held)
    finally:
        gc.enable()


def test_slow_readers_are_bounded_by_link_and_by_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST_WAIT_S", 0.0)
    monkeypatch.setitem(ROOMS, "stream", Room(4, 3, 2))
    monkeypatch.setattr(streaming, "WHOLE_BYTES", 10)
    link, key, other = Taker("a", "sh_1", link=True), Taker("a"), Taker("b")

    async def read() -> None:
        begun = []
        for who in (link, link, link, key, key, other):
            taker.set(who)
            reader = Reader(whole(b"x" * 20, "text/plain"), 1, stays=True)
            stuck = asyncio.create_task(reader.stuck.wait())
            await asyncio.wait({reader.task, stuck}, return_when=asyncio.FIRST_COMPLETED)
            stuck.cancel()
            if reader.task.done():
                assert isinstance(reader.task.exception(), Refused)
                # Nothing was sent, so that the refusal can be.
                assert not reader.sent
            else:
                begun.append((who, reader))
        assert [who for who, _ in begun] == [link, link, key, other]
        for _, reader in begun:
            reader.left.set()
            await reader.task
        assert queue("stream").n_running == 0

    asyncio.run(read())


def test_a_long_content_is_sent_in_pieces_with_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_PIECE_BYTES", 100)

    async def read() -> None:
        content = bytes(range(256)) * 1100
        response = whole(content, "image/png", {"ETag": '"a"'})
        assert isinstance(response, Stream)
        reader = Reader(response, 10**6)
        await reader.task
        assert reader.body == content
        assert len(reader.sent) > 1000
        headers = dict(reader.sent[0]["headers"])
        assert (headers[b"content-length"], headers[b"etag"]) == (b"281600", b'"a"')
        assert not isinstance(whole(b"short", "image/png"), Stream)

    asyncio.run(read())
