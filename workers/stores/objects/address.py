"""The object store that the settings name."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from workers.errors import FatalError
from workers.settings import WorkerSettings
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.local import LocalBlobs
from workers.stores.objects.quarantine import guarded


def blobs_at(settings: WorkerSettings) -> Blobs:
    """The object store that `store_url` names: file:///folder, or a bucket of s3://, gs:// or
    az:// with a prefix. What is in quarantine is `Damaged`."""
    return guarded(bare_blobs_at(settings))


def bare_blobs_at(settings: WorkerSettings) -> Blobs:
    """The same store without that guard: for copies and verifications."""
    address = urlsplit(settings.store_url)
    if address.scheme == "file" and address.netloc in ("", "localhost") and address.path:
        return LocalBlobs(Path(unquote(address.path)))
    endpoints = {"s3": settings.s3_endpoint, "gs": settings.gs_endpoint, "az": settings.az_endpoint}
    if address.scheme in endpoints and address.netloc:
        from workers.stores.objects.bucket import BucketBlobs

        return BucketBlobs(
            address.scheme,
            bucket=address.netloc,
            prefix=address.path.strip("/"),
            endpoint=endpoints[address.scheme],
            cache=settings.scratch_dir / "cache",
            cache_bytes=settings.cache_bytes,
            stream_bytes=settings.stream_bytes,
            link_s=settings.job_timeout_s,
        )
    raise FatalError(
        f"UMBEL_STORE_URL is {settings.store_url!r}; use file:///folder, s3://bucket/prefix, "
        "gs://bucket/prefix or az://container/prefix"
    )


def require_apart(one: str, other: str) -> None:
    """Raises FatalError where two places are the same, or one is in the other, links followed."""
    first, second = urlsplit(one), urlsplit(other)
    if first.scheme == second.scheme == "file":
        paths = [Path(unquote(place.path)).resolve() for place in (first, second)]
        inside = any(
            _same(above, paths[1 - n]) for n in (0, 1) for above in (paths[n], *paths[n].parents)
        )
    else:
        keys = [f"{place.path.strip('/')}/".lstrip("/") for place in (first, second)]
        inside = first[:2] == second[:2] and first.query == second.query
        inside = inside and (keys[0].startswith(keys[1]) or keys[1].startswith(keys[0]))
    if inside:
        raise FatalError(
            "The store and its backup are the same place, or one lies in the other; choose a "
            "place outside the store."
        )


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one == other
