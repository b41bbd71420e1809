"""Everything that is changed, cut, swapped, renamed, lost, added or linked in a store is found, and
nothing else; what is damaged is kept from readers, and the rest is served."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.workers.verification_kit import dataset, every_kind
from tests.workers.waiting_kit import PATIENCE_S
from workers.assembly import Assembly, assemble
from workers.errors import Damaged, FatalError
from workers.jobs.webhook_keys import WebhookKeys
from workers.settings import WorkerSettings
from workers.stores.backup import back_up, check_backup, restore
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.format import open_store
from workers.stores.objects.local import LocalBlobs
from workers.stores.objects.quarantine import guarded, marks
from workers.verification import course
from workers.verification.course import Verdict

LOST_UNSEEN = {
    "service/made/webhook-secret",
    "service/made/format",
    "service/key-uses",
    "service/shares",
    "service/aliases/best",
    "service/pauses/tenant/bob",
    "service/keys/revoked",
    "jobs/annotations/tr",
    "jobs/annotations/job",
    "datasets/annotations/ds",
    "jobs/webhook/json",
    "datasets/inspected/json",
    "datasets/statements/json",
    "uploads/dataset/json",
    "uploads/parts",
    "jobs/editions/to",
}
"""Kinds whose loss leaves nothing that refers to them."""


def verify(blobs: Blobs, **options: object) -> Verdict:
    return course.verify(blobs, settle_s=0, **options)  # type: ignore[arg-type]


def bare(assembly: Assembly) -> LocalBlobs:
    return LocalBlobs(Path(assembly.blobs.place.removeprefix("file://")))


@pytest.fixture
def filled(
    assembly: Assembly, settings: WorkerSettings, blobs: Blobs, tmp_path: Path
) -> tuple[dict[str, str], Blobs]:
    """Every kind of object by its key, in a folder and in S3."""
    kinds = every_kind(assembly, settings, tmp_path)
    source = bare(assembly)
    if isinstance(blobs, LocalBlobs):
        return kinds, source
    for key in source.keys(""):
        blobs.put(key, source.get(key))
    return kinds, blobs


def found(blobs: Blobs) -> set[str]:
    """What is wrong, without a mark."""
    return {each.key for each in verify(blobs, quarantine=False).findings}


def test_every_damage_is_found_and_nothing_else(
    filled: tuple[dict[str, str], Blobs], request: pytest.FixtureRequest
) -> None:
    """One object at a time: flipped at several places, cut, lost, emptied, swapped with another
    one, and moved."""
    kinds, blobs = filled
    assert len(kinds) >= 28
    assert found(blobs) == set()
    contents = {kind: blobs.get(key) for kind, key in kinds.items()}
    by_length = sorted(kinds, key=lambda kind: len(contents[kind]))
    everywhere = isinstance(blobs, LocalBlobs)
    # In a bucket some of the damages to each kind, others in the next one: what is compared is the
    # same.
    turn = ["local", "s3", "gs", "az"].index(request.node.callspec.params["blobs"])
    for number, (kind, key) in enumerate(kinds.items(), turn):
        content = contents[kind]
        other = contents[by_length[(by_length.index(kind) + 1) % len(by_length)]]
        changed = [other, content[:-1], flipped(content, len(content) // 2) if content else other]
        if everywhere:
            changed += [content + b"x", content[: len(content) // 2], content[1:]]
            for place in range(0, len(content), 1 if len(content) < 20 else 41):
                changed.append(flipped(content, place))
            # All of the seal.
            for place in range(max(0, len(content) - 80), len(content), 3):
                changed.append(flipped(content, place))
        else:
            changed = [changed[number % 3]]
        for each in {*changed} - {content}:
            blobs.put(key, each)
            assert key in near(blobs, key), (kind, each)
        if everywhere or number % 2:
            blobs.delete(key)
            assert bool(near(blobs, key)) == (kind not in LOST_UNSEEN), kind
        if everywhere or not number % 2:
            moved = f"{key}x" if "/to." not in key else f"{key}1"
            blobs.delete(key)
            blobs.put(moved, content)
            assert near(blobs, moved), kind
            blobs.delete(moved)
        blobs.put(key, content)
    assert found(blobs) == set()


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def near(blobs: Blobs, key: str) -> set[str]:
    """What is wrong in the folder of an object."""
    reports = course._settled(blobs, course.Pace(0), {course.folder_of(key)})
    wrong = {each.key for each in reports}
    assert all(course.folder_of(each) == course.folder_of(key) for each in wrong)
    return wrong


FOREIGN = (
    "stray",
    "odd/folder/file",
    "service/odd",
    "datasets/ada/file",
    "jobs/ada/odd",
    "jobs/ada/{job}/odd.json",
    "datasets/ada/{dataset}/odd.json",
    "attempts/ada/{job}/{fence}/odd.npy",
)


def test_what_does_not_belong_there_is_found(filled: tuple[dict[str, str], Blobs]) -> None:
    kinds, blobs = filled
    tree = kinds["attempts/tree/arrow"].split("/")
    names = {"job": tree[2], "fence": tree[3], "dataset": kinds["datasets/content"].split("/")[2]}
    keys = {key.format(**names) for key in FOREIGN}
    for key in keys:
        blobs.put(key, b"{}")
    assert found(blobs) == keys
    assert {each.what for each in verify(blobs).findings} == {"foreign"}
    assert marks(blobs) == {}


def test_links_are_found_and_not_followed(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    kinds = every_kind(assembly, settings, tmp_path)
    blobs = bare(assembly)
    for kind in ("datasets/content", "attempts/tree/arrow", "service/format", "jobs/end/json"):
        path = blobs.root / kinds[kind]
        path.rename(tmp_path / "away")
        path.symlink_to(tmp_path / "away")
        assert kinds[kind] in found(blobs), kind
        path.unlink()
        (tmp_path / "away").rename(path)
    (blobs.root / "link").symlink_to(tmp_path)
    assert found(blobs) == {"link"}


def test_what_users_remove_is_not_missed(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    kinds = every_kind(assembly, settings, tmp_path)
    job_id = kinds["attempts/tree/arrow"].split("/")[2]
    suffix = job_id.removeprefix("job_")
    assert assembly.trees.delete_model("ada", f"md_{suffix}")
    assert found(bare(assembly)) == set()
    assert assembly.trees.delete("ada", f"tr_{suffix}")
    assert found(bare(assembly)) == set()
    assembly.ledger.delete("ada", job_id)
    assembly.datasets.delete("ada", kinds["datasets/content"].split("/")[2])
    assert found(bare(assembly)) == set()


def test_quarantine_keeps_readers_away_and_serves_the_rest(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    kinds = every_kind(assembly, settings, tmp_path)
    whole = dataset(assembly, b"whole")
    blobs = bare(assembly)
    backup = LocalBlobs(tmp_path / "backup")
    back_up(blobs, backup)
    contents = {key: blobs.get(key) for key in blobs.keys("")}
    model = kinds["attempts/model/safetensors"]
    damaged = [kinds["datasets/content"], kinds["jobs/request/json"], model]
    lost = [kinds["waiting/jobs/input/features"]]
    for key in damaged:
        blobs.put(key, contents[key][:-1])
    for key in lost:
        blobs.delete(key)
    with pytest.raises(FatalError, match="umbel verify"):
        back_up(blobs, backup)
    verdict = verify(blobs)
    assert {each.key for each in verdict.findings} == {*damaged, *lost} == marks(blobs).keys()
    owners = {each.key: each.owner for each in verdict.findings}
    assert owners[damaged[0]].startswith("dataset ds_")

    fresh = assemble(settings, lambda *_: None)
    for key in (*damaged, *lost):
        for read in (fresh.blobs.get, fresh.blobs.local_path, fresh.blobs.read):
            with pytest.raises(Damaged, match=key):
                read(key)
    with pytest.raises(Damaged):
        fresh.blobs.size(lost[0])
    fresh.redis.flushall()
    fresh.ledger.rebuild()
    assert fresh.datasets.get("ada", whole.id) == whole
    assert fresh.datasets.content(whole).read_bytes() == b"whole"

    copied = back_up(blobs, backup)
    assert set(copied.damaged) == {*damaged, *lost}
    assert check_backup(backup)[2] == []
    assert {key: backup.get(key) for key in (*damaged, *lost)} == {
        key: contents[key] for key in (*damaged, *lost)
    }
    first = LocalBlobs(tmp_path / "first")
    back_up(blobs, first)
    there = LocalBlobs(tmp_path / "there")
    restore(first, there)
    assert marks(there).keys() == {*damaged, *lost}

    verdict = verify(blobs, backup=backup)
    assert verdict.findings == ()
    assert set(verdict.restored) == {*damaged, *lost} == set(verdict.freed)
    assert {key: blobs.get(key) for key in blobs.keys("")} == contents
    assert verify(blobs).findings == ()
    # What is wrong with a result shows once its end is there again.
    chain = [kinds["jobs/end/json"], model]
    for key in chain:
        blobs.put(key, b"{}")
    assert [each.key for each in verify(blobs).findings] == chain[:1]
    verdict = verify(blobs, backup=backup)
    assert (verdict.findings, list(verdict.restored)) == ((), chain)


def test_one_changed_byte_anywhere_is_named_by_all_who_read(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    """Each object of a full store in turn: a backup, a restore, a verification and every reader
    name it; then it is in quarantine, and everything else is served."""
    kinds = every_kind(assembly, settings, tmp_path)
    blobs, backup = bare(assembly), LocalBlobs(tmp_path / "backup")
    back_up(blobs, backup)
    contents = {key: blobs.get(key) for key in blobs.keys("")}
    waiting = kinds["waiting/jobs/request/json"].split("/")[2]
    for kind, key in kinds.items():
        whole = contents[key]
        damaged = flipped(whole, len(whole) // 2) if whole else b"x"
        blobs.put(key, damaged)
        if backup.size(key) is not None:
            backup.put(key, damaged)
            with pytest.raises(FatalError) as refused:
                restore(backup, LocalBlobs(tmp_path / "nothing"))
            assert key in str(refused.value), kind
            backup.put(key, whole)
        assert [each.key for each in verify(blobs).findings] == [key] == [*marks(blobs)], kind
        fresh = assemble(settings, lambda *_: None)
        for other in contents:
            if other == key:
                with pytest.raises(Damaged, match=re.escape(key)):
                    fresh.blobs.get(other)
            else:
                assert fresh.blobs.get(other) == contents[other], kind
        if kind in ("waiting/jobs/request/json", "waiting/jobs/input/features"):
            claim = fresh.ledger.claim(waiting, "w")
            if claim is not None:
                with pytest.raises(Damaged, match=re.escape(key)):
                    fresh.blobs.local_path(layout.inline("ada", waiting, "features"))
                fresh.ledger.give_back(claim, spend=False)
        blobs.put(key, whole)
        assert verify(blobs).findings == ()
        assert marks(blobs) == {}


def test_a_secret_or_a_mark_that_is_gone_is_missed(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    every_kind(assembly, settings, tmp_path)
    blobs, backup = bare(assembly), LocalBlobs(tmp_path / "backup")
    back_up(blobs, backup)
    keys = WebhookKeys(assembly.blobs, settings).of("ada")
    for key in (layout.WEBHOOK_ROOT, layout.FORMAT_MARK):
        blobs.delete(key)
    with pytest.raises(Damaged, match="webhook-secret"):
        WebhookKeys(assembly.blobs, settings).of("ada")
    lost = {each.key: each.what for each in verify(blobs).findings}
    assert lost == {layout.WEBHOOK_ROOT: "lost", layout.FORMAT_MARK: "lost"}
    assert [*marks(blobs)] == [layout.WEBHOOK_ROOT]
    open_store(blobs)
    assert [each.key for each in verify(blobs).findings] == [layout.WEBHOOK_ROOT]
    assert verify(blobs, backup=backup).restored == (layout.WEBHOOK_ROOT,)
    fresh = assemble(settings, lambda *_: None)
    assert WebhookKeys(fresh.blobs, settings).of("ada") == keys


def test_what_is_removed_goes_with_its_marks(assembly: Assembly) -> None:
    kept = dataset(assembly)
    key = assembly.datasets.content_key("ada", kept.id)
    bare(assembly).put(key, b"321")
    assert verify(bare(assembly)).findings
    served = guarded(bare(assembly))
    with pytest.raises(Damaged):
        served.get(key)
    served.delete_under(layout.dataset("ada", kept.id))
    assert marks(served) == {}


def test_a_secret_that_changed_signs_nothing(assembly: Assembly, settings: WorkerSettings) -> None:
    keys = WebhookKeys(assembly.blobs, settings)
    keys.of("ada")
    stored = assembly.blobs.get(layout.WEBHOOK_ROOT)
    assembly.blobs.put(layout.WEBHOOK_ROOT, stored[:5] + b"0" + stored[6:][::-1])
    with pytest.raises(Damaged, match="secret"):
        WebhookKeys(assembly.blobs, settings).of("ada")


def test_a_killed_verification_goes_on(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    """Killed where it reads slowly; the next one reads what was left, and finds what the first had
    found as well."""
    datasets = sorted(dataset(assembly, bytes([n]) * 20_000).id for n in range(8))
    blobs = bare(assembly)
    first = assembly.datasets.content_key("ada", datasets[0])
    last = assembly.datasets.content_key("ada", datasets[-1])
    for key in (first, last):
        blobs.put(key, b"x")
    script = (
        "import sys; from pathlib import Path\n"
        "from workers.stores.objects.local import LocalBlobs\n"
        "from workers.verification.course import verify\n"
        "verify(LocalBlobs(Path(sys.argv[1])), rate=40_000, save_s=0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(blobs.root)])
    try:
        until = time.monotonic() + PATIENCE_S
        while (saved := course._saved(blobs)) is None or saved.n_done < 3:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert marks(blobs) == {}
    verdict = verify(blobs)
    assert verdict.resumed.split("/")[2] in datasets[1:-1]
    assert {each.key for each in verdict.findings} == {first, last} == marks(blobs).keys()
    # The counts are of both together.
    assert verdict.n_objects == sum(1 for _ in blobs.keys("datasets/"))
    assert verify(blobs).resumed == ""


def test_the_rate_bounds_what_is_read() -> None:
    waits: list[float] = []
    pace = course.Pace(1000, waits.append)
    for _ in range(10):
        pace.passed(500)
    assert sum(waits[-1:]) == pytest.approx(5, abs=0.5)


def test_what_an_end_and_a_removal_leave_for_a_moment_is_not_damage(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    """What is gone, or whole, when it is looked at again is not reported."""
    kinds = every_kind(assembly, settings, tmp_path)
    kept = dataset(assembly)
    blobs = bare(assembly)
    blobs.delete(layout.dataset("ada", kept.id, "meta.json"))

    def remove(progress: course.Progress) -> None:
        if progress.last.startswith("service/"):
            assembly.blobs.delete_under(layout.dataset("ada", kept.id))

    assert verify(blobs, shown=remove).findings == ()
    assert kinds
