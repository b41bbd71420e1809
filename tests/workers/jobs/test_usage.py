"""What tenants and keys use, compared with the store counted anew; limits; rebuilds."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from models.errors import UsageError
from tests.workers.artifacts.datasets_kit import dataset
from tests.workers.jobs_kit import end, request, result_folder
from workers.artifacts.editions import Change, Editions, id_beside
from workers.artifacts.shares import Shares
from workers.artifacts.uploads import Parts, Upload
from workers.assembly import Assembly, assemble
from workers.errors import OverLimit
from workers.model import Annotation, Claim, new_id, now, sibling
from workers.settings import Limits, WorkerSettings, admission
from workers.stores.objects import layout

KEYS = (None, "key_a", "key_b")


def limits(**most: int) -> str:
    return admission(Limits(**most), Limits())


def stored(assembly: Assembly, tenant: str, key: str | None = None) -> dict[str, int]:
    """The use by the store alone: every object read, as slowly as it may be."""
    use = {"bytes": 0, "datasets": 0}
    blobs = assembly.blobs
    for path in blobs.keys(""):
        kind, owner, own_id, *rest = path.split("/")
        is_link = path.startswith(layout.SHARES)
        if is_link:
            owner, own_id = json.loads(blobs.get(path))["tenant"], sibling(own_id, "job")
        if owner != tenant:
            continue
        made_by = None
        if kind == "datasets":
            made_by = json.loads(blobs.get(f"datasets/{tenant}/{own_id}/meta.json")).get("key")
            use["datasets"] += rest == ["meta.json"] and key in (None, made_by)
        elif is_link or kind in ("jobs", "attempts"):
            made_by = json.loads(blobs.get(f"jobs/{tenant}/{own_id}/request.json"))["key"]
        elif kind == "uploads":
            made_by = json.loads(blobs.get(f"uploads/{tenant}/{own_id}/upload.json"))["key"]
        counts = (
            is_link
            or rest == ["content"]
            or rest[:1] in (["annotations"], ["editions"])
            or kind == "attempts"
            or (kind == "uploads" and rest[0] == "bytes")
            or (kind == "jobs" and rest[0].startswith("input."))
        )
        if counts and key in (None, made_by):
            use["bytes"] += blobs.size(path) or 0
    return use


def the_same(assembly: Assembly) -> None:
    for tenant in ("ada", "bob"):
        for key in KEYS:
            used = assembly.usage.of(tenant, key)
            assert {what: used[what] for what in ("bytes", "datasets")} == stored(
                assembly, tenant, key
            ), (tenant, key)
    for tenant in ("ada", "bob"):
        records, _ = assembly.ledger.page(tenant, limit=1000)
        used = assembly.usage.of(tenant)
        assert used["jobs"] == len(records)
        assert used["queued"] == sum(record.status == "queued" for record in records)
        running = ("running", "cancelling")
        assert used["running"] == sum(record.status in running for record in records)
        assert used["trees"] == len(assembly.trees.page(tenant, limit=1000)[0])


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


def put(assembly: Assembly, tenant: str, key: str | None, n_bytes: int) -> str:
    own = new_id("ds")
    content = b"x" * n_bytes
    asyncio.run(assembly.datasets.receive(tenant, own, _chunks(content)))
    assembly.datasets.create(dataset(own, tenant=tenant, bytes=n_bytes, key=key))
    return own


@pytest.mark.parametrize("seed", range(2))
def test_uses_are_those_of_the_store_after_anything(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    parts = Parts(assembly.blobs, assembly.usage)
    ledger = assembly.ledger
    datasets: list[tuple[str, str]] = []
    jobs: list[tuple[str, str]] = []
    claims: list[Claim] = []
    trees: list[tuple[str, str]] = []
    uploads: list[Upload] = []
    editions = Editions(assembly.blobs, assembly.beside.count)
    shares = Shares(assembly.blobs, assembly.beside.count)

    def annotate() -> None:
        if things := [*datasets, *jobs, *trees]:
            tenant, own_id = rng.choice(things)
            own_id = rng.choice([own_id, own_id.replace("tr_", "md_")])
            name = "n" * rng.randrange(90)
            assembly.annotations.change(
                tenant, own_id, Annotation, lambda old: old.model_copy(update={"name": name})
            )

    def edit() -> None:
        if trees:
            tenant, tree = rng.choice(trees)
            for own_id in editions.of_tree(tenant, tree)[:1]:
                edition = editions.get(tenant, own_id)
                assert edition is not None
                number = edition.revision + 1
                change = Change(number=number, at=now(), by=None, kind="title", name="n")
                editions.change(edition, change)
                if rng.random() < 0.3:
                    editions.delete(tenant, own_id)
            editions.create(tenant, id_beside(tree, "ed"), by=None, name="n" * rng.randrange(9))

    def link() -> None:
        if trees:
            tenant, tree = rng.choice(trees)
            for share in shares.of_tree(tenant, tree)[1:]:
                shares.revoke(share)
            ago = timedelta(days=rng.choice([-1, 90]))
            shares.add(tenant, tree, expires_at=datetime.now(UTC) - ago)
            if rng.random() < 0.3:
                shares.sweep(datetime.now(UTC))

    def submit() -> None:
        job = request(rng.choice(["ada", "bob"]), key=rng.choice(KEYS))
        ledger.submit(job, {"features": b"[" + b"1" * rng.randrange(50)})
        jobs.append((job.tenant, job.id))

    def claim() -> None:
        claim = ledger.claim_next(["cpu:fit"], "w")
        claims.extend([] if claim is None else [claim])

    def finish() -> None:
        if claims:
            claim = claims.pop(rng.randrange(len(claims)))
            status = rng.choice(["succeeded", "failed"])
            folder = result_folder(tmp_path / claim.fence) if status == "succeeded" else None
            if folder is not None:
                (folder / "model.safetensors").write_bytes(b"m" * rng.randrange(1, 100))
            if ledger.finish(claim, end(claim, status), folder) and folder is not None:
                trees.append((claim.request.tenant, sibling(claim.request.id, "tr")))

    def give_back() -> None:
        if claims:
            ledger.give_back(claims.pop(), spend=rng.random() < 0.5)

    def remove_tree() -> None:
        if trees:
            tenant, tree = trees.pop(rng.randrange(len(trees)))
            if rng.random() < 0.5:
                assembly.trees.delete_model(tenant, sibling(sibling(tree, "job"), "md"))
            else:
                assembly.trees.delete(tenant, tree)

    def begin_upload() -> None:
        fields = dict.fromkeys(("name", "role", "member", "media_type"))
        upload = Upload(
            id=new_id("up"), tenant="ada", created_at=now(), key=rng.choice(KEYS), **fields
        )
        parts.create(upload)
        uploads.append(upload)

    def part() -> None:
        if uploads:
            upload, number = rng.choice(uploads), rng.randrange(3)
            content = _chunks(b"p" * rng.randrange(1, 90))
            parts.add(upload, asyncio.run(parts.receive(upload, number, content)))

    def end_upload() -> None:
        if uploads:
            upload = uploads.pop()
            if rng.random() < 0.5:
                parts.clear(upload)
            else:
                parts.delete(upload.tenant, upload.id)

    def restart() -> None:
        if rng.random() < 0.5:
            assembly.redis.flushall()
            claims.clear()
        else:
            assembly.redis.delete(f"{settings.key_prefix}counted")
        ledger.rebuild()

    steps = [
        submit,
        submit,
        annotate,
        edit,
        link,
        claim,
        finish,
        give_back,
        remove_tree,
        begin_upload,
        part,
        part,
        end_upload,
        restart,
        lambda: datasets.append(
            (tenant := rng.choice(["ada", "bob"]), put(assembly, tenant, rng.choice(KEYS), 7))
        ),
        lambda: datasets and assembly.datasets.delete(*datasets.pop()),
        lambda: jobs and ledger.cancel(*rng.choice(jobs)),
        lambda: jobs and ledger.delete(*jobs.pop(rng.randrange(len(jobs)))),
    ]
    for _ in range(60):
        rng.choice(steps)()
        the_same(assembly)
    assembly.redis.flushall()
    ledger.rebuild()
    the_same(assembly)


def test_records_of_a_version_that_did_not_count_are_counted_at_the_next_start(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    jobs = [request() for _ in range(3)]
    for job in jobs:
        assembly.ledger.submit(job, {"features": b"[1]"})
    claims = [assembly.ledger.claim(job.id, "w") for job in jobs[:2]]
    assert claims[0] is not None
    assembly.ledger.finish(claims[0], end(claims[0]), result_folder(tmp_path / "r"))
    put(assembly, "ada", None, 9)
    before = assembly.usage.of("ada")
    prefix = settings.key_prefix
    for name in assembly.redis.keys(f"{prefix}job:*") + assembly.redis.keys(f"{prefix}dataset:*"):
        assembly.redis.hdel(name, "bytes", "key", "refs")
    for name in assembly.redis.keys(f"{prefix}tree:*"):
        assembly.redis.hdel(name, "bytes", "key", "ref")
    assembly.redis.delete(f"{prefix}counted", f"{prefix}usage:ada")
    assembly.ledger.cancel("ada", jobs[1].id)
    assembly.ledger.rebuild()
    used = assembly.usage.of("ada")
    assert {**used, "trees": before["trees"]} == before
    the_same_but_trees = assembly.usage.of("ada")["queued"], assembly.usage.of("ada")["running"]
    assert the_same_but_trees == (1, 1)


def test_jobs_beyond_a_limit_are_refused_and_leave_nothing(assembly: Assembly) -> None:
    for _ in range(2):
        assembly.ledger.submit(request(), {"features": b"[1]"}, limits(queued=2))
    held = set(assembly.blobs.keys(""))
    with pytest.raises(OverLimit) as refused:
        assembly.ledger.submit(request(), {"features": b"[1]"}, limits(queued=2))
    error = refused.value
    assert (error.whose, error.what, error.used, error.limit) == ("tenant", "queued", 2, 2)
    assert set(assembly.blobs.keys("")) == held
    assembly.ledger.submit(request("bob"), {"features": b"[1]"}, limits(queued=2))
    inspection = request(kind="inspect", method="inspect", options={"dataset": "ds_1"})
    assembly.ledger.submit(inspection, {}, limits(queued=2))
    with pytest.raises(OverLimit):
        assembly.ledger.submit(request(), {"features": b"[" * 10}, limits(bytes=15))
    assembly.ledger.submit(request(), {"features": b"[" * 9}, limits(bytes=15))
    with pytest.raises(OverLimit):
        assembly.ledger.submit(request(), {}, limits(bytes=15))


def test_a_limit_holds_for_a_key_within_its_tenant(assembly: Assembly) -> None:
    own = admission(Limits(queued=3), Limits(queued=1))
    assembly.ledger.submit(request(key="key_a"), {}, own)
    with pytest.raises(OverLimit, match="key uses 1 of 1 queued"):
        assembly.ledger.submit(request(key="key_a"), {}, own)
    assembly.ledger.submit(request(key="key_b"), {}, own)
    assembly.ledger.submit(request(), {}, admission(Limits(queued=3), Limits()))
    with pytest.raises(OverLimit, match="tenant uses 3 of 3 queued"):
        assembly.ledger.submit(request(key="key_c"), {}, own)


def reserve(
    assembly: Assembly, token: str, n_bytes: int, hold_s: float = 60.0, **most: int
) -> None:
    assembly.usage.reserve(
        "ada",
        None,
        token,
        n_bytes=n_bytes,
        datasets=1,
        hold_s=hold_s,
        limits=limits(**most),
        more=False,
    )


def test_uploads_in_progress_count_until_they_end(assembly: Assembly) -> None:
    most = {"bytes": 10, "datasets": 3}
    reserve(assembly, "a", 6, **most)
    with pytest.raises(OverLimit):
        reserve(assembly, "b", 5, **most)
    reserve(assembly, "b", 4, **most)
    reserve(assembly, "a", 6, **most)
    with pytest.raises(OverLimit):
        reserve(assembly, "a", 7, **most)
    assembly.usage.release("ada", "a")
    put(assembly, "ada", None, 6)
    with pytest.raises(OverLimit):
        reserve(assembly, "c", 1, **most)
    reserve(assembly, "b", 4, hold_s=0.0, **most)
    reserve(assembly, "c", 4, **most)
    reserve(assembly, "d", 0, **most)
    with pytest.raises(OverLimit, match="datasets"):
        reserve(assembly, "e", 0, **most)


def test_what_is_being_removed_takes_no_new_job(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    assembly.redis.hset(f"{settings.key_prefix}going", "ds_x", "ada")
    with pytest.raises(UsageError, match="being removed"):
        assembly.ledger.submit(request(inputs={"features": "ds_x"}))
    assert assembly.ledger.page("ada") == ([], None)


def running(settings: WorkerSettings, **quotas: dict[str, int]) -> Assembly:
    parts = assemble(settings.model_copy(update=quotas), lambda queue, job_id: None)
    parts.ledger.rebuild()
    return parts


def taken(parts: Assembly, *lanes: str) -> list[Claim]:
    claims = []
    while (claim := parts.ledger.claim_next(lanes or ["cpu:fit"], "w")) is not None:
        claims.append(claim)
    return claims


def test_a_tenant_runs_as_many_jobs_as_it_may(settings: WorkerSettings) -> None:
    parts = running(settings, quota_running={"": 2, "bob": 1})
    for tenant in ("ada", "bob"):
        for _ in range(4):
            parts.ledger.submit(request(tenant))
    first = taken(parts)
    tenants = [claim.request.tenant for claim in first]
    assert (tenants.count("ada"), tenants.count("bob")) == (2, 1)
    for n_left in (2, 1):
        ended = next(claim for claim in first if claim.request.tenant == "ada")
        first.remove(ended)
        parts.ledger.finish(ended, end(ended, "failed"))
        again = taken(parts)
        assert [claim.request.tenant for claim in again] == ["ada"], n_left
        first += again
    parts.ledger.delete("ada", first[-1].request.id)
    assert taken(parts) == []
    assert parts.usage.of("ada")["running"] == 1


def test_quick_work_that_is_no_job_of_clients_runs_beside_it(settings: WorkerSettings) -> None:
    parts = running(settings, quota_running={"": 1})
    parts.ledger.submit(request())
    (fit,) = taken(parts)
    prediction = request(kind="predict", options={"tree": "tr_x"})
    parts.ledger.submit(prediction)
    inspection = request(kind="inspect", method="inspect", options={"dataset": "ds_1"})
    parts.ledger.submit(inspection)
    assert [claim.request.id for claim in taken(parts, "cpu:quick")] == [inspection.id]
    parts.ledger.finish(fit, end(fit, "failed"))
    assert [claim.request.id for claim in taken(parts, "cpu:quick")] == [prediction.id]


def test_a_key_runs_as_many_jobs_as_it_may(settings: WorkerSettings) -> None:
    parts = running(settings)
    # Jobs of one millisecond have no order.
    own = sorted((request(key="key_a", key_running=1) for _ in range(3)), key=lambda job: job.id)
    other = request(key="key_b", key_running=1)
    for job in (*own, other):
        parts.ledger.submit(job)
    first = {claim.request.id: claim for claim in taken(parts)}
    assert set(first) == {own[0].id, other.id}
    parts.ledger.cancel("ada", own[1].id)
    parts.ledger.finish(first[own[0].id], end(first[own[0].id], "failed"))
    assert [claim.request.id for claim in taken(parts)] == [own[2].id]


def test_a_limit_of_none_running_holds_until_it_is_raised(settings: WorkerSettings) -> None:
    parts = running(settings, quota_running={"": 0})
    job = request()
    parts.ledger.submit(job)
    assert taken(parts) == []
    assert parts.ledger.claim(job.id, "w") is None
    parts = running(settings)
    parts.redis.zadd(f"{settings.key_prefix}due", {job.id: 1})
    parts.ledger.sweep()
    assert [claim.request.id for claim in taken(parts)] == [job.id]
