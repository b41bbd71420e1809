"""The command line: errors of a call or of the environment are reported in a sentence."""

from __future__ import annotations

import errno
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.cli import main
from app.commands.compiling import compile_each
from tests.conftest import ROOT
from workers.artifacts.keys import Keys, digest_of
from workers.stores.objects.local import LocalBlobs


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


def test_an_address_of_a_family_that_the_system_lacks_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(_: str) -> None:
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr("app.http.processes.unbound", absent)
    assert "Cannot listen on ::1: Address family" in refused(capsys, "serve", "--host", "::1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("serve", "--port", "abc"), "a port is a number between 0 and 65535"),
        (("serve", "--port", "65536"), "a port is a number between 0 and 65535"),
        (("serve", "--workers", "1.5"), "a whole number, at least 1"),
        (("serve", "--workers", "0"), "a whole number, at least 1"),
        (("serve", "--prot", "8000"), "Is --port meant?"),
        (("keys", "new", "A B"), "lower-case letters"),
        (("api",), "UMBEL_REDIS_URL and UMBEL_STORE_URL must be set."),
    ],
)
def test_invalid_calls(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in refused(capsys, *arguments)


def test_compiling_names_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise MemoryError("no room")

    assert compile_each([("one", int), ("two", int)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["one", "two"]
    assert compile_each([("one", fail), ("two", int)]) == 1
    shown = capsys.readouterr()
    assert "one failed" in shown.err
    assert "no room" in shown.err
    assert "two: " in shown.out, "the others are compiled"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("UMBEL_SLOTS", "x", "UMBEL_SLOTS: Input should be a valid integer"),
        ("UMBEL_QUOTA_QUEUED", "many", "UMBEL_QUOTA_QUEUED: Input should be a valid integer"),
        ("UMBEL_QUOTA_BYTES", "acme:x", "UMBEL_QUOTA_BYTES, 'acme': Input should be"),
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


@pytest.mark.parametrize("command", ["api", "settings", "worker"])
def test_a_setting_that_is_mistyped_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """A quota that is not set because of a letter would otherwise be missed by nobody."""
    monkeypatch.setattr("os.execv", lambda *_: None)
    monkeypatch.setenv("UMBEL_QUOTA_QUEUD", "5")
    monkeypatch.setenv("UMBEL_URL", "http://127.0.0.1:8000")
    monkeypatch.setenv("UMBEL_API_PORT", "tcp://10.0.0.1:8000")  # Kubernetes, of a service
    with pytest.raises(SystemExit):
        main([command])
    written = capsys.readouterr().err
    assert "There is no setting UMBEL_QUOTA_QUEUD; it is ignored. Is UMBEL_QUOTA_QUEUED" in written
    assert "UMBEL_URL" not in written.replace("UMBEL_REDIS_URL", "")
    assert "UMBEL_API_PORT" not in written


def test_a_worker_reports_errors_of_its_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from workers.main import main as worker

    monkeypatch.setenv("UMBEL_LOG_LEVEL", "loud")
    with pytest.raises(SystemExit) as ended:
        worker([])
    assert ended.value.code == 2
    assert "UMBEL_LOG_LEVEL: Input should be 'DEBUG', 'INFO'" in capsys.readouterr().err


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Keys:
    monkeypatch.setenv("UMBEL_STORE_URL", (tmp_path / "store").as_uri())
    return Keys(LocalBlobs(tmp_path / "store"))


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    written = capsys.readouterr()
    assert ended.value.code == 0, written.err
    return written.out


def test_a_key_of_the_store_is_made_listed_rotated_and_revoked(
    capsys: pytest.CaptureFixture[str], store: Keys
) -> None:
    options = ("--role", "read", "--expires", "90d", "--name", "ci\x1b[2J", "--bytes", "1000")
    options += ("--tag", "a b", "--tag", "c", "--object", "tr_01kamjx5w0n5zr4v8cqe2t7h3f")
    shown = output(capsys, "keys", "new", "acme", *options)
    (old,) = store.all().values()
    secret = shown.splitlines()[0].split()[-1]
    assert digest_of(secret) == old.key.digest
    assert (old.key.tenant, old.key.role, old.key.limits.bytes) == ("acme", "read", 1000)
    listed = output(capsys, "keys", "list")
    assert old.key.id in listed
    assert secret not in listed
    assert "'a b', 'c', tr_01kamjx5w0n5zr4v8cqe2t7h3f" in listed
    assert "\x1b" not in listed

    shown = output(capsys, "keys", "rotate", old.key.id, "--keep", "1h", "--datasets", "3")
    now = datetime.now(UTC)
    new = next(known for known in store.all().values() if known.key.replaces == old.key.id)
    assert digest_of(shown.splitlines()[0].split()[-1]) == new.key.digest
    assert (new.key.tenant, new.key.role, new.key.name) == ("acme", "read", "ci\x1b[2J")
    assert (new.key.tags, new.key.objects) == (old.key.tags, old.key.objects) != ((), ())
    assert (new.key.limits.bytes, new.key.limits.datasets) == (1000, 3)
    assert new.key.expires_at is not None
    assert timedelta(days=89) < new.key.expires_at - now < timedelta(days=91)
    assert store.all()[old.key.id].refusal(now) is None
    assert store.all()[old.key.id].refusal(now + timedelta(hours=2)) is not None

    output(capsys, "keys", "revoke", old.key.id)
    assert store.all()[old.key.id].refusal(datetime.now(UTC)) is not None
    assert "revoked" in output(capsys, "keys", "list", "acme")
    assert old.key.id not in output(capsys, "keys", "list", "other")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("keys", "new", "../acme"), "lower-case letters"),
        (("keys", "new", "acme", "--expires", "2020-01-01T00:00:00Z"), "has passed"),
        (("keys", "new", "acme", "--expires", "2090-01-01"), "with its offset"),
        (("keys", "new", "acme", "--expires", "999999999d"), "with its offset"),
        (("keys", "new", "acme", "--expires", "9999999d"), "too far"),
        (("keys", "new", "acme", "--role", "admin", "--tag", "a"), "cannot be limited"),
        (("keys", "new", "acme", "--tag", " a"), "cannot be a tag"),
        (("keys", "new", "acme", "--object", "key_1"), "is not the id"),
        (("keys", "new", "acme", "--line", "--tag", "a"), "has no role"),
        (("keys", "new", "acme", "--bytes", "-1"), "greater than or equal to 0"),
        (("keys", "new", "acme", "--requests-per-s", "nan"), "finite"),
        (("keys", "new", "acme", "--line", "--role", "read"), "has no role"),
        (("keys", "revoke", "key_x"), "There is no key 'key_x'"),
        (("keys", "rotate", "../../x"), "There is no key"),
    ],
)
def test_invalid_keys(
    capsys: pytest.CaptureFixture[str], store: Keys, arguments: tuple[str, ...], message: str
) -> None:
    assert message in refused(capsys, *arguments)
    assert store.all() == {}


def test_without_a_store_a_key_is_a_line_for_the_settings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "UMBEL_API_KEYS" in output(capsys, "keys", "new", "acme")
    assert "UMBEL_STORE_URL" in refused(capsys, "keys", "list")
    assert "UMBEL_STORE_URL" in refused(capsys, "keys", "new", "acme", "--role", "read")
    assert "has no store" in refused(capsys, "keys", "list", "--data-dir", str(tmp_path))
    (tmp_path / "store").mkdir()
    output(capsys, "keys", "new", "acme", "--data-dir", str(tmp_path))
    assert "acme" in output(capsys, "keys", "list", "--data-dir", str(tmp_path))


def test_without_the_client_it_says_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['umbel_client'] = None; "
        "from app.cli import main; main(['run', 'l2h', 'x.npy'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install umbel-client" in done.stderr
