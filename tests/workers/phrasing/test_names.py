"""Names phrased by a language model: what is sent, the bounds, and what a failure leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import redis

from tests.workers.phrasing.chat_kit import ChatServer, chatting, completion
from workers.artifacts.results import NAMES
from workers.formats.table_writers import save_arrow
from workers.model import Request, now
from workers.phrasing import names as module
from workers.phrasing.chat import Chat
from workers.phrasing.names import asks_model, phrased
from workers.settings import WorkerSettings
from workers.webhooks.questions import NotAnswered
from workers.work.job import Outcome


class Kept:
    """The part of Redis that keeps answers."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.lasts: set[int] = set()
        self.fails = False

    def mget(self, keys: list[str]) -> list[bytes | None]:
        if self.fails:
            raise redis.ConnectionError
        return [self.values[key].encode() if key in self.values else None for key in keys]

    def pipeline(self, transaction: bool) -> Kept:
        if self.fails:
            raise redis.ConnectionError
        return self

    def set(self, key: str, name: str, ex: int) -> None:
        self.values[key] = name
        self.lasts.add(ex)

    def execute(self) -> None:
        pass


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with chatting() as server:
        yield server


def settings(chat: ChatServer, **changes: Any) -> WorkerSettings:
    values = {
        "naming_url": chat.url,
        "naming_key": "k3y",
        "naming_model": "small",
        "webhook_allow": "127.0.0.0/8",
    }
    return WorkerSettings(**{**values, **changes})


def request(tenant: str = "ada", by: str = "model", kind: Any = "name") -> Request:
    options = {"tree": "tr_x", "by": by}
    return Request(
        id="job_x", tenant=tenant, kind=kind, method="name", options=options, created_at=now()
    )


def outcome(folder: Path, n_nodes: int = 3) -> Outcome:
    """Nodes 1 to n below the root, each with the evidence `term <node>`; the first is largest."""
    nodes = list(range(n_nodes + 1))
    table = pa.table(
        {
            "node": nodes,
            "parent": [-1, *[0] * n_nodes],
            "size": [100, *range(n_nodes, 0, -1)],
            "name": [f"by terms {node}" for node in nodes],
            "by": ["terms"] * len(nodes),
            "evidence": [f"term {node}" for node in nodes],
            "question": [None, *(f"mentions {node}?" for node in nodes[1:])],
        }
    )
    save_arrow(table, folder / NAMES)
    facts = {"by": "model", "evidence": "terms", "n_named": len(nodes), "sent": None}
    return Outcome(result={"tree": "tr_x", "naming": facts}, warnings=("before",))


def run(
    chat: ChatServer, folder: Path, n_nodes: int = 3, kept: Kept | None = None, **changes: Any
) -> tuple[Outcome, list[dict[str, Any]]]:
    tenant = changes.pop("tenant", "ada")
    own: Any = Kept() if kept is None else kept
    found = phrased(
        settings(chat, **changes), own, request(tenant), outcome(folder, n_nodes), folder
    )
    return found, pa.ipc.open_file((folder / NAMES).read_bytes()).read_all().to_pylist()


def sent(found: Outcome) -> dict[str, Any]:
    assert found.result is not None
    return dict(found.result["naming"]["sent"])


def test_every_node_is_in_a_question_with_its_siblings(chat: ChatServer, tmp_path: Path) -> None:
    found, rows = run(chat, tmp_path)
    assert [(row["name"], row["by"]) for row in rows] == [
        (f"TERM {node}", "model") for node in range(4)
    ]
    assert found.warnings == ("before",)
    (question,) = chat.questions
    assert list(question) == ["0", "1", "2", "3"]
    assert question["0"] == {"evidence": "term 0", "siblings": []}
    assert question["2"] == {"evidence": "term 2", "siblings": ["term 1", "term 3"]}
    (received,) = chat.receiver.requests
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == "Bearer k3y"
    assert (received.content["model"], received.content["temperature"]) == ("small", 0)
    report = sent(found)
    assert report["to"] == f"127.0.0.1:{chat.receiver.port}"
    assert (report["model"], report["n_nodes"], report["n_kept"]) == ("small", 4, 0)
    assert 0 < report["n_tokens"] < 1000


def test_answers_are_kept_for_the_same_tenant_model_and_evidence(
    chat: ChatServer, tmp_path: Path
) -> None:
    kept = Kept()
    run(chat, tmp_path, kept=kept)
    assert kept.lasts == {module.KEPT_S}
    found, rows = run(chat, tmp_path, kept=kept)
    assert (sent(found)["n_nodes"], sent(found)["n_kept"], sent(found)["n_tokens"]) == (0, 4, 0)
    assert {row["by"] for row in rows} == {"model"}
    assert len(chat.questions) == 1
    for changes in ({"tenant": "bob"}, {"naming_model": "large"}):
        found, _ = run(chat, tmp_path, kept=kept, **changes)
        assert sent(found)["n_nodes"] == 4
    # Each of four siblings has another one, so that questions are sent for all, but the root.
    found, _ = run(chat, tmp_path, n_nodes=4, kept=kept)
    assert sent(found)["n_kept"] == 1
    kept.fails = True
    found, _ = run(chat, tmp_path, kept=kept)
    assert (sent(found)["n_nodes"], found.warnings) == (4, ("before",))


def test_bounds_of_nodes_and_tokens(chat: ChatServer, tmp_path: Path) -> None:
    found, rows = run(chat, tmp_path, n_nodes=49, naming_nodes=25)
    assert [len(question) for question in chat.questions] == [module.TOGETHER, 5]
    assert sum(row["by"] == "model" for row in rows) == 25
    assert rows[49] == {**rows[49], "by": "terms", "name": "by terms 49"}
    assert "named 25 of 50 nodes; the others are named by terms. 25 nodes" in found.warnings[-1]
    (first, _) = chat.receiver.requests
    n_tokens = sent(found)["n_tokens"]
    assert len(first.body) / 4 < n_tokens
    found, rows = run(chat, tmp_path, n_nodes=49, naming_tokens=n_tokens // 2)
    assert sent(found)["n_nodes"] <= module.TOGETHER
    assert f"{n_tokens // 2} tokens are the most" in found.warnings[-1]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (500, "HTTP 500"),
        (302, "HTTP 302"),
        (b"hello", "not that of a chat endpoint"),
        (b'{"choices": []}', "not that of a chat endpoint"),
        (completion("I would rather not."), "has no names"),
        (completion('{"1": {"title": "x"}, "7": "y", "2": "  ", "3": [4]}'), "gave no name"),
        (b" " * (1 << 21), "more than 1048576 bytes"),
    ],
)
def test_what_does_not_answer_leaves_the_names_by_terms(
    chat: ChatServer, tmp_path: Path, answer: Any, why: str
) -> None:
    chat.next(answer)
    found, rows = run(chat, tmp_path)
    assert {row["by"] for row in rows} == {"terms"}
    assert found.error is None
    assert "named 0 of 4 nodes; the others are named by terms" in found.warnings[-1]
    assert why in found.warnings[-1]


def test_a_slow_one_a_private_one_and_none(chat: ChatServer, tmp_path: Path) -> None:
    chat.receiver.answers[:0] = [chat.receiver.hang]
    found, _ = run(chat, tmp_path, naming_timeout_s=0.2)
    assert "no answer within 0.2 s" in found.warnings[-1]
    found, _ = run(chat, tmp_path, webhook_allow="")
    assert "address" in found.warnings[-1]
    assert len(chat.receiver.requests) == 1
    found, rows = run(chat, tmp_path, naming_url="")
    assert "no language model; names are by terms" in found.warnings[-1]
    assert {row["by"] for row in rows} == {"terms"}


def test_names_are_short_lines_of_text(chat: ChatServer, tmp_path: Path) -> None:
    chat.next(completion('{"0": "a\\n b\\u0000\\u202e", "1": "' + "x" * 500 + '", "2": "ü"}'))
    found, rows = run(chat, tmp_path)
    assert [row["name"] for row in rows] == ["a b", "x" * 60, "ü", "by terms 3"]
    assert "named 3 of 4" in found.warnings[-1]


def test_a_question_that_the_model_gives_with_a_name(chat: ChatServer, tmp_path: Path) -> None:
    given = {
        "0": {"name": "all", "question": "Is it anything?"},
        "1": {"name": "cats", "question": " Does it\nmeow? "},
        "2": {"name": "dogs", "question": 5},
        "3": {"question": "Does it fly?"},
    }
    chat.next(completion(json.dumps(given)))
    kept = Kept()
    _, rows = run(chat, tmp_path, kept=kept)
    expected = [
        ("all", None),  # The root has no siblings.
        ("cats", "Does it meow?"),
        ("dogs", "mentions 2?"),
        ("by terms 3", "mentions 3?"),
    ]
    assert [(row["name"], row["question"]) for row in rows] == expected
    chat.next(500)
    again, rows = run(chat, tmp_path, kept=kept)
    assert [(row["name"], row["question"]) for row in rows] == expected
    assert sent(again)["n_kept"] == 3


def test_where_a_model_is_used() -> None:
    assert Chat.of(WorkerSettings()) is None
    assert asks_model(request(), Outcome())
    assert not asks_model(request(by="terms"), Outcome())
    assert not asks_model(request(kind="fit"), Outcome())
    assert not asks_model(request(), Outcome(error={"type": "/problems/x"}))
    with pytest.raises(NotAnswered, match="refused"):
        Chat.of(WorkerSettings(naming_url="http://127.0.0.1:9", webhook_allow="127.0.0.1")).phrase(
            "", "", 1
        )  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "url", ["example.org", "ftp://example.org", "https://u:p@example.org", "https://a/?k=1", "x:"]
)
def test_addresses_that_cannot_be(url: str) -> None:
    with pytest.raises(ValueError, match="write the address of an endpoint"):
        WorkerSettings(naming_url=url)
