"""Addresses of Redis with TLS and with Sentinel, against real servers, for redis-py and Celery."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu import pools
from kombu.exceptions import OperationalError

from tests.workers.broker_kit import celery_sender
from tests.workers.stores.redis.started_kit import Started
from tests.workers.waiting_kit import PATIENCE_S, until
from workers import processes
from workers.broker import StrictSentinelTransport, StrictTransport, make_app
from workers.errors import FatalError, StoreUnavailable, TransientError
from workers.settings import WorkerSettings
from workers.stores.redis import client as redis_client
from workers.stores.redis.address import require_usable, tls_options, watched
from workers.stores.redis.client import connect, connect_async, translated
from workers.stores.redis.durability import refuse_cluster, risks

SECRET = "a secret/with @ and :"
QUOTED = "a%20secret%2Fwith%20%40%20and%20%3A"


class TlsFront:
    """TLS in front of a server that has none built in: bytes are passed on as they are."""

    def __init__(self, folder: Path, port: int) -> None:
        self.certificate = folder / "cert.pem"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
                *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
                *("-keyout", str(folder / "key.pem"), "-out", str(self.certificate)),
            ],
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, folder / "key.pem")
        self._loop = asyncio.new_event_loop()

        async def front(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)

            async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                with contextlib.suppress(OSError):
                    while data := await source.read(1 << 16):
                        sink.write(data)
                        await sink.drain()
                sink.close()

            await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

        async def serve() -> asyncio.Server:
            return await asyncio.start_server(front, "127.0.0.1", 0, ssl=context)

        self._server = self._loop.run_until_complete(serve())
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def close(self) -> None:
        async def end() -> None:
            self._server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0.05)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()


def subscribes(url: str) -> bool:
    async def subscribed() -> bool:
        async with connect_async(url) as client, client.pubsub() as messages:
            await messages.subscribe("channel")
            message = await messages.get_message(timeout=PATIENCE_S)
            return message is not None and message["type"] == "subscribe"

    return asyncio.run(subscribed())


def test_tls(started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine a handshake takes longer than a client of the service waits for it.
    monkeypatch.setattr(redis_client, "CONNECT_S", PATIENCE_S)
    front = TlsFront(tmp_path, started.server("--requirepass", "secret"))
    try:
        bare = f"rediss://:secret@127.0.0.1:{front.port}/0"
        url = f"{bare}?ssl_ca_certs={front.certificate}"
        # A certificate that nobody vouches for is refused, unless the URL allows it. The pools of
        # kombu, by host and port, are emptied: a process has one address.
        with pytest.raises(StoreUnavailable), translated():
            connect(bare).get("key")
        with pytest.raises(OperationalError, match=r"(?i)certificate"):
            celery_sender(WorkerSettings(redis_url=bare))("cpu", "job_1")
        pools.reset()
        client = connect(url)
        client.set("key", "value")
        assert client.get("key") == "value"
        assert subscribes(url)
        send = celery_sender(WorkerSettings(redis_url=url))
        send("cpu", "job_1")
        assert client.llen("umbel:queue:cpu") == 1
        unchecked = f"{bare}?ssl_cert_reqs=none"
        assert connect(f"{unchecked}&ssl_check_hostname=false").get("key") == "value"
        pools.reset()
        celery_sender(WorkerSettings(redis_url=unchecked))("cpu", "job_2")
        assert client.llen("umbel:queue:cpu") == 2
    finally:
        front.close()


def test_a_failover_of_sentinels(started: Started) -> None:
    login = ("--requirepass", SECRET, "--masterauth", SECRET)
    master = started.server(*login)
    replica = started.server(*login, "--replicaof", f"127.0.0.1 {master}")
    config = (
        f"sentinel monitor jobs 127.0.0.1 {master} 1\n"
        f'sentinel auth-pass jobs "{SECRET}"\n'
        "sentinel down-after-milliseconds jobs 500\n"
        "sentinel failover-timeout jobs 2000\n"
    )
    port = started.server("--sentinel", config=config)
    watcher = redis.Redis(port=port, decode_responses=True)
    until(lambda: int(watcher.sentinel_master("jobs")["num-slaves"]) == 1)
    url = f"sentinel://:{QUOTED}@127.0.0.1:{port},127.0.0.1:1/jobs/0"
    client = connect(url)
    send = celery_sender(WorkerSettings(redis_url=url))
    client.set("key", "before")
    send("cpu", "job_1")
    assert subscribes(url)
    copy = redis.Redis(port=replica, password=SECRET, decode_responses=True)
    until(lambda: copy.get("key") == "before" and copy.llen("umbel:queue:cpu") == 1)
    processes.stop(started.running.pop(master), 2.0)
    until(lambda: done(lambda: client.set("key", "after")))
    assert copy.get("key") == "after"
    until(lambda: done(lambda: send("cpu", "job_2")))
    assert copy.llen("umbel:queue:cpu") == 2
    assert subscribes(url)


def done(work: Callable[[], Any]) -> bool:
    try:
        with translated():
            work()
    except (TransientError, OperationalError):
        return False
    return True


def test_the_parts_of_a_sentinel_address() -> None:
    server = watched("sentinel://u:p%40@a:1,[::1]:2,c/jobs/3?sentinel_password=s")
    assert server is not None
    assert server.sentinels == (("a", 1), ("::1", 2), ("c", 26379))
    assert (server.name, server.db, server.username, server.password) == ("jobs", 3, "u", "p@")
    assert server.sentinel_password == "s"
    assert watched("redis://a/0") is None
    app = make_app(WorkerSettings(redis_url="sentinel://:p@a:1,b:2/jobs"))
    connection = app.connection_for_write()
    assert connection.get_transport_cls() is StrictSentinelTransport
    assert connection.transport_options["master_name"] == "jobs"


@pytest.mark.parametrize(
    "url",
    [
        "sentinel://",
        "sentinel://a",
        "sentinel://:secret@a:x/jobs",
        "sentinel://:secret@a/jobs/x",
        "sentinel://:secret@a,/jobs",
        "sentinel://:secret@a/jobs?odd=1",
        "http://:secret@a/",
        "rediss://:secret@a/0?ssl_cert_reqs=maybe",
    ],
)
def test_other_addresses_are_refused_without_being_shown(url: str) -> None:
    with pytest.raises(FatalError) as refused:
        require_usable(url)
    assert "secret" not in str(refused.value)


def test_addresses_that_can_be_used() -> None:
    for url in ("redis://h/0", "rediss://h:1/0", "unix:///tmp/s?db=0", "sentinel://h/jobs"):
        require_usable(url)
    assert tls_options("redis://h/0") is None
    assert tls_options("rediss://h/0?ssl_ca_certs=/c") == {
        "ssl_ca_certs": "/c",
        "ssl_cert_reqs": ssl.CERT_REQUIRED,
    }
    app = make_app(WorkerSettings(redis_url="rediss://h/0?ssl_ca_certs=/c"))
    assert app.connection_for_write().get_transport_cls() is StrictTransport


def test_settings_that_lose_data_are_named(started: Started) -> None:
    client = connect(f"redis://127.0.0.1:{started.server('--appendonly', 'no')}/0")
    [risk] = risks(client)
    assert risk.startswith("appendonly is off")
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("appendonly", "yes")
    client.config_set("appendfsync", "no")
    eviction, sync = risks(client)
    assert eviction.startswith("maxmemory-policy is allkeys-lru")
    assert sync.startswith("appendfsync is no")
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("appendfsync", "everysec")
    assert risks(client) == ()
    # A hosted server without CONFIG: what INFO says counts.
    client.acl_setuser("default", commands=["-config"])
    assert risks(client) == ()
    with pytest.raises(StoreUnavailable):
        risks(connect("redis://127.0.0.1:1/0"))


def test_a_cluster_is_refused_and_other_servers_are_not(started: Started) -> None:
    plain, cluster = (
        f"redis://127.0.0.1:{started.server('--cluster-enabled', enabled, '--appendonly', 'yes')}/0"
        for enabled in ("no", "yes")
    )
    refuse_cluster(plain)
    refuse_cluster("redis://127.0.0.1:1/0")
    with pytest.raises(FatalError, match=r"one primary.*replicas.*Sentinel"):
        refuse_cluster(cluster)
    assert "Redis Cluster" in risks(connect(cluster))[0]
    for arguments in (["worker", "--queues", "cpu"], ["api"]):
        done = subprocess.run(
            [sys.executable, "-m", "umbel", *arguments],
            env={**os.environ, "UMBEL_REDIS_URL": cluster, "UMBEL_STORE_URL": "file:///none"},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 2
        assert "Redis Cluster" in done.stderr
