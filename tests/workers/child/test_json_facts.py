"""JSON documents that are opened in a process of their own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from models.errors import UsageError
from umbel import floors
from workers.child import apart
from workers.child.json_facts import facts_apart, facts_of, message_of
from workers.errors import TransientError
from workers.formats import json as json_format
from workers.formats.facts import Facts

Find = Callable[[bytes, str | None], Facts]


def by_message(document: bytes, role: str | None) -> Facts:
    """What crosses between the processes, without one: a process takes half a second to start."""
    return facts_of(json.loads(json.dumps(message_of(document, role))))


@pytest.mark.parametrize(
    ("document", "role", "found"),
    [
        (b"[[1, 2.5], [3, -4e2]]", None, by_message),
        (b'["a", "b", "a"]', None, by_message),
        (b'[["a", "b"], null, ["c"]]', "labels", facts_apart),
        (b'["animal/dog", "animal/cat"]', "hierarchy", by_message),
        (b'[["a", "b"], ["b", "c"]]', "graph", by_message),
    ],
)
def test_facts_are_those_of_the_format(document: bytes, role: str | None, found: Find) -> None:
    assert found(document, role) == json_format.facts(document, role)


@pytest.mark.parametrize(
    ("document", "role", "found"),
    [
        (b"", None, facts_apart),
        (b"[[1, 2], [3]]", None, by_message),
        (b"[[1], [null]]", "logits", facts_apart),
        (b"[[1, NaN]]", None, by_message),
        (b"[[1, 1e400]]", None, by_message),
        (b"[[1, 2],", None, by_message),
        (b"\xff", None, facts_apart),
        (b'["a//b"]', "hierarchy", by_message),
    ],
)
def test_errors_are_those_of_the_format(document: bytes, role: str | None, found: Find) -> None:
    with pytest.raises(UsageError) as there:
        found(document, role)
    with pytest.raises(UsageError) as here:
        json_format.facts(document, role)
    for name in ("detail", "code", "where"):
        assert getattr(there.value, name) == getattr(here.value, name)


@pytest.mark.parametrize(("role", "found"), [(None, facts_apart), ("features", by_message)])
def test_empty_cells_are_counted(role: str | None, found: Find) -> None:
    document = b"[[1, 2], [null, 3]]"
    facts = found(document, role)
    assert facts == json_format.facts(document, role)
    assert "row 1, column 0" in facts.warnings[0]


def test_a_process_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LONGEST_S", 0.0)
    with pytest.raises(TransientError):
        facts_apart(b"[[1]]")


def test_the_process_has_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the process ends with success if it sees one."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("UMBEL_API_KEYS", "x")
    monkeypatch.setenv("PLAIN", "x")
    code = (
        "import json, os; names = {'AWS_SECRET_ACCESS_KEY', 'UMBEL_API_KEYS', 'PLAIN'}; "
        "print(json.dumps({'shape': [], 'dtype': ' '.join(names & set(os.environ)), 'sparse': 0, "
        "'warnings': []}))"
    )
    monkeypatch.setattr(floors, "command", lambda *_: [sys.executable, "-c", code])
    assert facts_apart(b"").dtype == "PLAIN"
