"""The dashboard: the pages at `/`, `/shared`, `/embed` and `/docs` and their files, from
`app/dashboard`, and the sample's, from `app/sample`.

The pages name their files by addresses that contain the version of all files, so that a browser
keeps them without asking again: `/dashboard/v-<version>/js/main.js`. Imports among modules are
relative and stay within it.

None of them needs a key: they reveal nothing about a tenant, and the page itself reads from `/v1`
with the key that its user enters.
"""

from __future__ import annotations

import gzip
import os
import re
import time
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.datastructures import Headers
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.http.addresses import address
from app.http.compression import takes_gzip
from app.http.etags import matches

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent

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
        # Text from users stays text: the browser itself refuses to parse it as markup.
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
    # Requested again each time, and answered with 304 while unchanged.
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
KEPT = "public, max-age=31536000, immutable"
"""The `Cache-Control` of files under the present version."""

_VERSION_S = 1.0
"""For how long a version is believed before the files are looked at again."""

_VERSIONED = re.compile(r"v-([0-9a-f]{16})/(.*)")
_PATH = re.compile(r"[a-zA-Z0-9_-][a-zA-Z0-9._-]*(/[a-zA-Z0-9_-][a-zA-Z0-9._-]*)*")
_PACKED = frozenset({".html", ".css", ".js", ".json", ".svg", ".txt"})


class Files(StaticFiles):
    """The files of a folder with a known suffix, compressed for clients that accept gzip.

    ETags depend on the content: an image or a package may give all its files the same time.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory)
        self._root = directory
        self._version: tuple[float, str] | None = None

    def version(self) -> str:
        """What changes with the name or the content of any file."""
        now = time.monotonic()
        if self._version is None or now - self._version[0] > _VERSION_S:
            digest = sha256()
            for path in sorted(self._root.rglob("*")):
                if path.suffix in MEDIA_TYPES:
                    status = path.stat()
                    _, etag = _read(path, status.st_mtime_ns, status.st_size, False)
                    digest.update(f"{path.relative_to(self._root).as_posix()} {etag}\n".encode())
            self._version = now, digest.hexdigest()[:16]
        return self._version[1]

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        if not _PATH.fullmatch(path) or Path(path).suffix not in MEDIA_TYPES:
            return "", None
        return super().lookup_path(path)

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        path, request = Path(full_path), Headers(scope=scope)
        packed = path.suffix in _PACKED and takes_gzip(request)
        version = self.version() if path.suffix == ".html" else ""
        content, etag = _read(path, stat_result.st_mtime_ns, stat_result.st_size, packed, version)
        headers = {**HEADERS, "ETag": etag}
        # Conditions arrive without the coding (`app.http.compression`).
        if matches(request.get("if-none-match"), etag.replace('-gzip"', '"')):
            return Response(status_code=304, headers=headers)
        if packed:
            headers["Content-Encoding"] = "gzip"
        return Response(content, status_code, headers, MEDIA_TYPES[path.suffix])


@lru_cache(maxsize=512)
def _read(
    path: Path, changed_ns: int, size: int, packed: bool, version: str = ""
) -> tuple[bytes, str]:
    """The content as sent, and its ETag.

    changed_ns, size : of the file, so that a changed one is read again.
    version : of the files which a page names.
    """
    content = path.read_bytes()
    if version:
        content = content.replace(b'"dashboard/', f'"dashboard/v-{version}/'.encode())
    digest = sha256(content).hexdigest()[:32]
    if packed:
        return gzip.compress(content, 6, mtime=0), f'"{digest}-gzip"'
    return content, f'"{digest}"'


PAGE = Files(directory=FOLDER)
SAMPLE = Files(directory=FOLDER.parent / "sample")


@router.api_route("/", methods=["GET", "HEAD"])
async def page(request: Request) -> Response:
    """The page."""
    return await PAGE.get_response("index.html", request.scope)


@router.api_route("/shared", methods=["GET", "HEAD"])
async def shared(request: Request) -> Response:
    """The page for whoever has a link, whose token is in the fragment and does not arrive here."""
    return await PAGE.get_response("index.html", request.scope)


@router.api_route("/embed", methods=["GET", "HEAD"])
async def embedded(request: Request) -> Response:
    """The same for frames of other pages, where the settings list their origins. It shows only
    links that may be framed; which one it is, only the page itself knows."""
    response = await PAGE.get_response("index.html", request.scope)
    ancestors = " ".join(request.app.state.settings.frame_ancestors) or "'none'"
    response.headers["Content-Security-Policy"] = POLICY.replace(
        "frame-ancestors 'none'", f"frame-ancestors {ancestors}"
    )
    return response


@router.api_route("/docs", methods=["GET", "HEAD"])
async def reference(request: Request) -> Response:
    """The reference of the API."""
    return await PAGE.get_response("docs.html", request.scope)


@router.api_route("/dashboard", methods=["GET", "HEAD"])
@router.api_route("/dashboard/", methods=["GET", "HEAD"])
async def moved(request: Request) -> Response:
    """The page is at `/`."""
    return Response(status_code=307, headers={"Location": address(request, "/")})


@router.api_route("/dashboard/sample/{path:path}", methods=["GET", "HEAD"])
async def sample(request: Request, path: str) -> Response:
    """A file of the sample, which the page uploads as a user's own."""
    return await SAMPLE.get_response(path, request.scope)


@router.api_route("/dashboard/{path:path}", methods=["GET", "HEAD"])
async def file(request: Request, path: str) -> Response:
    """A file of the page, with the version before its path or without."""
    versioned = _VERSIONED.fullmatch(path)
    if versioned is None:
        return await PAGE.get_response(path, request.scope)
    response = await PAGE.get_response(versioned[2], request.scope)
    # Another version is that of a page which was loaded before an update, or elsewhere.
    if versioned[1] == PAGE.version():
        response.headers["Cache-Control"] = KEPT
    return response
