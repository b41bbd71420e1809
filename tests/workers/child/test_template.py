"""The start of the template."""

from __future__ import annotations

import os
from multiprocessing import util
from types import SimpleNamespace

import pytest

from workers.child import template


def test_a_worker_keeps_its_credentials_while_its_template_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its other threads read them meanwhile; the template gets none."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("HARMLESS", "kept")
    given: list[dict[str, str]] = []

    def start(arguments: list[str], *, env: dict[str, str], **_: object) -> SimpleNamespace:
        assert os.environ["AWS_SECRET_ACCESS_KEY"] == "secret"
        given.append(env)
        return SimpleNamespace(pid=7, returncode=None)

    monkeypatch.setattr("workers.child.template.subprocess.Popen", start)
    own = util.spawnv_passfds
    with template._without_secrets():
        assert util.spawnv_passfds(b"python", ["python"], []) == 7
    assert util.spawnv_passfds is own
    assert given[0]["HARMLESS"] == "kept"
    assert "AWS_SECRET_ACCESS_KEY" not in given[0]
