"""Connections of the API: how many there may be, how long they may wait, how long a header may be.

The parser collects a header piece by piece on the event loop, so that its work grows with the
square of the header's length: what a client may send before a request is checked is bounded here,
before it is parsed. What takes the parser long by its many small pieces waits for its turn
(`app.http.readers`). A connection that keeps the server waiting is closed; one past the bound is
answered with 503.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from app.http.addresses import host_of
from app.http.connection_state import State
from app.http.door import site_of
from app.http.peers import has_left, unconfirmed
from app.http.problems import KINDS, MEDIA_TYPE
from workers.errors import problem

SLICE = 16 << 10
"""Bytes that are parsed between two checks, at most, ..."""

FIRST_SLICE = 1 << 10
"""... and at first, and after some with many small pieces."""

PIECES = 100
"""Pieces of bodies that are parsed in one go; where there are more the rest waits for its turn."""

REQUEST_PIECES = 8
"""As so many of them counts a request."""

SMALL = 64
"""Bytes: a connection whose pieces are shorter than this, and more than a few at once, ..."""
FEW_PIECES = 32
"""... waits for its turn from the beginning the next time."""

SPARE = 64
"""Connections past the bound that stay open after their 503, so that clients that are still sending
their request can read it; more are closed at once."""

MOST_PARTS = 100
"""Parts of a header between commas or semicolons, and of a query between `&`: who reads them takes
time for each, on the event loop."""

_ONCE = {
    b"authorization": "Authorization",
    b"content-type": "Content-Type",
    b"idempotency-key": "Idempotency-Key",
}
"""Headers that a request has once at most: who reads the first and who reads the last of several
would read another request."""

_UNCOUNTED = (b"cookie", b"baggage")
"""Browsers send many cookies, and tracing up to 64 members with properties, which nobody reads."""

_UPLOADS = (b"/v1/datasets?", b"/v1/uploads?")
_COLUMN = b"columns"
"""A wide table has thousands of columns, and each one that is chosen is a parameter: these, of an
upload, are held to the bytes of a header alone."""

LINGER_S = 2.0
"""How long a refused connection stays open, so that its client can read why."""

LINGER_BYTES = 1 << 20
"""What is read and dropped meanwhile; then nothing more is read."""

CROWD = 64
"""Where more are open, those whose clients have left already are let go before anything is done for
them: thousands that send a request and are closed at once stand before whoever comes next."""

CROWDED_S = 5.0
"""How long a kept connection may be idle while there are as many as there may be: others wait for
its place."""


class _TooLarge(Exception):
    """Ends the parsing of a header that is past a bound."""


class _Flow(FlowControl):
    """Reads nothing more while bytes are held back.

    on_resume : called where it would read on but for them.
    """

    def __init__(self, transport: asyncio.Transport, on_resume: Callable[[], None]) -> None:
        super().__init__(transport)
        self._on_resume = on_resume
        self._holds = False

    def hold(self) -> None:
        if not self._holds:
            self._holds = True
            if not self.read_paused:
                self._transport.pause_reading()

    def release(self) -> None:
        if self._holds:
            self._holds = False
            if not self.read_paused:
                self._transport.resume_reading()

    def pause_reading(self) -> None:
        if self._holds:
            self.read_paused = True
        else:
            super().pause_reading()

    def resume_reading(self) -> None:
        if not self._holds:
            super().resume_reading()
        elif self.read_paused:
            self.read_paused = False
            self._on_resume()


class Connection(HttpToolsProtocol):
    """One client's connection.

    The server calls `check` about twice a second: one pass over all connections costs less than a
    timer for each that is set anew with every piece of a body.
    """

    server_state: State
    flow: _Flow

    def __init__(
        self,
        config: Config,
        server_state: State,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = server_state.limits
        # The part of a request that is being read: first its header, then its body.
        self._header_since: float | None = self.loop.time()
        self._in_body = False
        self._header_bytes = 0
        self._n_headers = 0
        self._n_hosts = 0
        self._n_once: Counter[bytes] = Counter()
        self._n_parts = 0
        self._codings: list[bytes] = []
        self._unparsed = 0
        # How much is parsed at a time, of how many pieces that was, and what waits to be parsed.
        self._readers = server_state.readers_on(self.loop)
        self._slice = FIRST_SLICE
        self._n_pieces = 0
        self._small = False
        self._held, self._held_by = b"", ""
        # Times of the last progress, for `check`.
        self._received_at = self.loop.time()
        self._responded_at = 0.0
        self._unsent = 0
        self._sent_at = 0.0
        # Done once the connection has ended: work that waits for it need not be done.
        self._gone: asyncio.Future[None] = self.loop.create_future()
        # A refused connection.
        self._dropped: int | None = None
        self._close_at: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport, self._stand)
        excess = len(self.connections) - self._limits.connections
        if excess > 0:
            self.server_state.report_full(self.loop.time())
            # At once: who waits for a request holds a descriptor meanwhile.
            full = "There are too many connections. Try again."
            self._refuse("unavailable", full, at_once=True)
            if excess > SPARE:
                transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._keep(b"")
        if not self._gone.done():
            self._gone.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._dropped is not None:
            self._drop(len(data))
            return
        now = self._received_at = self.loop.time()
        if self._header_since is None and not self._in_body:
            self._header_since = now
        if self._held or self._small or self.pipeline:
            self._hold(self._held + data)
        else:
            self._parse(data)

    @property
    def whose(self) -> str:
        """Whose turn it is when this connection's bytes are parsed: a tenant or an address."""
        tenant = None if self.cycle is None else self.cycle.scope["state"].get("tenant")
        if tenant is not None:
            return f"tenant {tenant}"
        return site_of(self.client[0]) if self.client else ""

    def read_on(self) -> None:
        """Parse of what was held back so many pieces."""
        held, self._received_at = self._held, self.loop.time()
        self._keep(b"")
        if self.pipeline or self.flow.read_paused:
            self._hold(held)
        else:
            self._parse(held)
        if not self._held and not self.transport.is_closing():
            self.flow.release()

    def _parse(self, data: bytes) -> None:
        """Parse the data, and hold back what comes after many pieces, or after a request that has
        to wait for the one before it."""
        view, start = memoryview(data), 0
        self._n_pieces = 0
        while start < len(view):
            if self.pipeline or self._n_pieces > PIECES:
                break
            before = self._n_pieces
            piece = view[start : start + self._slice]
            start += len(piece)
            self._unparsed += len(piece)
            super().data_received(piece)  # type: ignore[arg-type]
            if self.transport.is_closing() or self._dropped is not None:
                return
            if self._too_large or self._unparsed > self._limits.header_bytes:
                self._refuse_header()
                return
            small = self._n_pieces - before > FEW_PIECES
            self._slice = FIRST_SLICE if small else min(2 * self._slice, SLICE)
        self._small = self._n_pieces > max(FEW_PIECES, start // SMALL)
        if start < len(view):
            self._hold(bytes(view[start:]))

    def _hold(self, data: bytes) -> None:
        """Hold these bytes back, and read no others, until it is their turn."""
        self._keep(data)
        if self._readers.is_full(self._held_by):
            self._keep(b"")
            self._refuse("unavailable", "Too many clients send short pieces. Try again.")
            return
        self._unset_keepalive_if_required()
        self.flow.hold()
        self._stand()

    def _keep(self, data: bytes) -> None:
        self._readers.count(self._held_by, -len(self._held))
        self._held, self._held_by = data, self.whose if data else ""
        self._readers.count(self._held_by, len(data))
        if not data:
            self._readers.leave(self)

    def _stand(self) -> None:
        """Stand in line, unless a request has to be answered or its body to be taken first."""
        if self._held and not self.pipeline and not self.flow.read_paused:
            self._readers.stand(self)

    @property
    def _too_large(self) -> bool:
        """Whether the header, with the trailers, is past a bound."""
        return (
            self._header_bytes > self._limits.header_bytes or self._n_headers > self._limits.headers
        )

    def on_message_begin(self) -> None:
        self._n_pieces += REQUEST_PIECES
        self._header_bytes = self._n_headers = self._n_hosts = self._n_parts = 0
        self._n_once.clear()
        self._codings = []
        if self._header_since is None:
            self._header_since = self._received_at
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._header_bytes += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value) + 4
        self._n_headers += 1
        if self._too_large:
            # The parser stops here: the rest of the piece may be thousands of short ones.
            raise _TooLarge
        # What follows the body (trailers) counts, but is no header of the request any more.
        if not self._in_body:
            known = name.lower()
            self._n_hosts += known == b"host"
            if known in _ONCE:
                self._n_once[known] += 1
            if known not in _UNCOUNTED:
                self._n_parts = max(self._n_parts, 1 + value.count(b",") + value.count(b";"))
            if known == b"transfer-encoding":
                self._codings.append(value.strip().lower())
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._header_since = None
        self._unparsed = 0
        if self._too_large or self._dropped is not None:
            return
        if self._n_hosts > 1 or (self._n_hosts == 0 and self.parser.get_http_version() == "1.1"):
            # RFC 9112, section 3.2.
            self._refuse("malformed", f"A request has one Host header, not {self._n_hosts}.")
            return
        if max(self._n_parts, self._n_parameters()) > MOST_PARTS:
            self._refuse(
                "headers-too-large",
                f"A query has at most {MOST_PARTS} parameters, and a header as many parts between "
                "commas and semicolons.",
            )
            return
        if (wrong := self._ambiguous()) is not None:
            self._refuse("malformed", wrong)
            return
        if len(self.connections) > CROWD and has_left(self.transport):
            # Its request would take a hundred times as long as to let it go.
            self.transport.abort()
            return
        self._in_body = True
        super().on_headers_complete()
        self.scope["state"]["gone"] = self._gone
        if self.server_state.draining:
            self.cycle.keep_alive = False

    def _n_parameters(self) -> int:
        """How many the query has, but for the columns that an upload chooses."""
        url = self.url
        chosen = 0
        if self.parser.get_method() == b"POST" and any(path in url for path in _UPLOADS):
            chosen = url.count(b"&" + _COLUMN) + url.count(b"?" + _COLUMN)
        return 1 + url.count(b"&") - chosen

    def _ambiguous(self) -> str | None:
        """What in the header others may read in another way: the address that the request is sent
        to, its key, the coding of its body; None if nothing."""
        if not self.url.startswith(b"/") and self.url != b"*":
            return "The target of a request is a path, as `GET /v1/version`, not a whole address."
        hosts = (value for name, value in self.headers if name == b"host")
        if any(host and host_of(host.decode("latin-1")) is None for host in hosts):
            return "The Host header is a name or an address, with or without a port: `host:port`."
        for name, shown in _ONCE.items():
            if (n := self._n_once[name]) > 1:
                # A proxy in front may have looked at another one.
                return f"A request has one {shown} header, not {n}."
        if self._codings not in ([], [b"chunked"]):
            # RFC 9112, section 6.1: the parser would take the body as it was sent.
            return "The only transfer coding is `chunked`; a body is packed by Content-Encoding."
        return None

    def on_chunk_header(self) -> None:
        self._unparsed = 0

    def on_body(self, body: bytes) -> None:
        self._n_pieces += 1
        self._unparsed = 0
        if not self._too_large:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        self._in_body = False
        if not self._too_large and self._dropped is None:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        self._responded_at = self.loop.time()
        super().on_response_complete()
        if self._held:
            # What waits to be parsed is no idle connection.
            self._unset_keepalive_if_required()
        self._stand()

    def _unsupported_upgrade_warning(self) -> None:
        # The request is answered as HTTP/1.1; the parser takes nothing after it.
        if self.cycle is not None:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        if self._too_large:
            self._refuse_header()
        else:
            self._refuse("malformed", msg)

    def _refuse_header(self) -> None:
        self._refuse(
            "headers-too-large",
            f"A request may have at most {self._limits.headers} headers, and "
            f"{self._limits.header_bytes} bytes of headers with the request line.",
        )

    def _refuse(self, code: str, detail: str, *, at_once: bool = False) -> None:
        """Answer with a problem, once it is due, if no other response is in the way, and read no
        further."""
        if self._dropped is not None:
            return
        self._dropped = 0
        if self._closes_after_response():
            return
        if self.pipeline:
            self.transport.abort()
            return
        cycle = self.cycle
        if self._responding:
            # The rest of the request that is being answered does not come.
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.abort()
                return
        self._unset_keepalive_if_required()
        if self._in_body and not self._responding:
            # The request has been answered already; this is the rest of its body.
            self.transport.close()
            return
        due_in = 0.0 if at_once else self.server_state.due_in(self.client)
        if due_in > 0:
            self.loop.call_later(due_in, self._end, code, detail)
        else:
            self._end(code, detail)

    def _end(self, code: str, detail: str) -> None:
        """Send the problem, which nothing follows."""
        if self.transport.is_closing():
            return
        self.transport.write(_response(code, detail, self.server_state.default_headers))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._close_at = self.loop.time() + LINGER_S

    def _closes_after_response(self) -> bool:
        """Whether a whole request is being answered, whose response now closes the connection."""
        if not self._responding or self.cycle.more_body:
            return False
        self.cycle.keep_alive = False
        return True

    @property
    def _responding(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _drop(self, n_bytes: int) -> None:
        assert self._dropped is not None
        self._dropped += n_bytes
        if self._dropped > LINGER_BYTES:
            self.flow.pause_reading()

    def postpone(self, seconds: float) -> None:
        """Move all deadlines: for so long the server itself was held up, and read nothing."""
        self._received_at += seconds
        self._responded_at += seconds
        self._sent_at += seconds
        if self._header_since is not None:
            self._header_since += seconds

    def check(self, now: float) -> None:
        """Close the connection if its client has kept the server waiting for too long."""
        if self._is_unread(now):
            self.transport.abort()
        elif self.transport.is_closing():
            return
        elif self._dropped is not None:
            if self._close_at is not None and now > self._close_at:
                self.transport.close()
        elif (
            self.flow.read_paused
            or self._held
            or (self._responding and self.cycle.waiting_for_100_continue)
        ):
            # The server does not read at present: the client waits for it.
            self._received_at = now
            if self._header_since is not None:
                self._header_since = now
        elif self._header_since is not None:
            self._check_header(now)
        elif self._in_body:
            self._check_body(now)
        elif (
            not self._responding
            and self.timeout_keep_alive_task is None
            and now - max(self._received_at, self._responded_at) > self._limits.keep_alive_s
        ):
            self.transport.close()
        elif len(self.connections) >= self._limits.connections:
            self.close_if_idle(now - CROWDED_S)

    def _is_unread(self, now: float) -> bool:
        """Whether the client has read nothing of what was sent for too long."""
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            # The kernel takes more in large steps only: what it still has shows smaller ones.
            unsent += unconfirmed(self.transport)
        if unsent != self._unsent:
            self._unsent, self._sent_at = unsent, now
        return unsent > 0 and now - self._sent_at > self._limits.body_s

    def _check_header(self, now: float) -> None:
        assert self._header_since is not None
        if now - self._header_since <= self._limits.header_s:
            return
        if not self._unparsed:
            self.transport.close()
            return
        self._refuse(
            "timeout", f"The header was not complete within {self._limits.header_s:g} seconds."
        )

    def _check_body(self, now: float) -> None:
        answered = not self._responding
        if now - (self._responded_at if answered else self._received_at) <= self._limits.body_s:
            return
        if answered:
            self.transport.close()
            return
        self._refuse("timeout", f"Nothing of the body came for {self._limits.body_s:g} seconds.")

    def drain(self) -> None:
        """Let the response that is being made, or else the next one, close the connection."""
        if self._responding and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def close_if_idle(self, since: float) -> None:
        """Close the connection if no request has been read or answered since then."""
        reading = self._in_body or (self._header_since is not None and self._unparsed > 0)
        if reading or self._held or self._responding or self._dropped is not None:
            return
        if max(self._received_at, self._responded_at) <= since:
            self.transport.close()


def _response(code: str, detail: str, headers: list[tuple[bytes, bytes]]) -> bytes:
    """A whole response with a problem, after which the connection is closed."""
    status, title, _ = KINDS[code]
    request_id = f"req_{secrets.token_hex(12)}"
    body = json.dumps({**problem(code, title, status, detail), "request_id": request_id}).encode()
    fields = [
        *headers,
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", request_id.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"cross-origin-resource-policy", b"same-origin"),
        *([(b"retry-after", b"2")] if status == 503 else []),
        (b"connection", b"close"),
    ]
    lines = b"".join(b"%s: %s\r\n" % field for field in fields)
    return STATUS_LINE[status] + lines + b"\r\n" + body
