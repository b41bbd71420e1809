"""One POST: to the checked address, with TLS for the name, bounded whatever the receiver does."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpcore
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.workers.waiting_kit import PATIENCE_S
from tests.workers.webhooks.receiver_kit import Receiver, receiving
from workers.webhooks import exchange
from workers.webhooks.addresses import Guard, parse
from workers.webhooks.posting import post
from workers.webhooks.replies import NotSent, Reply

LOCAL = ipaddress.ip_network("127.0.0.0/8")


class Names:
    """A resolver that gives the next of `answers` at each call and counts calls."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.job: list[str] = []

    def __call__(self, host: str, port: int) -> list[tuple[int, tuple[str, int]]]:
        self.job.append(host)
        return [(socket.AF_INET, (address, port)) for address in self.answers.pop(0)]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def send(url: str, guard: Guard | None = None, timeout_s: float = PATIENCE_S) -> Reply:
    return post(parse(url), {"x-one": "1"}, b"{}", guard or Guard([LOCAL]), timeout_s)


def test_a_post_arrives(receiver: Receiver) -> None:
    assert send(receiver.url) == Reply(204, "")
    webhook = receiver.requests[0]
    assert webhook.path == "/hook?token=s3cret"
    assert webhook.body == b"{}"
    assert webhook.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert webhook.headers["x-one"] == "1"
    assert set(webhook.headers) == {"host", "connection", "x-one", "content-length"}


def test_an_error_status_is_a_reply(receiver: Receiver) -> None:
    receiver.answers = [(503, {"Retry-After": "7"}), (302, {"Location": receiver.url}), 410]
    assert send(receiver.url) == Reply(503, "7")
    assert send(receiver.url).status == 302
    assert send(receiver.url).status == 410
    assert len(receiver.requests) == 3


def test_proxies_of_the_environment_are_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert send(receiver.url).status == 204


def test_a_name_is_resolved_once_and_the_checked_address_is_used(receiver: Receiver) -> None:
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    url = f"http://example.org:{receiver.port}/x"
    assert send(url, Guard([LOCAL], names)).status == 204
    assert names.job == ["example.org"]
    assert receiver.requests[0].headers["host"] == f"example.org:{receiver.port}"
    # The next request resolves the name again, and is refused.
    with pytest.raises(NotSent) as refused:
        send(url, Guard([LOCAL], names))
    assert refused.value.final
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["169.254.1.1"]])
def test_a_private_address_prevents_any_connection(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("connected")

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(NotSent) as refused:
        send(f"http://example.org:{receiver.port}/", Guard(resolve=Names(addresses)))
    assert refused.value.final
    assert not any(address in str(refused.value) for address in addresses)


def test_the_next_address_is_tried(receiver: Receiver) -> None:
    names = Names(["127.0.0.2", "127.0.0.1"])
    assert send(f"http://example.org:{receiver.port}/", Guard([LOCAL], names)).status == 204


def endless_body(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b"x" * 65536)


def endless_headers(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        request.wfile.write(b"X-More: " + b"x" * 1000 + b"\r\n")


def endless_information(request: BaseHTTPRequestHandler) -> None:
    while True:
        request.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")


def endless_chunks(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        request.wfile.write(b"1\r\nx\r\n" * 1000)


def drip(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        request.wfile.write(b"X")
        time.sleep(0.02)


def nonsense(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"\x00\x01 what?\r\n\r\n")


def nothing(request: BaseHTTPRequestHandler) -> None:
    request.connection.shutdown(socket.SHUT_RDWR)


def test_an_endless_response_is_not_read(receiver: Receiver) -> None:
    receiver.answers = [endless_body]
    # To read it to its end would take for ever.
    assert send(receiver.url, timeout_s=PATIENCE_S).status == 200


def test_a_response_of_very_short_chunks_is_bounded_by_what_is_sent(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each chunk costs time, and 64 KiB of content would be 65,536 of them."""
    contents: list[int] = []
    read_some = exchange._read_some

    def counted(response: httpcore.Response) -> None:
        chunks = response.iter_stream

        def iter_stream() -> Iterator[bytes]:
            for piece in chunks():
                contents.append(len(piece))
                yield piece

        monkeypatch.setattr(response, "iter_stream", iter_stream)
        read_some(response)

    monkeypatch.setattr(exchange, "_read_some", counted)
    monkeypatch.setattr(exchange, "_REST_S", PATIENCE_S)
    receiver.answers = [endless_chunks]
    assert send(receiver.url, timeout_s=PATIENCE_S).status == 200
    # What came with the status is read as well.
    assert 0 < sum(contents) < exchange._REST_BYTES / 2


@pytest.mark.parametrize(
    ("behave", "message", "timeout_s"),
    [
        (endless_headers, "not HTTP", PATIENCE_S),
        (endless_information, "no status within 262144 bytes", PATIENCE_S),
        (drip, "no answer within 0.4 s", 0.4),
        (nonsense, "not HTTP", PATIENCE_S),
        (nothing, "not HTTP|broke off", PATIENCE_S),
        (Receiver.hang, "no answer within 0.4 s", 0.4),
    ],
)
def test_bad_responses_fail(
    receiver: Receiver, behave: object, message: str, timeout_s: float
) -> None:
    """Those that would go on for ever fail by the time that they have, whatever comes meanwhile."""
    receiver.answers = [behave if behave is not Receiver.hang else receiver.hang]  # type: ignore
    with pytest.raises(NotSent, match=message) as failed:
        send(receiver.url, timeout_s=timeout_s)
    assert not failed.value.final


def test_a_receiver_that_does_not_read_is_abandoned() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(NotSent, match="no answer within"):
            post(parse(url), {}, b"x" * (64 << 20), Guard([LOCAL]), 0.4)


def test_a_closed_port() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(NotSent, match="refused"):
        send(f"http://127.0.0.1:{port}/")
    with pytest.raises(NotSent, match="not found"):
        send("http://nobody.invalid/")


def test_a_slow_resolver_sends_nothing_late(receiver: Receiver) -> None:
    def resolve(host: str, port: int) -> list[tuple[int, tuple[str, int]]]:
        time.sleep(0.3)
        return [(socket.AF_INET, ("127.0.0.1", port))]

    with pytest.raises(NotSent, match="no answer within"):
        send(receiver.url, Guard([LOCAL], resolve), timeout_s=0.2)
    assert receiver.requests == []


@pytest.fixture
def secure(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Receiver]:
    """The receiver behind TLS, with a certificate for `hooks.example` that is trusted."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hooks.example")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hooks.example")]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "certificate.pem"
    pem.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server = receiver.server
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    exchange._context.cache_clear()
    yield receiver
    exchange._context.cache_clear()


def test_tls_is_verified_for_the_name(secure: Receiver) -> None:
    for _ in range(2):
        url = f"https://hooks.example:{secure.port}/"
        assert send(url, Guard([LOCAL], Names(["127.0.0.1"]))).status == 204
    with pytest.raises(NotSent, match=r"certificate is not valid: .*other\.example"):
        send(f"https://other.example:{secure.port}/", Guard([LOCAL], Names(["127.0.0.1"])))
    with pytest.raises(NotSent, match="certificate is not valid"):
        send(f"https://127.0.0.1:{secure.port}/")
    assert len(secure.requests) == 2


def test_an_untrusted_certificate(secure: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    exchange._context.cache_clear()
    url = f"https://hooks.example:{secure.port}/"
    with pytest.raises(NotSent, match="certificate is not valid: self"):
        send(url, Guard([LOCAL], Names(["127.0.0.1"])))
    assert secure.requests == []


def test_tls_to_a_plain_http_server(receiver: Receiver) -> None:
    with pytest.raises(NotSent, match=r"TLS|broke off"):
        send(f"https://127.0.0.1:{receiver.port}/", timeout_s=PATIENCE_S)


def test_a_stalled_handshake() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        before = threading.active_count()
        with pytest.raises(NotSent, match="no answer within"):
            send(f"https://127.0.0.1:{silent.getsockname()[1]}/", timeout_s=0.3)
        assert threading.active_count() == before
