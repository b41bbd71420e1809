"""Names, descriptions and tags as changed: durable, one writer at a time, listed by tag."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workers.jobs_kit import end, request, result_folder
from workers.artifacts.annotations import newest
from workers.assembly import Assembly
from workers.model import Annotation, sibling
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.redis import pages


def tagged(*tags: str) -> Callable[[Annotation], Annotation]:
    return lambda before: before.model_copy(update={"tags": tags})


def more(tag: str) -> Callable[[Annotation], Annotation]:
    return lambda before: before.model_copy(update={"tags": (*before.tags, tag)})


def change(
    assembly: Assembly, job_id: str, alter: Callable[[Annotation], Annotation], tenant: str = "ada"
) -> bool:
    def current() -> Annotation | None:
        record = assembly.ledger.get(tenant, job_id)
        if record is None:
            return None
        return Annotation(name=record.name, description=record.description, tags=record.tags)

    return assembly.annotations.change(tenant, job_id, current, alter)


def listed(assembly: Assembly, *tags: str, **filters: str) -> list[str]:
    records, following = assembly.ledger.page("ada", tags=tags, **filters)
    assert following is None
    return [record.id for record in records]


def test_the_last_change_counts_and_the_one_before_is_kept(assembly: Assembly) -> None:
    job = assembly.ledger.submit(request(name="first")).id
    for number in range(4):
        assert change(assembly, job, tagged(f"t{number}"))
    record = assembly.ledger.get("ada", job)
    assert record is not None
    assert (record.name, record.tags) == ("first", ("t3",))
    folder = layout.annotations_of("ada", job)
    assert sorted(assembly.blobs.keys(folder)) == [
        layout.annotation("ada", job, revision) for revision in (3, 4)
    ]
    assert change(assembly, job, tagged("t3"))  # No change, no object.
    assert len(list(assembly.blobs.keys(folder))) == 2


def test_lists_by_tag_name_status_and_method(assembly: Assembly) -> None:
    jobs = [assembly.ledger.submit(request(name=f"n{k % 2}")).id for k in range(6)]
    other = assembly.ledger.submit(request("bob")).id
    for number, job in enumerate(jobs):
        change(assembly, job, tagged(*(["all"] + ["third"] * (number % 3 == 0))))
    change(assembly, other, tagged("all"), "bob")
    assert listed(assembly, "all") == jobs[::-1]
    assert listed(assembly, "third") == [jobs[3], jobs[0]]
    assert listed(assembly, "all", "third") == [jobs[3], jobs[0]]
    assert listed(assembly, "all", "none") == []
    assert listed(assembly, name="n1") == [jobs[5], jobs[3], jobs[1]]
    assert listed(assembly, "third", name="n1") == [jobs[3]]
    assembly.ledger.cancel("ada", jobs[3])
    assert listed(assembly, "third", status="queued") == [jobs[0]]
    assert listed(assembly, "third", method="none") == []
    change(assembly, jobs[0], tagged())
    assert listed(assembly, "third") == [jobs[3]]
    assembly.ledger.delete("ada", jobs[3])
    assert listed(assembly, "third") == []
    assert listed(assembly, "all") == [jobs[5], jobs[4], jobs[2], jobs[1]]


def test_pages_of_a_filter_end_and_go_on(assembly: Assembly) -> None:
    jobs = [assembly.ledger.submit(request(name=f"n{k % 2}")).id for k in range(7)]
    items, cursor = [], None
    while True:
        records, cursor = assembly.ledger.page("ada", name="n0", limit=2, cursor=cursor)
        items.append([record.id for record in records])
        if cursor is None:
            break
    assert items == [[jobs[6], jobs[4]], [jobs[2], jobs[0]]]


def test_a_page_reads_a_bounded_number_of_entries(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [assembly.ledger.submit(request(name="wanted" if k == 0 else None)).id for k in range(9)]
    monkeypatch.setattr(pages, "SCANNED", 4)
    records, cursor = assembly.ledger.page("ada", name="wanted", limit=5)
    assert records == []
    n_pages = 1
    while cursor is not None:
        records, cursor = assembly.ledger.page("ada", name="wanted", limit=5, cursor=cursor)
        n_pages += 1
    assert [record.id for record in records] == [jobs[0]]
    assert n_pages == 3


def test_what_redis_loses_comes_back(assembly: Assembly, tmp_path: Path) -> None:
    job = assembly.ledger.submit(request(name="given")).id
    claim = assembly.ledger.claim(job, "w")
    assert claim is not None
    assert assembly.ledger.finish(claim, end(claim), result_folder(tmp_path / "result"))
    tree = sibling(job, "tr")
    change(assembly, job, lambda before: before.model_copy(update={"name": None, "tags": ("a",)}))

    def current() -> Annotation:
        record = assembly.trees.record("ada", tree)
        assert record is not None
        return Annotation(name=record.name, description=record.description, tags=record.tags)

    assert assembly.annotations.change(
        "ada", tree, current, lambda _: Annotation(name="oak", description="d", tags=("b", "c"))
    )
    before = (assembly.ledger.get("ada", job), assembly.trees.record("ada", tree))
    assembly.redis.flushdb()
    assembly.ledger.rebuild()
    restored = assembly.ledger.get("ada", job)
    assert restored is not None
    assert before[0] is not None
    assert restored.model_copy(update={"version": 0}) == before[0].model_copy(update={"version": 0})
    assert restored.name is None
    assert restored.submitted.name == "given"
    assert assembly.trees.record("ada", tree) == before[1]
    assert listed(assembly, "a") == [job]
    records, _ = assembly.trees.page("ada", tags=["c", "b"])
    assert [record.id for record in records] == [tree]
    assembly.trees.delete("ada", tree)
    assert assembly.trees.page("ada", tags=["b"]) == ([], None)
    assert list(assembly.blobs.keys(layout.annotations_of("ada", tree))) == []


def test_no_change_of_many_writers_is_lost(assembly: Assembly) -> None:
    job = assembly.ledger.submit(request()).id

    def add(writer: int) -> None:
        for number in range(5):
            assert change(assembly, job, more(f"{writer}.{number}"))

    threads = [threading.Thread(target=add, args=[writer]) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record = assembly.ledger.get("ada", job)
    assert record is not None
    assert sorted(record.tags) == sorted(f"{w}.{n}" for w in range(4) for n in range(5))
    kept = newest(assembly.blobs, "ada", job)
    assert kept is not None
    assert kept.model_copy(update={"changes": ()}) == Annotation(
        name=record.name, tags=record.tags, revision=20
    )


def test_a_writer_that_is_overtaken_before_it_looks_changes_once(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = assembly.ledger.submit(request()).id
    put = type(assembly.blobs).put
    overtaken = []

    def put_and_overtake(self: Blobs, key: str, *rest: object, **options: object) -> None:
        put(self, key, *rest, **options)  # type: ignore[arg-type]
        if not overtaken and key.startswith(layout.annotations_of("ada", job)):
            overtaken.append(key)
            for number in range(5):
                change(assembly, job, more(f"other {number}"))

    monkeypatch.setattr(type(assembly.blobs), "put", put_and_overtake)
    assert change(assembly, job, more("own"))
    record = assembly.ledger.get("ada", job)
    assert record is not None
    assert record.tags == ("own", *(f"other {number}" for number in range(5)))


def test_a_writer_that_is_late_by_several_changes_looks_again(assembly: Assembly) -> None:
    job = assembly.ledger.submit(request()).id
    change(assembly, job, tagged("1"))
    calls = []

    def late(before: Annotation) -> Annotation:
        if not calls:
            calls.append(before.tags)
            for number in range(2, 6):  # The object 2 is there, and removed again.
                change(assembly, job, tagged(f"{number}"))
            assert assembly.blobs.size(layout.annotation("ada", job, 2)) is None
        return before.model_copy(update={"tags": (*before.tags, "late")})

    assert change(assembly, job, late)
    record = assembly.ledger.get("ada", job)
    assert record is not None
    assert record.tags == ("5", "late")


def test_redis_that_missed_a_change_is_brought_into_line(assembly: Assembly) -> None:
    job = assembly.ledger.submit(request()).id
    change(assembly, job, tagged("a"))
    missed = Annotation(tags=("b",), revision=2)
    assembly.blobs.put(layout.annotation("ada", job, 2), missed.model_dump_json().encode())
    assert change(assembly, job, lambda before: before.model_copy(update={"name": "n"}))
    record = assembly.ledger.get("ada", job)
    assert record is not None
    assert (record.name, record.tags) == ("n", ("b",))
    assert listed(assembly, "a") == []
    assert listed(assembly, "b") == [job]


def test_what_was_deleted_meanwhile_leaves_nothing(assembly: Assembly) -> None:
    job = assembly.ledger.submit(request()).id

    def deleting(before: Annotation) -> Annotation:
        assembly.ledger.delete("ada", job)
        return before.model_copy(update={"tags": ("x",)})

    assert not change(assembly, job, deleting)
    assert list(assembly.blobs.keys(layout.job("ada", job))) == []
    assert listed(assembly, "x") == []


def test_changes_are_kept_on_both_kinds_of_store(blobs: Blobs) -> None:
    for revision in (1, 2, 10):
        annotation = Annotation(name=f"n{revision}", revision=revision)
        blobs.put(
            layout.annotation("ada", "ds_1", revision),
            annotation.model_dump_json().encode(),
            create=True,
        )
    assert newest(blobs, "ada", "ds_1") == Annotation(name="n10", revision=10)
    assert newest(blobs, "bob", "ds_1") is None
    assert newest(blobs, "ada", "ds_2") is None
