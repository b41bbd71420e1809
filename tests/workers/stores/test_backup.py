"""Backup of a store at work, and restore into an empty one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.workers.jobs_kit import end, request, result_folder
from workers.artifacts.datasets import Dataset
from workers.assembly import Assembly, assemble
from workers.errors import FatalError
from workers.model import Annotation, Claim, new_id, now
from workers.settings import WorkerSettings
from workers.stores.backup import back_up, restore
from workers.stores.objects.address import require_apart
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.bucket import BucketBlobs
from workers.stores.objects.layout import BACKUP_MARK, BACKUP_OBJECTS, FORMAT_MARK, is_ping
from workers.stores.objects.local import LocalBlobs
from workers.stores.objects.witnesses import witness_of


class Acting:
    """A store in which something happens just before a folder is listed."""

    def __init__(self, blobs: Blobs, acts: dict[str, Any]) -> None:
        self._blobs, self._acts = blobs, acts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blobs, name)

    def sizes(self, prefix: str) -> Any:
        act = self._acts.pop(prefix, None)
        if act is not None:
            act()
        return self._blobs.sizes(prefix)


def contents(blobs: Blobs) -> dict[str, bytes]:
    marks = {BACKUP_MARK, BACKUP_OBJECTS, FORMAT_MARK, witness_of(FORMAT_MARK)}
    return {key: blobs.get(key) for key in blobs.keys("") if key not in marks and not is_ping(key)}


def finished(assembly: Assembly, folder: Path, **changed: Any) -> Claim:
    claim = assembly.ledger.claim(assembly.ledger.submit(request(**changed)).id, "w")
    assert claim is not None
    assert assembly.ledger.finish(claim, end(claim), result_folder(folder / claim.fence))
    return claim


def dataset(assembly: Assembly, content: bytes = b"123") -> Dataset:
    facts = Dataset(
        id=new_id("ds"),
        tenant="ada",
        name=None,
        role="features",
        status="ready",
        format="npy",
        member=None,
        shape=(1, 1),
        dtype="float64",
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        created_at=now(),
        problem=None,
    )
    assembly.blobs.put(assembly.datasets.content_key("ada", facts.id), content)
    assembly.datasets.create(facts)
    return facts


def restored(copy: Blobs, settings: WorkerSettings, assembly: Assembly, place: Path) -> Assembly:
    """A service over a restored store and an empty Redis."""
    restore(copy, LocalBlobs(place))
    assembly.redis.flushall()
    there = settings.model_copy(update={"store_url": place.as_uri()})
    parts = assemble(there, lambda *_: None)
    parts.ledger.rebuild()
    return parts


def test_everything_comes_back(
    assembly: Assembly, settings: WorkerSettings, blobs: Blobs, tmp_path: Path
) -> None:
    """Through a folder and through S3 (`blobs`), a large object included."""
    if isinstance(blobs, LocalBlobs):
        blobs = LocalBlobs(tmp_path / "backup")
    ended = finished(assembly, tmp_path)
    waiting = assembly.ledger.submit(request(), {"features": b"[]"}).id
    large = dataset(assembly, b"x" * (3 << 20))
    before = contents(assembly.blobs)
    copied = back_up(assembly.blobs, blobs)
    assert contents(blobs) == before == contents(assembly.blobs)
    assert (copied.n_objects, copied.n_bytes) == (len(before), sum(map(len, before.values())))
    assert (copied.n_written, copied.n_removed) == (len(before), 0)
    parts = restored(blobs, settings, assembly, tmp_path / "new")
    assert contents(parts.blobs) == before
    record = parts.ledger.get("ada", ended.request.id)
    assert record is not None
    assert record.status == "succeeded"
    assert len(parts.trees.page("ada")[0]) == 1
    assert parts.datasets.get("ada", large.id) == large
    claim = parts.ledger.claim_next(["cpu:fit"], "w")
    assert claim is not None
    assert claim.request.id == waiting


def test_a_second_backup_writes_what_is_new_and_removes_what_is_gone(
    assembly: Assembly, tmp_path: Path
) -> None:
    backup = LocalBlobs(tmp_path / "backup")
    old, kept = finished(assembly, tmp_path), finished(assembly, tmp_path)
    gone = dataset(assembly)
    back_up(assembly.blobs, backup)
    assert back_up(assembly.blobs, backup).n_written == 0
    assembly.ledger.delete("ada", old.request.id)
    assembly.datasets.delete("ada", gone.id)
    new = finished(assembly, tmp_path)
    copied = back_up(assembly.blobs, backup)
    assert contents(backup) == contents(assembly.blobs)
    assert copied.n_written == len([key for key in contents(backup) if new.request.id in key])
    assert any(kept.request.id in key for key in contents(backup))


@pytest.mark.parametrize("folder", ["service/", "jobs/", "attempts/"])
def test_a_job_that_ends_meanwhile_is_neither_lost_nor_half_there(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, folder: str
) -> None:
    claim = assembly.ledger.claim(assembly.ledger.submit(request()).id, "w")
    assert claim is not None

    def finish() -> None:
        assembly.ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))

    backup = LocalBlobs(tmp_path / "backup")
    back_up(Acting(assembly.blobs, {folder: finish}), backup)
    parts = restored(backup, settings, assembly, tmp_path / "new")
    record = parts.ledger.get("ada", claim.request.id)
    assert record is not None
    if folder == "attempts/":  # Its end came too late: it runs again.
        assert record.status == "queued"
        assert parts.ledger.claim_next(["cpu:fit"], "w") is not None
    else:
        assert record.status == "succeeded"
        for file in ("tree.arrow", "leaf_of_point.npy"):
            key = f"attempts/ada/{claim.request.id}/{claim.fence}/{file}"
            assert parts.blobs.get(key) == b"columns"


@pytest.mark.parametrize("folder", ["uploads/", "attempts/", "datasets/"])
def test_what_is_deleted_meanwhile_is_gone(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, folder: str
) -> None:
    job, facts = finished(assembly, tmp_path), dataset(assembly)
    other = finished(assembly, tmp_path)

    def delete() -> None:
        assembly.ledger.delete("ada", job.request.id)
        assembly.datasets.delete("ada", facts.id)

    backup = LocalBlobs(tmp_path / "backup")
    back_up(Acting(assembly.blobs, {folder: delete}), backup)
    assert contents(backup) == contents(assembly.blobs)
    parts = restored(backup, settings, assembly, tmp_path / "new")
    assert parts.ledger.get("ada", job.request.id) is None
    assert parts.datasets.get("ada", facts.id) is None
    assert parts.ledger.get("ada", other.request.id) is not None


@pytest.mark.parametrize("folder", ["attempts/", "datasets/", "uploads/", "the contents"])
def test_a_dataset_that_a_job_hands_over_meanwhile_is_kept(
    assembly: Assembly, tmp_path: Path, folder: str
) -> None:
    """The object is under `attempts` before and under `datasets` after, and in the copy always."""
    key = "attempts/ada/job_1/f/transformed.npy"
    assembly.blobs.put(key, b"123")
    assembly.ledger.submit(request())

    def adopt() -> None:
        facts = dataset(assembly, b"")
        assembly.blobs.delete_under(f"datasets/ada/{facts.id}")
        assembly.datasets.adopt(facts, key)

    acts: dict[str, Any] = {folder: adopt}
    if folder == "the contents":  # The second time that `datasets/` is listed.
        acts = {"datasets/": lambda: acts.update({"datasets/": adopt})}
    backup = LocalBlobs(tmp_path / "backup")
    back_up(Acting(assembly.blobs, acts), backup)
    held = contents(backup)
    datasets = {name.rpartition("/")[0] for name in held if name.endswith("/meta.json")}
    assert [folder for folder in datasets if f"{folder}/content" in held] or key in held


def test_an_incomplete_or_damaged_backup_is_refused(assembly: Assembly, tmp_path: Path) -> None:
    finished(assembly, tmp_path)
    backup, place = LocalBlobs(tmp_path / "backup"), LocalBlobs(tmp_path / "new")
    with pytest.raises(FatalError, match="no backup"):
        restore(assembly.blobs, place)
    back_up(assembly.blobs, backup)
    lost = next(key for key in backup.keys("attempts/"))
    content = backup.get(lost)
    backup.delete(lost)
    with pytest.raises(FatalError, match="damaged"):
        restore(backup, place)
    backup.put(lost, content[:-1])
    with pytest.raises(FatalError, match="damaged"):
        restore(backup, place)
    assert contents(place) == {}
    back_up(assembly.blobs, backup)
    restore(backup, place)
    assert contents(place) == contents(assembly.blobs)
    with pytest.raises(FatalError, match="not empty"):
        restore(backup, place)


def test_an_interrupted_restore_goes_on(assembly: Assembly, tmp_path: Path) -> None:
    finished(assembly, tmp_path)
    backup, place = LocalBlobs(tmp_path / "backup"), LocalBlobs(tmp_path / "new")
    back_up(assembly.blobs, backup)

    def stop() -> None:
        raise KeyboardInterrupt

    def check_is_over() -> None:
        acting._acts["jobs/"] = stop

    # The folders are listed once for the check, `attempts/` as the last one that has something.
    acting = Acting(backup, {"datasets/": check_is_over})
    with pytest.raises(KeyboardInterrupt):
        restore(acting, place)
    assert 0 < len(contents(place)) < len(contents(backup))
    restore(backup, place)
    assert contents(place) == contents(backup)


def test_a_backup_goes_nowhere_else(assembly: Assembly, tmp_path: Path) -> None:
    backup = LocalBlobs(tmp_path / "backup")
    with pytest.raises(FatalError, match="is empty"):
        back_up(assembly.blobs, backup)
    finished(assembly, tmp_path)
    back_up(assembly.blobs, backup)
    # An emptied store does not empty its backup.
    with pytest.raises(FatalError, match="is empty"):
        back_up(LocalBlobs(tmp_path / "emptied"), backup)
    other = LocalBlobs(tmp_path / "other")
    other.put("jobs/t/j/request.json", b"{}")
    with pytest.raises(FatalError, match="no backup"):
        back_up(assembly.blobs, other)
    assert contents(other) == {"jobs/t/j/request.json": b"{}"}


def test_a_newer_format_is_refused(assembly: Assembly, tmp_path: Path) -> None:
    finished(assembly, tmp_path)
    backup = LocalBlobs(tmp_path / "backup")
    back_up(assembly.blobs, backup)
    for blobs in (assembly.blobs, backup):
        blobs.put(FORMAT_MARK, json.dumps({"format": 2}).encode())
    with pytest.raises(FatalError, match="newer version"):
        back_up(assembly.blobs, LocalBlobs(tmp_path / "second"))
    with pytest.raises(FatalError, match="newer version"):
        restore(backup, LocalBlobs(tmp_path / "new"))
    assembly.redis.flushall()
    with pytest.raises(FatalError, match="newer version"):
        assembly.ledger.rebuild()


@pytest.mark.parametrize("folder", ["jobs/", "datasets/"])
def test_a_name_that_changes_meanwhile_is_in_the_copy(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, folder: str
) -> None:
    job, kept = assembly.ledger.submit(request()).id, dataset(assembly)

    def rename(name: str) -> None:
        for own_id in (job, kept.id):
            assembly.annotations.change(
                "ada", own_id, Annotation, lambda _: Annotation(name=name, tags=("t",))
            )

    rename("first")
    backup = LocalBlobs(tmp_path / "backup")
    back_up(Acting(assembly.blobs, {folder: lambda: rename("second")}), backup)
    parts = restored(backup, settings, assembly, tmp_path / "new")
    record, facts = parts.ledger.get("ada", job), parts.datasets.get("ada", kept.id)
    assert record is not None
    assert facts is not None
    assert (record.name, facts.name) == ("second", "second")
    assert [each.id for each in parts.datasets.page("ada", tags=["t"])[0]] == [kept.id]
    assert [each.id for each in parts.ledger.page("ada", tags=["t"])[0]] == [job]


def flip(blobs: Blobs, key: str) -> None:
    content = bytearray(blobs.get(key))
    content[len(content) // 2] ^= 1
    blobs.put(key, bytes(content))


def swap(blobs: Blobs, first: str, second: str) -> None:
    contents = blobs.get(first), blobs.get(second)
    blobs.put(second, contents[0])
    blobs.put(first, contents[1])


def rename(blobs: Blobs, old: str, new: str) -> None:
    blobs.put(new, blobs.get(old))
    blobs.delete(old)


def test_whatever_is_wrong_with_a_backup_is_named_and_not_restored(
    assembly: Assembly, blobs: Blobs, tmp_path: Path
) -> None:
    backup = LocalBlobs(tmp_path / "backup") if isinstance(blobs, LocalBlobs) else blobs
    finished(assembly, tmp_path)
    one, two = dataset(assembly, b"123"), dataset(assembly, b"456")
    # Copies: files that are linked would change in the store too.
    whole = {key: assembly.blobs.get(key) for key in assembly.blobs.keys("")}
    store = LocalBlobs(tmp_path / "source")
    for key, content in whole.items():
        store.put(key, content)
    back_up(store, backup)
    content, other = (f"datasets/ada/{facts.id}/content" for facts in (one, two))
    meta = f"datasets/ada/{one.id}/meta.json"
    result = next(key for key in backup.keys("attempts/"))
    request_key = next(key for key in backup.keys("jobs/") if key.endswith("request.json"))
    kept = {key: backup.get(key) for key in backup.keys("")}
    for number, (damage, named) in enumerate(
        [
            *((lambda key=key: flip(backup, key), key) for key in (content, meta, result)),
            (lambda: flip(backup, request_key), request_key),
            (lambda: backup.put(result, backup.get(result)[:-1]), result),
            (lambda: swap(backup, content, other), content),
            (lambda: rename(backup, content, f"{content}s"), content),
            (lambda: backup.put("datasets/ada/ds_x/content", b"1"), "ds_x/content"),
            (lambda: backup.put("elsewhere/x", b"1"), "elsewhere/x"),
            (lambda: flip(backup, BACKUP_OBJECTS), BACKUP_OBJECTS),
            (lambda: backup.delete(BACKUP_OBJECTS), BACKUP_OBJECTS),
            (lambda: backup.put(BACKUP_OBJECTS, b""), BACKUP_OBJECTS),
            (lambda: backup.put(BACKUP_MARK, backup.get(BACKUP_MARK)[:-1]), "no backup"),
        ]
    ):
        damage()
        place = LocalBlobs(tmp_path / f"new{number}")
        with pytest.raises(FatalError, match=named):
            restore(backup, place)
        assert contents(place) == {}
        left = {key: backup.get(key) for key in backup.keys("")}
        for key in left.keys() - kept.keys():
            backup.delete(key)
        for key, held in kept.items():
            if left.get(key) != held:
                backup.put(key, held)
    # Made again, a backup is whole again.
    flip(backup, content)
    assert back_up(store, backup).n_written == 1
    restore(backup, LocalBlobs(tmp_path / "restored"))
    assert contents(LocalBlobs(tmp_path / "restored")) == contents(store)
    # What is damaged in the store does not replace the copy of what was not.
    flip(store, content)
    with pytest.raises(FatalError, match=content):
        back_up(store, backup)
    assert backup.get(content) == b"123"


def test_no_link_in_a_backup_is_followed(assembly: Assembly, tmp_path: Path) -> None:
    facts = dataset(assembly, b"123")
    secret, folder = tmp_path / "secret", tmp_path / "elsewhere"
    secret.write_bytes(b"123")
    folder.mkdir()
    (folder / "content").write_bytes(b"123")
    backup = LocalBlobs(tmp_path / "backup")
    back_up(assembly.blobs, backup)
    own = backup.root / f"datasets/ada/{facts.id}/content"
    for number, (place, target) in enumerate(
        [
            *((own, secret), (own.parent, folder), (backup.root / "jobs/ada", folder)),
            *((backup.root / f"service/{name}", secret) for name in ("backup", "backup-objects")),
        ]
    ):
        kept = tmp_path / f"kept{number}"
        if place.exists():
            place.rename(kept)
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(target)
        with pytest.raises(FatalError, match=place.relative_to(backup.root).as_posix()):
            restore(backup, LocalBlobs(tmp_path / f"new{number}"))
        assert not list(LocalBlobs(tmp_path / f"new{number}").keys("datasets/"))
        place.unlink()
        if kept.exists():
            kept.rename(place)
    restore(backup, LocalBlobs(tmp_path / "new"))


def test_a_store_and_its_backup_are_apart(
    assembly: Assembly, s3: BucketBlobs, tmp_path: Path
) -> None:
    finished(assembly, tmp_path)
    store = LocalBlobs(tmp_path / "store")
    (tmp_path / "link").symlink_to(store.root)
    (tmp_path / "above").symlink_to(store.root.parent)
    before = contents(store)
    for place in ("link", "link/inner", "above", "store", "store/inner", "."):
        for copy in (back_up, restore):
            with pytest.raises(FatalError, match="choose a place outside"):
                copy(store, LocalBlobs(tmp_path / place))
    with pytest.raises(FatalError, match="choose a place outside"):
        back_up(s3, s3)
    require_apart("s3://a/b", "s3://a/bc")
    assert contents(store) == before
