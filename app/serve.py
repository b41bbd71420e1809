"""The local service: one process that keeps Valkey, the API and the workers running.

A process that dies is restarted; when this process ends, for whatever reason, all of them end with
it.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import psutil

from app.commands.keys import store_of
from app.http.early import Early
from app.http.environment_keys import keys
from app.http.processes import (
    API_GRACE_S,
    WORKER_GRACE_S,
    Wakeup,
    listen_at,
)
from app.settings import Settings
from models.running import packages
from workers.artifacts.keys import Keys
from workers.child import confinement
from workers.child.compiling import COMPILING, keep_in
from workers.embedded import EmbeddedServer
from workers.errors import COMPARING, FatalError, TransientError
from workers.processes import FolderInUse, FolderLock
from workers.stores import privacy
from workers.stores.objects.address import blobs_at
from workers.stores.objects.format import open_store

_STABLE_S = 5.0
"""A process that lived this long did not fail at its start: it is restarted immediately."""

_LONGEST_PAUSE_S = 2.0
_JOBS_SHARE = 0.8
"""The share of the machine's memory for all running jobs, unless a limit per job is set."""

_LOOK_S = 1.0
"""How often to check whether an embedded server whose disk is full can write again."""

_READY_POLL_S = 0.1
_READY_POLL_SHARE = 0.1
"""The most of the time that the question whether all is ready takes, which writes to Redis and to
the store: on a busy machine the check is made less often, though every `_LONGEST_READY_POLL_S`."""

_LONGEST_READY_POLL_S = 0.5
_SAY_S = 5.0
"""How often to say how far the records are compared with the store."""


class CannotStart(Exception):
    """The service cannot be started; the message is for the user."""


def serve(early: Early, settings: Settings, host: str, port: int, data_dir: Path) -> int:
    """Run the service until Ctrl-C or SIGTERM; the exit status. Call from the main thread.

    early : its processes, of whose workers the threads are set.

    With UMBEL_REDIS_URL set, that server is used instead of an embedded one. Port 0 picks a free
    port. Raises CannotStart for a data directory or an address in use, and for an address that
    other machines can reach while no keys are configured.
    """
    data_dir = data_dir.absolute()
    signing_in = bool(settings.oidc_issuer)
    if signing_in:
        from app.http.sign_in.people import people

        people(settings)  # ValueError, before anything is started
    keyless = not signing_in and not keys(settings) and not _stored_keys(settings, data_dir)
    _ = settings.webhook_secrets  # ValueError, before anything is started
    if keyless and not _loopback(host):
        raise CannotStart(
            f"Without keys the service listens on this machine only, not on {host}. Make a key "
            "with `umbel keys new TENANT`, set UMBEL_API_KEYS, and start it again."
        )
    try:
        lock = FolderLock(data_dir)
    except FolderInUse as taken:
        raise CannotStart(
            f"The data directory {data_dir} is in use by another service (process {taken.pid}). "
            "Stop that one first or choose another --data-dir."
        ) from None
    except OSError as error:
        raise CannotStart(
            f"The data directory {data_dir} cannot be used: {error.strerror}."
        ) from None
    with lock:
        if n_open := privacy.tighten(data_dir):
            _say(f"{n_open} files and folders in {data_dir} were open to other users, and are not")
        _open_store(settings, data_dir)
        _listen(early.listener, host, port)
        return _LocalService(settings, data_dir, early, host, keyless).run()


def _open_store(settings: Settings, data_dir: Path) -> None:
    url = settings.store_url or _store_url(data_dir)
    try:
        open_store(blobs_at(settings.model_copy(update={"store_url": url})))
    except (FatalError, TransientError) as error:
        raise CannotStart(str(error)) from None


def _store_url(data_dir: Path) -> str:
    return f"file://{data_dir / 'store'}"


def _stored_keys(settings: Settings, data_dir: Path) -> bool:
    """Whether the store has keys. Raises CannotStart where it cannot be read."""
    try:
        blobs = store_of(settings, data_dir if (data_dir / "store").is_dir() else None)
        return blobs is not None and bool(Keys(blobs).all())
    except (FatalError, TransientError) as error:
        raise CannotStart(f"The keys in the store cannot be read: {error}.") from None


class _KeptServer:
    """The embedded server, restarted when it ends, with growing pauses if it soon ends again."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self._failures = 0
        self._started_at = 0.0
        self._next_at: float | None = None
        self._look_at = 0.0

    def start(self) -> None:
        """Start it for the first time. Raises RuntimeError."""
        self._started_at = time.monotonic()
        self._server.start()
        self._server.keep_reserve()

    def keep(self) -> float:
        """Start the server if it does not run; the seconds until it should be checked again."""
        now = time.monotonic()
        if self._server.alive():
            return self._look(now)
        if self._next_at is None:
            failed = now - self._started_at < _STABLE_S
            self._failures = self._failures + 1 if failed else 0
            self._next_at = now + self._pause_s()
        if now < self._next_at:
            return self._next_at - now
        self._started_at, self._next_at = now, None
        try:
            if self._server.ensure():
                _say("the embedded Valkey server had ended and was restarted")
        except RuntimeError as error:
            self._failures += 1
            self._next_at = time.monotonic() + self._pause_s()
            _say(f"{error}; retrying", sys.stderr)
            return self._pause_s()
        if self._server.full:
            _say("its disk seems to be full: it answers reads and refuses writes", sys.stderr)
        return self._look(now)

    def _look(self, now: float) -> float:
        if not self._server.full:
            # Gone after a removal on a full disk.
            return 60.0 if self._server.keep_reserve() else _LOOK_S
        if now >= self._look_at:
            self._look_at = now + _LOOK_S
            if self._server.recover():
                _say("the embedded Valkey server takes writes again")
                return _LOOK_S
        return max(0.0, self._look_at - now)

    def _pause_s(self) -> float:
        return min(0.1 * 2**self._failures, _LONGEST_PAUSE_S) if self._failures > 1 else 0.0


class _LocalService:
    def __init__(
        self,
        settings: Settings,
        data_dir: Path,
        early: Early,
        host: str,
        keyless: bool,
    ) -> None:
        self._settings = settings
        self._data_dir = data_dir
        self._host, self._port = host, early.listener.getsockname()[1]
        self._keyless = keyless
        self._valkey = None if settings.redis_url else EmbeddedServer(data_dir / "redis")
        self._kept_valkey = None if self._valkey is None else _KeptServer(self._valkey)
        assert early.workers is not None
        early.environment = self._env
        self._apis, self._workers = early.apis, early.workers
        self._n_workers = early.n_workers
        self._ready = threading.Event()
        self._foreign = threading.Event()
        self._stop_requests = 0
        self._wakeup = Wakeup()

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    def run(self) -> int:
        self._wakeup.on_signals((signal.SIGINT, signal.SIGTERM), self._on_stop)
        (self._data_dir / "url").unlink(missing_ok=True)
        try:
            if self._kept_valkey is not None:
                self._kept_valkey.start()
            print(f"Umbel at {self.url}", flush=True)
            print(f"data in {self._data_dir}", flush=True)
            if self._keyless:
                print("no keys configured: only this machine can call it", flush=True)
            if absent := ", ".join(packages.missing()):
                print(f"not installed: {absent}; `umbel settings` names what waits", flush=True)
            for state in confinement.states():
                print(state, flush=True)
            if (kept := keep_in(os.environ, self._data_dir)) is not None:
                print(kept, flush=True)
            threading.Thread(target=self._watch_ready, daemon=True).start()
            status = self._watch()
        finally:
            self._stop()
        return status

    def _watch(self) -> int:
        """Keep everything running until a stop is requested; the exit status."""
        while not self._stop_requests:
            # One worker and one API have the machine to themselves until both are ready.
            one = not self._ready.is_set()
            pause = min(self._apis.keep(one=one), self._workers.keep(one=one))
            if self._kept_valkey is not None:
                pause = min(pause, self._kept_valkey.keep())
            if self._foreign.is_set():
                print(
                    f"Another service answers at {self.url}; choose another --port.",
                    file=sys.stderr,
                )
                return 1
            if not self._ready.is_set() and self._apis.failures >= 3:
                print("The API does not start; see its messages above.", file=sys.stderr)
                return 1
            valkey = None if self._valkey is None else self._valkey.process
            self._workers.reap([valkey, *self._apis.running])
            if not self._stop_requests:
                self._wakeup.wait(pause)
        return 0

    def _watch_ready(self) -> None:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)  # noqa: S104
        began, announced = time.monotonic(), False
        say_at = began
        while not self._stop_requests:
            started = time.monotonic()
            connection = http.client.HTTPConnection(host, self._port, timeout=5.0)
            failed = (OSError, http.client.HTTPException)
            with contextlib.closing(connection), contextlib.suppress(*failed):
                connection.request("GET", "/readyz")
                response = connection.getresponse()
                body = response.read()
                if not _is_of(self._apis.instance, body):
                    self._foreign.set()
                    self._wakeup.wake()
                    return
                if response.status == 200:
                    break
                if not announced and COMPILING.encode() in body:
                    announced = True
                    print(COMPILING, flush=True)
                if COMPARING.encode() in body and started >= say_at:
                    say_at = started + _SAY_S
                    print(json.loads(body)["detail"], flush=True)
            pause_s = (time.monotonic() - started) / _READY_POLL_SHARE
            shortest_s = _LONGEST_READY_POLL_S if announced else _READY_POLL_S
            time.sleep(min(max(pause_s, shortest_s), _LONGEST_READY_POLL_S))
        else:
            return
        self._write_url()
        print(f"ready after {time.monotonic() - began:.1f} s; Ctrl-C stops it", flush=True)
        self._ready.set()
        self._wakeup.wake()

    def _write_url(self) -> None:
        """Write the address to the file `url` of the data directory, for other programs."""
        fresh = self._data_dir / "url.new"
        fresh.write_text(f"{self.url}\n")
        fresh.replace(self._data_dir / "url")

    def _env(self) -> Mapping[str, str]:
        settings = self._settings
        env = dict(os.environ)
        env["UMBEL_REDIS_URL"] = settings.redis_url or self._valkey_url()
        env.setdefault("UMBEL_STORE_URL", _store_url(self._data_dir))
        # On the store's file system, so that publishing a file need not copy it.
        env.setdefault("UMBEL_SCRATCH_DIR", str(self._data_dir / "scratch"))
        share = _JOBS_SHARE * psutil.virtual_memory().total / self._n_workers
        env.setdefault("UMBEL_JOB_MEMORY_BYTES", str(int(share)))
        return env

    def _valkey_url(self) -> str:
        assert self._valkey is not None
        return self._valkey.url

    def _on_stop(self, *_: object) -> None:
        self._stop_requests += 1
        if self._stop_requests == 1:
            print("stopping; once more kills at once", flush=True)
            return
        for child in self._apis.kept:
            child.signal(signal.SIGKILL)
        self._workers.kill()

    def _stop(self) -> None:
        """Stop everything: workers finish their jobs or give them back, and Valkey stops last."""
        self._stop_requests += self._stop_requests == 0
        self._workers.begin_to_stop()
        self._apis.stop(self._settings.shutdown_s + API_GRACE_S)
        self._workers.stop(self._settings.drain_s + WORKER_GRACE_S)
        if self._valkey is not None:
            self._valkey.stop()
        (self._data_dir / "url").unlink(missing_ok=True)


def _is_of(instance: str, body: bytes) -> bool:
    """Whether this answer of `/readyz` may come from the service of that name: one that has another
    name, or is no answer of such a service, does not."""
    try:
        answer = json.loads(body)
    except ValueError:
        return False
    # Before its limits are checked, a service refuses without a name.
    return isinstance(answer, dict) and answer.get("instance", instance) == instance


def _say(text: str, stream: TextIO | None = None) -> None:
    """Print a line; nothing happens where the log is on a full disk."""
    with contextlib.suppress(OSError):
        print(text, file=stream or sys.stdout, flush=True)


def _listen(listener: socket.socket, host: str, port: int) -> None:
    """Held here, so that a restarted API misses no connection."""
    try:
        listen_at(listener, host, port)
    except OSError as error:
        raise CannotStart(
            f"Cannot listen on {host} port {port}: {error.strerror}. Choose another --port."
        ) from None


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
