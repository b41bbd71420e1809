"""A command in a separate root folder, as a container engine would run it but for the network.

`invocation` gives the command line. Every mount is made in a namespace of mounts that is private
to the command and ends with it: the machine never sees one, and none is left behind, however the
command ends. It has its own processes (it is the first), host name, /dev and /proc. This needs
root, and `unshare` of util-linux 2.36 or newer.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
NETWORK = ("/etc/resolv.conf", "/etc/hosts")
SHARED_MEMORY = "64m"
"""What Docker gives /dev/shm."""
NEEDED = ("unshare", "nsenter", "chroot", "mount")


@dataclass(frozen=True)
class Bind:
    """A folder or file of the machine, seen in the root at `target`."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True)
class Account:
    """A user of a root."""

    uid: int
    gid: int
    home: str


def obstacle() -> str | None:
    """Why this machine can run nothing in a root, if it cannot."""
    if os.geteuid() != 0:
        return "only root may mount and change the root folder"
    if missing := [name for name in NEEDED if shutil.which(name) is None]:
        return f"not installed: {', '.join(missing)}"
    private = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/tmp"],
        capture_output=True,
        text=True,
    )
    return private.stderr.strip() or "unshare failed" if private.returncode else None


def account(root: Path, user: str) -> Account:
    """The user that `USER` of a Dockerfile names: a name, an id, or either with `:group`.

    Raises KeyError for a name that the root does not have.
    """
    name, _, group = user.partition(":")
    users = _table(root / "etc/passwd")
    fields = next((row for row in users if name in (row[0], row[2])), None)
    if fields is None and not name.isdecimal():
        raise KeyError(f"the root has no user {name}")
    uid, gid, home = (int(fields[2]), int(fields[3]), fields[5]) if fields else (int(name), 0, "/")
    if group:
        groups = {row[0]: int(row[2]) for row in _table(root / "etc/group")}
        gid = int(group) if group.isdecimal() else groups[group]
    return Account(uid, gid, home)


def _table(path: Path) -> list[list[str]]:
    return [line.split(":") for line in path.read_text().splitlines()] if path.exists() else []


def invocation(
    root: Path,
    command: Sequence[str],
    user: Account,
    folder: str,
    binds: Sequence[Bind] = (),
    *,
    sealed: bool,
) -> list[str]:
    """The command line that runs `command` in `folder` of `root`, with the environment that the
    caller gives the process. Targets of binds must exist in the root (see `targets`).

    sealed : the root can only be read, /tmp is a new one in memory, and the process has no
    capabilities and gets none, as with `read_only`, `tmpfs`, `cap_drop` and `no-new-privileges` of
    a compose file. Otherwise the command writes into the root, as RUN of a Dockerfile does.
    """
    script = "\n".join(shlex.join(words) for words in _mounts(root, binds, sealed))
    named = f"echo {secrets.token_hex(6)} > /proc/sys/kernel/hostname"
    bounds = ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all") if sealed else ()
    inner = [
        *(_tool("chroot"), str(root), "/usr/bin/env", "-C", folder),
        *("/usr/bin/setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"),
        *(*bounds, "--", *command),
    ]
    return [
        *(_tool("unshare"), "--mount", "--uts", "--pid", "--fork", "--kill-child", "--"),
        *("/bin/sh", "-c", f"set -e\n{named}\n{script}\nexec {shlex.join(inner)}"),
    ]


def _mounts(root: Path, binds: Sequence[Bind], sealed: bool) -> Iterator[list[str]]:
    mount, dev = _tool("mount"), root / "dev"
    yield [mount, "--bind", str(root), str(root)]
    yield [mount, "-t", "proc", "-o", "nosuid,nodev,noexec", "proc", str(root / "proc")]
    yield [mount, "-t", "sysfs", "-o", "ro,nosuid,nodev,noexec", "sysfs", str(root / "sys")]
    yield [mount, "-t", "tmpfs", "-o", "mode=755,nosuid", "tmpfs", str(dev)]
    for name in DEVICES:
        yield [_tool("touch"), str(dev / name)]
        yield [mount, "--bind", f"/dev/{name}", str(dev / name)]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        yield [_tool("ln"), "-s", f"/proc/self/fd/{number}", str(dev / name)]
    yield [_tool("ln"), "-s", "/proc/self/fd", str(dev / "fd")]
    yield [_tool("mkdir"), str(dev / "shm")]
    memory = f"mode=1777,nosuid,nodev,noexec,size={SHARED_MEMORY}"
    yield [mount, "-t", "tmpfs", "-o", memory, "shm", str(dev / "shm")]
    for bind in (*(Bind(Path(path), path) for path in NETWORK), *binds):
        target = f"{root}{bind.target}"
        yield [mount, "--bind", str(bind.source), target]
        if not bind.writable:
            yield [mount, "-o", "remount,bind,ro", target]
    if sealed:
        yield [mount, "-t", "tmpfs", "-o", "mode=1777,nosuid,nodev", "tmpfs", str(root / "tmp")]
        yield [mount, "-o", "remount,bind,ro", str(dev)]
        yield [mount, "-o", "remount,bind,ro", str(root)]


def _tool(name: str) -> str:
    """The tool's full path: the environment is the container's, and so is its PATH."""
    path = shutil.which(name)
    if path is None:
        raise FileNotFoundError(f"not installed: {name}")
    return path


def beside(process_id: int, command: Sequence[str], root: Path, user: Account) -> list[str]:
    """The command line that runs `command` in the container whose first process this is, as
    `docker exec` does and as an engine asks for health."""
    enter = [_tool("nsenter"), f"--target={process_id}", "--mount", "--uts", "--pid", "--"]
    privileges = (f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups", "--no-new-privs")
    return [
        *(*enter, _tool("chroot"), str(root), "/usr/bin/setpriv", *privileges, "--", *command),
    ]


def remove(folder: Path) -> None:
    """Remove a folder with all below it, on its own file system only.

    Raises OSError, and removes nothing, while anything is mounted below.
    """
    if mounted := mounts_below(folder):
        raise OSError(f"{folder} is not removed: mounted below it is {mounted[0]}")
    if folder.exists():
        subprocess.run(["rm", "-rf", "--one-file-system", "--", str(folder)], check=True)


def mounts_below(folder: Path) -> list[str]:
    """The mount points at this folder or below it that this process sees."""
    own = f"{folder.resolve()}/"
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return [point for point in points if f"{point}/".startswith(own)]
