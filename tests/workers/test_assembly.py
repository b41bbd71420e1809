"""The assembled parts, over each kind of store."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.workers.conftest import BUCKET
from tests.workers.jobs_kit import Sent, end, everything, result_folder
from tests.workers.jobs_kit import request as job_request
from workers.assembly import assemble
from workers.errors import FatalError
from workers.model import sibling
from workers.settings import WorkerSettings
from workers.stores.objects.address import blobs_at
from workers.stores.objects.clouds import CLOUDS


@pytest.mark.parametrize("url", ["", "/a/folder", "file://other/folder", "http://a/b", "s3://"])
def test_invalid_store_addresses(settings: WorkerSettings, url: str) -> None:
    with pytest.raises(FatalError):
        blobs_at(settings.model_copy(update={"store_url": url}))


def test_no_redis(settings: WorkerSettings) -> None:
    with pytest.raises(FatalError):
        assemble(settings.model_copy(update={"redis_url": ""}), lambda queue, job_id: None)


def test_a_folder_with_unusual_characters(settings: WorkerSettings, tmp_path: Path) -> None:
    folder = tmp_path / "a b%20ü"
    blobs = blobs_at(settings.model_copy(update={"store_url": folder.as_uri()}))
    assert blobs.place == folder.as_uri()
    assert folder.is_dir()


@pytest.mark.parametrize("scheme", CLOUDS)
def test_a_job_over_a_bucket(
    settings: WorkerSettings,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    sent: Sent,
    scheme: str,
) -> None:
    endpoint = f"{scheme}_endpoint"
    over_it = settings.model_copy(
        update={
            "store_url": f"{scheme}://{BUCKET}/{secrets.token_hex(8)}",
            endpoint: request.getfixturevalue(endpoint),
        }
    )
    parts = assemble(over_it, lambda queue, job_id: sent.append((queue, job_id)))
    ledger = parts.ledger
    done, lost = job_request(), job_request()
    for job in (done, lost):
        ledger.submit(job, {"features": b"[[1.0]]"})
    claim, late = ledger.claim(done.id, "w"), ledger.claim(lost.id, "w")
    assert claim is not None
    assert late is not None
    assert ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    assert ledger.finish(claim, end(claim), tmp_path / "result")
    parts.redis.flushall()
    assert ledger.rebuild() == 2
    record = ledger.get("ada", done.id)
    assert record is not None
    assert record.status == "succeeded"
    path = parts.trees.file("ada", sibling(done.id, "tr"), "tree.arrow")
    assert path is not None
    assert path.read_text() == "columns"
    again = ledger.claim(lost.id, "w")
    assert again is not None
    assert not ledger.finish(late, end(late), result_folder(tmp_path / "late"))
    for job in (done, lost):
        assert ledger.delete("ada", job.id)
    assert everything(parts) == set()
