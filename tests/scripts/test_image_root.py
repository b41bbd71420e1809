"""What the build of the image's root does beside mounting: settings of pip, copies, places."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

import pytest

from scripts.container import Account, Bind, account, invocation, remove, targets
from scripts.dockerfile import Copy, Image, Stage
from scripts.image_root import Build, BuildError, inside, parser, pip_settings


def test_pip_gets_the_settings_and_what_they_name(tmp_path: Path) -> None:
    wheels, index = tmp_path / "wheels", tmp_path / "pypi" / "simple"
    wheels.mkdir()
    index.mkdir(parents=True)
    listing = (
        f":env:.find-links='{wheels}'\n:env:.timeout='60'\n"
        f"global.extra-index-url='file://{index} https://example.org/simple'\n"
        f"global.timeout='15'\ninstall.cert='/no/such/file'\ndownload.dest='{tmp_path}'\n"
    )
    environment, paths = pip_settings(listing)
    assert environment == {
        "PIP_FIND_LINKS": str(wheels),
        "PIP_TIMEOUT": "60",
        "PIP_EXTRA_INDEX_URL": f"file://{index} https://example.org/simple",
        "PIP_CERT": "/no/such/file",
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


def test_places_of_binds_are_gone_afterwards(tmp_path: Path) -> None:
    root, source = tmp_path / "root", tmp_path / "source"
    for folder in (root / "etc", source):
        folder.mkdir(parents=True)
    (root / "etc/hosts").write_text("kept")
    before = sorted(root.rglob("*"))
    binds = [Bind(source, "/opt/deep/folder"), Bind(Path(__file__), "/opt/deep/file")]
    with targets(root, binds):
        assert (root / "opt/deep/folder").is_dir()
        assert (root / "opt/deep/file").is_file()
        assert (root / "etc/resolv.conf").is_file()
        (root / "opt/written").write_text("by a step")
    after = sorted(root.rglob("*"))
    assert after == sorted([*before, root / "opt", root / "opt/written"])
    assert (root / "etc/hosts").read_text() == "kept"


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


def test_a_folder_with_a_mount_is_not_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    # /proc is mounted wherever these tests run.
    with pytest.raises(OSError, match="not removed: mounted below it is /proc"):
        remove(Path("/proc"))


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """A build whose context has `app` with `kept.py` and `link`, and ignores the rest."""
    here = tmp_path / "here"
    (here / "app/inner").mkdir(parents=True)
    for name in ("app/kept.py", "app/inner/more.py", "app/no.pyc", "other"):
        (here / name).write_text(name)
    (here / "app/link").symlink_to("kept.py")
    (here / ".dockerignore").write_text("# all\n*\n!app\n**/*.pyc\n")
    monkeypatch.setattr("scripts.image_root.HERE", here)
    monkeypatch.setattr("os.chown", lambda *_, **__: None)
    building = Build(tmp_path, {}, (), Namespace(base={}, suite="bookworm", mirror=None))
    building.roots = [tmp_path / "earlier"]
    (tmp_path / "earlier/opt/venv").mkdir(parents=True)
    (tmp_path / "earlier/opt/venv/file").write_text("from the stage")
    return building


def copied(build: Build, root: Path, *steps: Copy) -> dict[str, str]:
    root.mkdir(exist_ok=True)
    for step in steps:
        build._copy(root, step)
    return {
        str(path.relative_to(root)): os.readlink(path) if path.is_symlink() else path.read_text()
        for path in root.rglob("*")
        if not path.is_dir()
    }


def test_copies_are_those_of_the_context(build: Build, tmp_path: Path) -> None:
    assert copied(build, tmp_path / "a", Copy(("app",), "/src/app")) == {
        "src/app/kept.py": "app/kept.py",
        "src/app/inner/more.py": "app/inner/more.py",
        "src/app/link": "kept.py",
    }
    files = Copy(("app/kept.py", "app/inner/more.py"), "/src")
    named = Copy(("app/kept.py",), "/other/name.py")
    folder = Copy(("app/kept.py",), "/folder/")
    assert set(copied(build, tmp_path / "b", files, named, folder)) == {
        *("src/kept.py", "src/more.py", "other/name.py", "folder/kept.py"),
    }
    stage = Copy(("/opt/venv",), "/opt/venv", stage=0)
    assert copied(build, tmp_path / "c", stage) == {"opt/venv/file": "from the stage"}


@pytest.mark.parametrize("source", ["other", "app/no.pyc", "none"])
def test_what_the_context_lacks_is_not_copied(build: Build, tmp_path: Path, source: str) -> None:
    with pytest.raises(FileNotFoundError, match="not in the build's context"):
        copied(build, tmp_path / "root", Copy((source,), "/src"))


def test_no_path_leads_out_of_a_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/link").symlink_to("/etc")
    assert inside(tmp_path / "root", "/var/lib") == tmp_path / "root/var/lib"
    for path in ("/link/file", "/../other", "../../x"):
        with pytest.raises(OSError, match="out of the root"):
            inside(tmp_path / "root", path)


def test_an_image_that_nothing_stands_for_is_refused(build: Build) -> None:
    for image in ("alpine:3", "python:3.11-alpine", "python:3.11-slim-trixie"):
        with pytest.raises(BuildError, match="--base"):
            build.stage(Stage(image, "0", Image({})))


def test_pairs_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", "1")
    options = parser().parse_args(
        ["build", "--env", "ONE", "--env", "TWO=a=b", "--base", "python:3.11-slim=/base"]
    )
    assert options.env == {"ONE": "1", "TWO": "a=b"}
    assert options.base == {"python:3.11-slim": "/base"}
    assert parser().parse_args(["build"]).env == {}
    with pytest.raises(SystemExit):
        parser().parse_args(["build", "--env", "NO_SUCH_VARIABLE"])
