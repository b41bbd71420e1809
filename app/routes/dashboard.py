"""The dashboard: the page at `/` and its files, as they lie in `app/dashboard`.

Files of that folder with a known ending are served and nothing else; the sample's lie in
`app/sample`. They need no key: they tell nothing about a tenant, and what the page shows it asks of
`/v1` with the key that its user gives it.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from app.http.etags import matches
from app.http.paging import address
from app.http.problems import Refused

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent.parent / "dashboard"
SAMPLE = Path(__file__).parent.parent / "sample"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'none'",
        # Text from users is text: the browser itself refuses to read it as markup.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # Asked for again each time, answered 304 while nothing has changed.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
    ".npy": "application/x-npy",
}
_PATH = re.compile(r"[a-zA-Z0-9_-][a-zA-Z0-9._-]*(/[a-zA-Z0-9_-][a-zA-Z0-9._-]*)*")
_PACKED = frozenset({".html", ".css", ".js", ".json", ".svg", ".txt"})


@router.api_route("/", methods=["GET", "HEAD"])
async def page(request: Request) -> Response:
    """The page."""
    return await _answer(request, FOLDER / "index.html")


@router.api_route("/dashboard", methods=["GET", "HEAD"])
@router.api_route("/dashboard/", methods=["GET", "HEAD"])
async def moved(request: Request) -> Response:
    """The page is at `/`."""
    return Response(status_code=307, headers={"Location": address(request, "/")})


@router.api_route("/dashboard/sample/{path:path}", methods=["GET", "HEAD"])
async def sample(request: Request, path: str) -> Response:
    """A file of the sample, which the page uploads as a user's own."""
    return await _answer(request, _inside(SAMPLE, path))


@router.api_route("/dashboard/{path:path}", methods=["GET", "HEAD"])
async def file(request: Request, path: str) -> Response:
    """A file of the page."""
    return await _answer(request, _inside(FOLDER, path))


def _inside(folder: Path, path: str) -> Path:
    """The file `path` of `folder`; Refused for anything else."""
    if not _PATH.fullmatch(path) or Path(path).suffix not in MEDIA_TYPES:
        raise Refused("not-found", "There is nothing at this path.")
    return folder / path


@dataclass(frozen=True)
class _Content:
    plain: bytes
    packed: bytes | None
    etag: str


async def _answer(request: Request, path: Path) -> Response:
    content = await to_thread.run_sync(_current, path)
    packed = content.packed is not None and _takes_gzip(request)
    etag = f'"{content.etag}-gzip"' if packed else f'"{content.etag}"'
    headers = {**HEADERS, "ETag": etag}
    if matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    if packed:
        headers["Content-Encoding"] = "gzip"
    body = content.packed if packed else content.plain
    return Response(body, headers=headers, media_type=MEDIA_TYPES[path.suffix])


def _takes_gzip(request: Request) -> bool:
    """Whether `gzip` is among the codings that the client names, and not with weight 0."""
    for part in request.headers.get("accept-encoding", "").split(","):
        coding, _, weight = part.partition(";")
        if coding.strip().lower() == "gzip":
            return re.fullmatch(r"\s*q=0(\.0*)?\s*", weight) is None
    return False


def _current(path: Path) -> _Content:
    """The file as it is now; Refused where there is none."""
    try:
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except OSError:
        raise Refused("not-found", "There is nothing at this path.") from None


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int, size: int) -> _Content:
    """`changed_ns` and `size` are of the file, so that a changed one is read anew."""
    plain = path.read_bytes()
    packed = gzip.compress(plain, 6, mtime=0) if path.suffix in _PACKED else None
    return _Content(plain, packed, sha256(plain).hexdigest()[:32])
