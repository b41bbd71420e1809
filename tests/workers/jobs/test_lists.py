"""Lists of jobs: filters, pages, cursors."""

from __future__ import annotations

import pytest

from models.errors import UsageError
from tests.workers.jobs_kit import request
from workers.assembly import Assembly


def test_pages_by_status_and_method(assembly: Assembly) -> None:
    ledger = assembly.ledger
    jobs = [request(method=("hac", "l2h")[number % 2]) for number in range(10)]
    for asked in jobs:
        ledger.submit(asked)
    ledger.submit(request("bob"))
    ledger.submit(request(kind="inspect", options={"dataset": "ds_1"}))
    for asked in jobs[:4]:
        ledger.cancel("ada", asked.id)
    newest = [asked.id for asked in sorted(jobs, key=lambda asked: asked.id, reverse=True)]

    def pages(limit: int, **filters: str) -> list[str]:
        found, cursor = ledger.page("ada", limit=limit, **filters)
        ids = [record.id for record in found]
        while cursor is not None:
            found, cursor = ledger.page("ada", limit=limit, cursor=cursor, **filters)
            assert len(found) <= limit
            ids += [record.id for record in found]
        return ids

    cancelled = {asked.id for asked in jobs[:4]}
    hac = {asked.id for asked in jobs[::2]}
    for limit in (1, 3, 10, 50):
        assert pages(limit) == newest
        assert pages(limit, status="cancelled") == [i for i in newest if i in cancelled]
        assert pages(limit, method="hac") == [i for i in newest if i in hac]
        assert pages(limit, status="queued", method="hac") == [
            i for i in newest if i in hac - cancelled
        ]
        assert pages(limit, status="running") == []


def test_cursors_survive_what_comes_and_goes(assembly: Assembly) -> None:
    ledger = assembly.ledger
    jobs = sorted((request() for _ in range(6)), key=lambda asked: asked.id)
    for asked in jobs:
        ledger.submit(asked)
    newest = [asked.id for asked in reversed(jobs)]
    first, cursor = ledger.page("ada", limit=3)
    assert [record.id for record in first] == newest[:3]
    ledger.submit(request())
    ledger.delete("ada", newest[2])
    ledger.delete("ada", newest[4])
    second, cursor = ledger.page("ada", limit=3, cursor=cursor)
    assert [record.id for record in second] == [newest[3], newest[5]]
    assert cursor is None


@pytest.mark.parametrize(
    "cursor", ["", "!", "a", "aGVsbG8=", "é", "aGVsbG8gd29ybGQ", "A" * 500 + "B"]
)
def test_cursors_that_are_none(assembly: Assembly, cursor: str) -> None:
    with pytest.raises(UsageError) as refused:
        assembly.ledger.page("ada", cursor=cursor)
    assert refused.value.code == "bad-cursor"
