"""The command line: errors of a call or of the environment are reported in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cli import main


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("UMBEL_REDIS_URL", "UMBEL_STORE_URL", "UMBEL_API_KEYS", "UMBEL_API_KEYS_FILE"):
        monkeypatch.delenv(name, raising=False)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("serve", "--port", "abc"), "a port is a number between 0 and 65535"),
        (("serve", "--port", "65536"), "a port is a number between 0 and 65535"),
        (("serve", "--workers", "1.5"), "a whole number, at least 1"),
        (("serve", "--workers", "0"), "a whole number, at least 1"),
        (("keys", "new", "A B"), "lower-case letters"),
        (("api",), "UMBEL_REDIS_URL and UMBEL_STORE_URL must be set."),
    ],
)
def test_invalid_calls(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("UMBEL_SLOTS", "x", "UMBEL_SLOTS: Input should be a valid integer"),
        ("UMBEL_API_KEYS", "x", "tenant:sha256hex"),
        ("UMBEL_API_KEYS_FILE", "missing", "UMBEL_API_KEYS_FILE cannot be read"),
    ],
)
@pytest.mark.parametrize("command", ["api", "serve"])
def test_invalid_environments(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    name: str,
    value: str,
    message: str,
) -> None:
    monkeypatch.setenv(name, value)
    assert message in refused(capsys, command, "--port", "0")


def test_a_worker_reports_errors_of_its_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from workers.main import main as worker

    monkeypatch.setenv("UMBEL_LOG_LEVEL", "loud")
    with pytest.raises(SystemExit) as ended:
        worker([])
    assert ended.value.code == 2
    assert "UMBEL_LOG_LEVEL: Input should be 'DEBUG', 'INFO'" in capsys.readouterr().err
