"""JSON documents that are opened in a process of their own."""

from __future__ import annotations

import sys

import pytest

from models.errors import UsageError
from umbel import floors
from workers.child import apart
from workers.child.json_facts import facts_apart
from workers.errors import TransientError
from workers.formats import json as json_format


@pytest.mark.parametrize(
    ("document", "role"),
    [
        (b"[[1, 2.5], [3, -4e2]]", None),
        (b'["a", "b", "a"]', None),
        (b'[["a", "b"], null, ["c"]]', "labels"),
        (b'["animal/dog", "animal/cat"]', "hierarchy"),
        (b'[["a", "b"], ["b", "c"]]', "graph"),
    ],
)
def test_facts_are_those_of_the_format(document: bytes, role: str | None) -> None:
    assert facts_apart(document, role) == json_format.facts(document, role)


@pytest.mark.parametrize(
    ("document", "role"),
    [
        (b"", None),
        (b"[[1, 2], [3]]", None),
        (b"[[1], [null]]", "logits"),
        (b"[[1, NaN]]", None),
        (b"[[1, 1e400]]", None),
        (b"[[1, 2],", None),
        (b"\xff", None),
        (b'["a//b"]', "hierarchy"),
    ],
)
def test_errors_are_those_of_the_format(document: bytes, role: str | None) -> None:
    with pytest.raises(UsageError) as apart:
        facts_apart(document, role)
    with pytest.raises(UsageError) as here:
        json_format.facts(document, role)
    for name in ("detail", "code", "where"):
        assert getattr(apart.value, name) == getattr(here.value, name)


@pytest.mark.parametrize("role", [None, "features"])
def test_empty_cells_are_counted(role: str | None) -> None:
    document = b"[[1, 2], [null, 3]]"
    found = facts_apart(document, role)
    assert found == json_format.facts(document, role)
    assert "row 1, column 0" in found.warnings[0]


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
