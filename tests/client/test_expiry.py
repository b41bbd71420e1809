"""When things may be removed: every call that makes one passes it on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.client.fault_server_kit import FaultServer, problem
from umbel_client import Model, Tree, Umbel
from umbel_client.core.facts import TreeFacts
from umbel_client.core.fields import Expiry, expiry
from umbel_client.errors import InputError
from umbel_client.problems import InvalidRequest

ROWS = [[0.0, 1.0], [1.0, 0.0], [4.0, 4.0]]
WHEN = datetime(2099, 1, 31, 2, tzinfo=timezone(timedelta(hours=2)))
SENT = "2099-01-31T00:00:00+00:00"


def tree(umbel: Umbel) -> Tree:
    return Tree(
        umbel._connection, TreeFacts("tr_1", None, "hac", "hierarchy", None, None, 3, 3, "")
    )


def model(umbel: Umbel) -> Model:
    return Model(umbel._connection, {"id": "md_1", "inputs": ["features"]})


CALLS: dict[str, Callable[[Umbel], object]] = {
    "run": lambda u: u.run("hac", features=ROWS, expires_at=WHEN),
    "submit": lambda u: u.submit("hac", features=ROWS, expires_at=WHEN),
    "function": lambda u: u.methods.hac(features=ROWS, expires_at=WHEN),
    "compare": lambda u: u.compare(["hac"], features=ROWS, expires_at=WHEN),
    "consensus": lambda u: u.consensus(["tr_1", "tr_2"], expires_at=WHEN),
    "evaluate a tree": lambda u: tree(u).evaluate([0, 0, 1], expires_at=WHEN),
    "predict by a tree": lambda u: tree(u).predict(features=ROWS, expires_at=WHEN),
    "evaluate a model": lambda u: model(u).evaluate([0, 0, 1], features=ROWS, expires_at=WHEN),
    "predict by a model": lambda u: model(u).predict(features=ROWS, expires_at=WHEN),
    "transform": lambda u: model(u).transform(features=ROWS, expires_at=WHEN),
}


@pytest.mark.parametrize("name", CALLS)
def test_work_is_sent_with_it(server: FaultServer, name: str) -> None:
    server.script(problem(422, "invalid-request"))
    with Umbel(server.url) as umbel, pytest.raises(InvalidRequest):
        CALLS[name](umbel)
    (asked,) = server.asked
    assert asked.json()["expires_at"] == SENT


def test_an_upload_is_sent_with_it(server: FaultServer) -> None:
    server.script(problem(422, "invalid-request"))
    with Umbel(server.url) as umbel:
        for when in (WHEN, SENT):
            with pytest.raises(InvalidRequest):
                umbel.upload(ROWS, name="rows", expires_at=when)
            assert server.asked[-1].query["expires_at"] == [SENT]
            assert server.asked[-1].query["name"] == ["rows"]


def test_none_is_sent_where_none_is_given(server: FaultServer) -> None:
    server.script(problem(422, "invalid-request"))
    with Umbel(server.url) as umbel, pytest.raises(InvalidRequest):
        umbel.consensus(["tr_1", "tr_2"])
    assert "expires_at" not in server.asked[-1].json()


@pytest.mark.parametrize("when", [None, "2099-01-31T00:00:00Z"])
def test_text_is_left_to_the_service(when: Expiry) -> None:
    assert expiry(when) == when


def test_a_time_needs_its_offset() -> None:
    assert expiry(datetime(2099, 1, 31, tzinfo=UTC)) == SENT
    with pytest.raises(InputError, match="no offset"):
        expiry(datetime(2099, 1, 31))
