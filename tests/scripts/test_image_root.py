"""What the build and the trial of the image do beside Buildah: settings of pip, users, mounts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.container import Account, account, invocation, remove
from scripts.image_root import BuildError, Image, debian, image_named, parser, pip_settings
from tests.conftest import ROOT


def test_pip_gets_the_settings_and_what_they_name(tmp_path: Path) -> None:
    wheels, index = tmp_path / "wheels", tmp_path / "pypi" / "simple"
    wheels.mkdir()
    index.mkdir(parents=True)
    listing = (
        f":env:.find-links='{wheels}'\n:env:.timeout='60'\n"
        f"global.extra-index-url='file://{index} https://example.org/simple'\n"
        f"global.timeout='15'\ninstall.cert='/no/such/file'\ndownload.dest='{tmp_path}'\n"
    )
    settings, paths = pip_settings(listing)
    assert settings == {
        "find-links": str(wheels),
        "timeout": "60",
        "extra-index-url": f"file://{index} https://example.org/simple",
        "cert": "/no/such/file",
    }
    assert paths == [wheels, index.parent]
    assert pip_settings("") == ({}, [])


def test_users_are_those_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("umbel:x:10001:10002::/home/umbel:/bin/sh\n")
    (tmp_path / "etc/group").write_text("staff:x:50:\n")
    assert account(tmp_path, "umbel") == Account(10001, 10002, "/home/umbel")
    assert account(tmp_path, "10001") == account(tmp_path, "umbel")
    assert account(tmp_path, "umbel:staff").gid == account(tmp_path, "umbel:50").gid == 50
    assert account(tmp_path, "7") == Account(7, 0, "/")
    for unknown in ("nobody", "umbel:nobody"):
        with pytest.raises(KeyError, match="nobody"):
            account(tmp_path, unknown)


def test_a_sealed_root_is_read_and_without_privileges() -> None:
    user = Account(10001, 10001, "/")
    sealed, open_ = (
        " ".join(invocation(Path("/r"), ["run"], user, "/", sealed=sealed))
        for sealed in (True, False)
    )
    for part in ("remount,bind,ro /r\n", "--bounding-set=-all", "--no-new-privs", "/r/tmp"):
        assert part in sealed
        assert part not in open_
    for part in ("--reuid=10001", "--mount", "--pid", "--kill-child"):
        assert part in sealed
        assert part in open_


def test_a_folder_with_a_mount_is_not_removed() -> None:
    # /proc is mounted wherever these tests run.
    with pytest.raises(OSError, match="not removed: mounted below it is /proc"):
        remove(Path("/proc"))


def test_the_dockerfile_begins_with_one_image() -> None:
    assert image_named((ROOT / "Dockerfile").read_text()) == "python:3.11-slim"
    with pytest.raises(ValueError, match="too many"):
        image_named("FROM a AS build\nFROM b\n")


def test_a_python_of_another_version_stands_for_no_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/python3").symlink_to("python3.13")
    done = SimpleNamespace(returncode=0)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(BuildError, match=r"has Python 3\.13.* python:3\.11-slim"):
        debian(tmp_path, "trixie", None, "python:3.11-slim")


def test_what_an_engine_knows_of_an_image() -> None:
    config = json.loads(
        """{"User": "umbel", "WorkingDir": "/w", "Env": ["PATH=/a:/b", "OPTION=x=y"],
        "Cmd": ["umbel", "api"], "Volumes": {"/w": {}}, "StopSignal": "SIGTERM",
        "Healthcheck": {"Test": ["CMD", "python", "-c", "pass"]}}"""
    )
    image = Image.of(config)
    assert image.environment == {"PATH": "/a:/b", "OPTION": "x=y"}
    assert (image.volumes, image.health) == (("/w",), ("python", "-c", "pass"))


def test_variables_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", "1")
    options = parser().parse_args(["run", "--env", "ONE", "--env", "TWO=a=b", "--", "true"])
    assert options.env == {"ONE": "1", "TWO": "a=b"}
    assert options.command == ["true"]
    assert parser().parse_args(["run"]).env == {}
    with pytest.raises(SystemExit):
        parser().parse_args(["run", "--env", "NO_SUCH_VARIABLE"])
