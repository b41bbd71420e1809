"""A process dies between a dataset and the job that opens it: it is opened nevertheless."""

from __future__ import annotations

import pytest

from tests.workers.jobs_kit import Sent
from workers.artifacts.datasets import Dataset
from workers.assembly import Assembly
from workers.errors import StoreUnavailable
from workers.jobs import inspections
from workers.model import new_id, now
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.stores.objects.job_files import REQUEST, put_once
from workers.verification.course import verify


class Died(BaseException):
    """Stands in for SIGKILL: nothing after it runs."""


def dataset(assembly: Assembly) -> Dataset:
    """Facts of a CSV whose content is stored."""
    own_id = new_id("ds")
    assembly.blobs.put(assembly.datasets.content_key("ada", own_id), b"a,b\n1,2\n")
    return Dataset(
        id=own_id,
        tenant="ada",
        name=None,
        role=None,
        status="inspecting",
        format="csv",
        member=None,
        shape=None,
        dtype=None,
        bytes=8,
        sha256="",
        created_at=now(),
        problem=None,
    )


def die(*_: object, **__: object) -> None:
    raise Died


def unanswered(*_: object, **__: object) -> None:
    raise StoreUnavailable("no answer")


def sweep(assembly: Assembly, settings: WorkerSettings) -> int:
    """A sweep by the process whose turn it is to look."""
    for task in ("inspections", "interrupted"):
        assembly.redis.delete(f"{settings.key_prefix}only:{task}")
    return assembly.ledger.sweep()


def markers(assembly: Assembly) -> list[str]:
    return list(assembly.blobs.keys(layout.UNINSPECTED))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is in progress: each marker was left by a process that died."""
    monkeypatch.setattr(inspections, "SUBMISSION_S", -1.0)
    monkeypatch.setattr(inspections, "_WATCHED_S", -1.0)


def begin(assembly: Assembly, at: str) -> Dataset:
    """A dataset whose process died in the step `at`."""
    facts = dataset(assembly)
    step = {
        "before the dataset": (assembly.datasets, "create"),
        "before the list": (assembly.datasets, "_list"),
        "before the request": (assembly.blobs, "put_all"),
        "before the record": (assembly.ledger._records, "create"),
    }[at]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*step, die)
        # Neither does what follows an error run when a process is killed.
        patch.setattr(assembly.datasets, "delete", lambda *_: True)
        patch.setattr(assembly.datasets, "_remove", lambda *_: None)
        patch.setattr(assembly.ledger._intake, "_discard", lambda _: None)
        with pytest.raises(Died):
            assembly.ledger.inspections.create(facts, "req")
    assert len(markers(assembly)) == 1
    return facts


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("at", ["before the list", "before the request", "before the record"])
@pytest.mark.parametrize("marked", [True, False])
def test_a_dataset_left_by_a_killed_process_is_inspected(
    assembly: Assembly, settings: WorkerSettings, sent: Sent, at: str, marked: bool
) -> None:
    """marked : whether the process had put the open marker beside the request."""
    facts = begin(assembly, at)
    for key in assembly.blobs.keys("open/"):
        if not marked:
            assembly.blobs.delete(key)
    assert sweep(assembly, settings) == 1
    assert markers(assembly) == []
    ((_, job_id),) = sent
    claim = assembly.ledger.claim(job_id, "w")
    assert claim is not None
    assert claim.request.kind == "inspect"
    assert claim.request.options == {"dataset": facts.id}
    assert sweep(assembly, settings) == 0


@pytest.mark.usefixtures("at_once")
def test_a_dataset_that_never_came_to_be_leaves_nothing(
    assembly: Assembly, settings: WorkerSettings, sent: Sent
) -> None:
    begin(assembly, "before the dataset")
    assert sweep(assembly, settings) == 0
    assert (markers(assembly), sent) == ([], [])


def test_an_upload_in_progress_is_left_alone(
    assembly: Assembly, settings: WorkerSettings, sent: Sent
) -> None:
    begin(assembly, "before the request")
    assert sweep(assembly, settings) == 0
    assert len(markers(assembly)) == 1
    assert sent == []


@pytest.mark.parametrize("status", ["ready", "inspecting"])
def test_facts_that_arrive_after_their_content_has_gone_go_too(
    assembly: Assembly,
    settings: WorkerSettings,
    sent: Sent,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
) -> None:
    """The store took the write of a plain upload, answered nobody, and did it after the content
    was removed; perhaps after the first sweep."""
    datasets = assembly.datasets
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workers.artifacts.datasets.put_once", unanswered)
        facts = dataset(assembly).model_copy(update={"status": status})
        create = assembly.ledger.inspections.create if status == "inspecting" else None
        with pytest.raises(StoreUnavailable):
            datasets.create(facts) if create is None else create(facts, "req")
    meta = layout.dataset("ada", facts.id, "meta.json")
    monkeypatch.setattr(inspections, "SUBMISSION_S", -1.0)
    for _ in range(2):
        put_once(assembly.blobs, meta, facts)
        sweep(assembly, settings)
        assert datasets.get("ada", facts.id) is None
        assert list(assembly.blobs.keys("datasets/")) == []
    assert sent == []
    # Once nothing can arrive any more, nothing of it is left.
    monkeypatch.setattr(inspections, "_WATCHED_S", -1.0)
    sweep(assembly, settings)
    assert markers(assembly) == []


@pytest.mark.usefixtures("at_once")
def test_a_completion_that_died_brings_no_deleted_dataset_back(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    """Its write reaches the store after another request has completed the upload, and a user has
    deleted the dataset."""
    facts = dataset(assembly).model_copy(update={"status": "ready"})
    complete = assembly.ledger.inspections.complete
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly.datasets, "create", die)
        with pytest.raises(Died):
            complete(facts, "req")
    assert complete(facts, "req")
    assert len(markers(assembly)) == 1
    # `umbel verify` knows the marker.
    assert [
        each.key for each in verify(assembly.blobs, settle_s=0.0).findings if each.what == "foreign"
    ] == []
    assert assembly.datasets.delete("ada", facts.id)
    assembly.datasets.create(facts)
    sweep(assembly, settings)
    assert assembly.datasets.get("ada", facts.id) is None
    assert list(assembly.blobs.keys("datasets/")) == []
    assert markers(assembly) == []
    # A repeated request hears that it is gone.
    assert not complete(facts, "req")


@pytest.mark.usefixtures("at_once")
def test_a_marker_that_reappears_changes_nothing(
    assembly: Assembly, settings: WorkerSettings, sent: Sent
) -> None:
    """Its removal is not synced: a power cut may bring it back."""
    facts = dataset(assembly)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly.blobs, "delete", lambda _: None)
        assembly.ledger.inspections.create(facts, "req")
    assert len(markers(assembly)) == 1
    assert sweep(assembly, settings) == 0
    assert markers(assembly) == []
    assert len(sent) == 1


def test_a_refused_inspection_leaves_no_dataset(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("away")

    facts = dataset(assembly)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly.ledger._records, "create", away)
        with pytest.raises(StoreUnavailable):
            assembly.ledger.inspections.create(facts, "req")
    assert assembly.datasets.get("ada", facts.id) is None
    jobs = [key for key in assembly.blobs.keys("jobs/") if key.endswith(REQUEST)]
    # The marker goes with the next sweep: there is no dataset that it could stand for.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspections, "SUBMISSION_S", -1.0)
        assert sweep(assembly, settings) == 0
    assert markers(assembly) == []
    assert [key for key in assembly.blobs.keys("jobs/") if key.endswith(REQUEST)] == jobs
