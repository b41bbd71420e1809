"""What describes work, who hears of its end, and when it may be removed: every call that requests
work passes it on, and so does every command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.client.fault_server_kit import Answer, FaultServer, Request, problem
from tests.conftest import ROOT
from umbel_client import Model, Tree, Umbel
from umbel_client.commands import main
from umbel_client.core.facts import TreeFacts
from umbel_client.core.fields import Expiry, expiry
from umbel_client.errors import InputError
from umbel_client.problems import InvalidRequest

ROWS = [[0.0, 1.0], [1.0, 0.0], [4.0, 4.0]]
LABELS = [0, 0, 1]
WHEN = datetime(2099, 1, 31, 2, tzinfo=timezone(timedelta(hours=2)))
SENT = "2099-01-31T00:00:00+00:00"
HOOK = "https://example.org/hook"
WORK: dict[str, Any] = {
    "name": "week 3",
    "description": "a note",
    "tags": ["paper", "b"],
    "webhook": HOOK,
    "expires_at": WHEN,
}
RETRYING: dict[str, Any] = {"attempts": 5, "backoff": 2.5, "retry_on": ["full", "internal"]}
ALL: dict[str, Any] = {**WORK, "retrying": RETRYING}
FIELDS: dict[str, Any] = {**WORK, "expires_at": SENT, **RETRYING}


def tree(umbel: Umbel) -> Tree:
    facts = TreeFacts("tr_1", None, "hac", "hierarchy", None, None, 3, 3, "")
    return Tree(umbel._connection, facts)


def model(umbel: Umbel) -> Model:
    return Model(umbel._connection, {"id": "md_1", "inputs": ["features"]})


CALLS: dict[str, Callable[..., object]] = {
    "run": lambda u, **work: u.run("hac", features=ROWS, **work),
    "submit": lambda u, **work: u.submit("hac", features=ROWS, **work),
    "function": lambda u, **work: u.methods.hac(features=ROWS, **work),
    "embed": lambda u, **work: u.embed(["a fox"], **work),
    "compare": lambda u, **work: u.compare(["hac"], features=ROWS, **work),
    "consensus": lambda u, **work: u.consensus(["tr_1", "tr_2"], **work),
    "evaluate a tree": lambda u, **work: tree(u).evaluate(LABELS, **work),
    "predict by a tree": lambda u, **work: tree(u).predict(features=ROWS, **work),
    "calibrate": lambda u, **work: tree(u).calibrate(LABELS, features=ROWS, **work),
    "drift": lambda u, **work: tree(u).drift({"features": ROWS}, {"features": ROWS}, **work),
    "place": lambda u, **work: tree(u).place_in(["a/0", "a/1", "b/2"], **work),
    "map": lambda u, **work: tree(u).map(**work),
    "lay out": lambda u, **work: tree(u).lay_out(**work),
    "heatmap": lambda u, **work: tree(u).heatmap(**work),
    "name nodes": lambda u, **work: tree(u).name_nodes("labels", labels=LABELS, **work),
    "attach": lambda u, **work: tree(u).attach("ds_" + 26 * "0", **work),
    "evaluate a model": lambda u, **work: model(u).evaluate(LABELS, features=ROWS, **work),
    "predict by a model": lambda u, **work: model(u).predict(features=ROWS, **work),
    "transform": lambda u, **work: model(u).transform(features=ROWS, **work),
}


def fields_of(request: Request) -> dict[str, Any]:
    """The fields of WORK as a request has them, in its body or, beside a file, in its query."""
    if request.headers["Content-Type"] == "application/json" and not request.query:
        body = request.json()
        return {name: body.get(name) for name in FIELDS}
    query = request.query
    found: dict[str, Any] = {name: query.get(name, [None])[0] for name in FIELDS}
    numbers = {name: json.loads(found[name] or "null") for name in ("attempts", "backoff")}
    return {**found, **numbers, "tags": query.get("tag"), "retry_on": query.get("retry_on")}


@pytest.mark.parametrize("name", CALLS)
def test_work_is_sent_with_it(server: FaultServer, name: str) -> None:
    server.script(problem(422, "invalid-request"))
    with Umbel(server.url) as umbel, pytest.raises(InvalidRequest):
        CALLS[name](umbel, **ALL)
    (request,) = server.requests
    assert fields_of(request) == FIELDS


def test_every_request_for_work_has_a_call(server: FaultServer) -> None:
    server.script(problem(422, "invalid-request"))
    calls = {**CALLS, "import": lambda u, **work: u.import_tree("(a,b);", **work)}
    with Umbel(server.url) as umbel:
        for call in calls.values():
            with pytest.raises(InvalidRequest):
                call(umbel, **ALL)
    requested = {re.sub(r"/(tr|md)_1/", "/{}/", each.path) for each in server.requests}
    assert requested == {re.sub(r"/\{\w+\}/", "/{}/", path) for path in _paths_for_work()}


def _paths_for_work() -> set[str]:
    """The paths whose POST calls a webhook when the work has ended."""
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text("utf-8"))
    return {
        path
        for path, operations in document["paths"].items()
        if "callbacks" in operations.get("post", {})
    }


def test_an_imported_tree_is_sent_with_it(server: FaultServer) -> None:
    server.script(problem(422, "invalid-request"))
    with Umbel(server.url) as umbel, pytest.raises(InvalidRequest):
        umbel.import_tree("(a,b);", **ALL)
    assert fields_of(server.requests[0]) == FIELDS


def test_an_upload_is_sent_with_it(server: FaultServer) -> None:
    server.script(problem(422, "invalid-request"))
    with Umbel(server.url) as umbel:
        for when in (WHEN, SENT):
            with pytest.raises(InvalidRequest):
                umbel.upload(ROWS, name="rows", expires_at=when)
            assert server.requests[-1].query["expires_at"] == [SENT]
            assert server.requests[-1].query["name"] == ["rows"]


@pytest.mark.parametrize("name", CALLS)
def test_none_is_sent_where_none_is_given(server: FaultServer, name: str) -> None:
    server.script(problem(422, "invalid-request"))
    with Umbel(server.url) as umbel, pytest.raises(InvalidRequest):
        CALLS[name](umbel)
    assert not FIELDS.keys() & server.requests[-1].json().keys()


@pytest.mark.parametrize("when", [None, "2099-01-31T00:00:00Z"])
def test_text_is_left_to_the_service(when: Expiry) -> None:
    assert expiry(when) == when


def test_a_time_needs_its_offset() -> None:
    assert expiry(datetime(2099, 1, 31, tzinfo=UTC)) == SENT
    with pytest.raises(InputError, match="no offset"):
        expiry(datetime(2099, 1, 31))


def service(request: Request) -> Answer:
    """Has one tree and one model, and refuses all work."""
    if request.method != "GET":
        return problem(422, "invalid-request")
    if request.path.endswith("/view"):
        return Answer(200, {"nodes": [{"size": 3, "n_leaves": 3}]})
    if request.path.startswith("/v1/models/"):
        return Answer(200, {"id": "md_1", "inputs": ["features"]})
    names = {"name": None, "method": "hac", "kind": "hierarchy", "created_at": "", "job": None}
    return Answer(200, {"id": "tr_1", **names})


OPTIONS = (
    *("--title", "week 3", "--description", "a note", "--tag", "paper", "--tag", "b"),
    *("--webhook", HOOK, "--expires-at", SENT),
    *("--attempts", "5", "--backoff", "2.5", "--retry-on", "full", "--retry-on", "internal"),
)

COMMANDS = {
    "run": "run hac x.npy",
    "compare": "compare hac --features x.npy",
    "consensus": "consensus t.nwk t.nwk",
    "import": "import t.nwk",
    "evaluate": "evaluate TREE --labels y.txt",
    "predict": "predict TREE --also features=x.npy",
    "predict by a model": "predict md_1 x.npy",
    "calibrate": "calibrate TREE --labels y.txt --also features=x.npy",
    "drift": "drift TREE ds_00000000000000000000000000 ds_00000000000000000000000000",
    "place": "place TREE ds_00000000000000000000000000",
    "name": "name TREE labels",
    "attach": "attach TREE ds_00000000000000000000000000",
    "heatmap": "heatmap TREE",
    "map": "map TREE",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_passes_it_on(
    server: FaultServer, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.array(ROWS))
    Path("y.txt").write_text("0\n0\n1\n")
    Path("t.nwk").write_text("(a,b);")

    def answer(request: Request) -> Answer:
        if request.path == "/v1/datasets":
            return Answer(201, {"id": "ds_1", "status": "ready"})
        if name == "consensus" and request.path == "/v1/trees":
            return Answer(201, {"id": "tr_1"})
        return service(request)

    server.answer = answer
    words = [TREE if word == "TREE" else word for word in COMMANDS[name].split()]
    with pytest.raises(SystemExit) as ended:
        main([*words, *OPTIONS, "--url", server.url])
    assert ended.value.code == 1
    work = [
        request
        for request in server.requests
        if request.method == "POST" and request.path not in ("/v1/datasets", "/v1/trees")
    ]
    (request,) = work or [request for request in server.requests if request.path == "/v1/trees"]
    assert fields_of(request) == FIELDS


TREE = "tr_00000000000000000000000000"
