"""Stand-ins for Google Cloud Storage and Azure: what the service uses of their HTTP interfaces.

They keep objects in memory and hold to the documented rules on which the ledger rests: a write may
demand that there is no object (412 and 409), a read a certain ETag, parts become an object when
they are joined, and a deletion of what is not there is 404. Where Azure's own emulator is installed
(`npm install azurite`, `azurite-blob` on the path) the tests take that.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import re
import secrets
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import httpx

from tests.workers.waiting_kit import until

PAGE = 3
"""Keys of one page of a list, so that lists have several."""
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""Azurite's, which everybody knows."""
TOKEN = "a-bearer-token"


@dataclass
class Bucket:
    """Objects with their ETags, and parts of what is not whole yet.

    conditions : False: writes are never refused for what is there, as by a store that ignores it.
    """

    name: str
    conditions: bool = True
    objects: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    parts: dict[str, dict[str, bytes]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, key: str, data: bytes, *, create: bool) -> str | None:
        """The new ETag; None where there is an object already."""
        with self.lock:
            if create and self.conditions and key in self.objects:
                return None
            etag = f'"{hashlib.md5(data).hexdigest()}-{secrets.token_hex(4)}"'
            self.objects[key] = (data, etag)
            return etag

    def page(self, prefix: str, after: str) -> tuple[list[tuple[str, bytes, str]], str]:
        """Some of the objects in order, and where the next ones begin."""
        with self.lock:
            keys = sorted(key for key in self.objects if key.startswith(prefix) and key > after)
            found = [(key, *self.objects[key]) for key in keys[:PAGE]]
        return found, keys[PAGE - 1] if len(keys) > PAGE else ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """Else each body waits 40 ms, until what came before it has been acknowledged."""
    bucket: Bucket
    taken = 0
    """The status of a write that is refused."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle_one(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query, True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        container, _, key = self.within(address.path).partition("/")
        if not self.allowed(query):
            self.answer(403)
        elif unquote(container) != self.bucket.name:
            self.answer(404)
        else:
            self.serve(unquote(key), query, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_one

    def within(self, path: str) -> str:
        return path.removeprefix("/")

    def allowed(self, query: dict[str, str]) -> bool:
        raise NotImplementedError

    def serve(self, key: str, query: dict[str, str], body: bytes) -> None:
        raise NotImplementedError

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        headers.setdefault("Last-Modified", formatdate(usegmt=True))
        headers.setdefault("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def write(self, key: str, body: bytes, *, create: bool) -> None:
        etag = self.bucket.put(key, body, create=create)
        if etag is None:
            self.answer(self.taken)
        else:
            self.answer(201 if self.taken == 409 else 200, ETag=etag, x_goog_generation="1")

    def read(self, key: str) -> None:
        data, etag = self.bucket.objects.get(key, (b"", ""))
        wanted = self.headers.get("If-Match")
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if not etag:
            self.answer(404)
        elif wanted is not None and wanted != etag:
            self.answer(412)
        elif span is not None:
            start, stop = int(span[1]), min(int(span[2]) + 1, len(data))
            content_range = f"bytes {start}-{stop - 1}/{len(data)}"
            self.answer(206, data[start:stop], ETag=etag, Content_Range=content_range)
        else:
            self.answer(200, data, ETag=etag)

    def remove(self, key: str) -> int:
        return 404 if self.bucket.objects.pop(key, None) is None else 0


class Google(Handler):
    """The XML interface: like S3's, but for conditions."""

    taken = 412

    def allowed(self, query: dict[str, str]) -> bool:
        signed = "X-Goog-Signature" in query
        return signed or self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def serve(self, key: str, query: dict[str, str], body: bytes) -> None:
        if not key:
            self.list(query)
        elif "uploads" in query:
            upload = secrets.token_hex(8)
            self.bucket.parts[upload] = {}
            self.answer(200, f"<R><UploadId>{upload}</UploadId></R>".encode())
        elif "uploadId" in query:
            self.part(key, query, body)
        elif self.command == "PUT":
            create = self.headers.get("x-goog-if-generation-match") == "0"
            self.write(key, body, create=create)
        elif self.command == "DELETE":
            self.answer(self.remove(key) or 204)
        else:
            self.read(key)

    def part(self, key: str, query: dict[str, str], body: bytes) -> None:
        parts = self.bucket.parts.get(query["uploadId"])
        if parts is None:
            self.answer(404)
        elif self.command == "PUT":
            parts[query["partNumber"].zfill(5)] = body
            self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        else:
            del self.bucket.parts[query["uploadId"]]
            if self.command == "DELETE":
                self.answer(204)
                return
            etag = self.bucket.put(key, b"".join(parts[n] for n in sorted(parts)), create=False)
            text = f"<R><ETag>{escape(etag or '')}</ETag></R>"
            self.answer(200, text.encode(), x_goog_generation="1")

    def list(self, query: dict[str, str]) -> None:
        after = query.get("continuation-token", "")
        found, token = self.bucket.page(query.get("prefix", ""), after)
        items = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size><ETag>{escape(etag)}</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, data, etag in found
        )
        more = f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if token else ""
        self.answer(200, f"<ListBucketResult>{items}{more}</ListBucketResult>".encode())


class Azure(Handler):
    """Block blobs of one container."""

    taken = 409

    def within(self, path: str) -> str:
        return path.removeprefix(f"/{ACCOUNT}/")

    def allowed(self, query: dict[str, str]) -> bool:
        shared = self.headers.get("Authorization", "").startswith(f"SharedKey {ACCOUNT}:")
        return shared or "sig" in query

    def serve(self, key: str, query: dict[str, str], body: bytes) -> None:
        what = query.get("comp")
        if what == "list":
            self.list(query)
        elif what == "batch":
            self.batch(body)
        elif what == "block":
            self.bucket.parts.setdefault(key, {})[query["blockid"]] = body
            self.answer(201)
        elif what == "blocklist":
            blocks = self.bucket.parts.pop(key, {})
            ids = re.findall(r"<(?:Uncommitted|Latest)>([^<]+)<", body.decode())
            self.write(key, b"".join(blocks[block] for block in ids), create=False)
        elif self.command == "PUT":
            self.write(key, body, create=self.headers.get("If-None-Match") == "*")
        elif self.command == "DELETE":
            self.answer(self.remove(key) or 202)
        else:
            self.read(key)

    def batch(self, body: bytes) -> None:
        answers = []
        for number, path in re.findall(
            r"Content-ID: (\d+).*?DELETE (\S+) HTTP", body.decode(), re.S | re.I
        ):
            key = unquote(self.within(urlsplit(path).path).partition("/")[2])
            status = "404 Not Found" if self.remove(key) else "202 Accepted"
            answers.append(
                f"--batch\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
                f"HTTP/1.1 {status}\r\nx-ms-version: 2023-11-03\r\n\r\n"
            )
        whole = "".join(answers) + "--batch--\r\n"
        self.answer(202, whole.encode(), Content_Type="multipart/mixed; boundary=batch")

    def list(self, query: dict[str, str]) -> None:
        found, token = self.bucket.page(query.get("prefix", ""), query.get("marker", ""))
        items = "".join(
            f"<Blob><Name>{escape(key)}</Name><Properties><Content-Length>{len(data)}"
            f"</Content-Length><Content-Type>x/y</Content-Type><Etag>{escape(etag)}</Etag>"
            f"<Last-Modified>{formatdate(usegmt=True)}</Last-Modified></Properties></Blob>"
            for key, data, etag in found
        )
        text = f"<Blobs>{items}</Blobs><NextMarker>{escape(token)}</NextMarker>"
        self.answer(200, f"<EnumerationResults>{text}</EnumerationResults>".encode())


@contextmanager
def cloud(kind: type[Handler], bucket: Bucket) -> Iterator[str]:
    """A server of a bucket; its address."""
    handler = type(kind.__name__, (kind,), {"bucket": bucket})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            account = f"/{ACCOUNT}" if kind is Azure else ""
            yield f"http://127.0.0.1:{server.server_port}{account}"
        finally:
            server.shutdown()


@contextmanager
def azurite(program: str, container: str) -> Iterator[str]:
    """Azure's emulator with a container; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "--blobPort", str(port), "--inMemoryPersistence", "--silent"]
    with subprocess.Popen([*command, "--skipApiVersionCheck"]) as process:
        try:
            endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
            path = f"/{ACCOUNT}/{container}"
            date, text = formatdate(usegmt=True), "x-ms-date:{}\nx-ms-version:2021-08-06\n"
            signed = f"PUT{chr(10) * 12}{text.format(date)}/{ACCOUNT}{path}\nrestype:container"
            digest = hmac.digest(base64.b64decode(ACCOUNT_KEY), signed.encode(), "sha256")
            headers = {
                "x-ms-date": date,
                "x-ms-version": "2021-08-06",
                "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}",
            }

            def made() -> bool:
                with contextlib.suppress(httpx.TransportError):
                    address = f"http://127.0.0.1:{port}{path}?restype=container"
                    return httpx.put(address, headers=headers).status_code == 201
                return False

            until(made)
            yield endpoint
        finally:
            process.terminate()
