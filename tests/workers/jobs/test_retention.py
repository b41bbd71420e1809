"""What has expired goes, and nothing that a kept thing needs: a test for each kind of need."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from models.errors import UsageError
from tests.workers import jobs_kit
from tests.workers.artifacts.datasets_kit import dataset
from tests.workers.jobs_kit import end, request, result_folder
from workers.artifacts.aliases import Aliases
from workers.artifacts.audit import Filter, found
from workers.assembly import Assembly, assemble
from workers.jobs.retention import Verdict
from workers.model import Request, earliest_suffix, made_at, new_id, sibling
from workers.settings import WorkerSettings
from workers.stores.objects.layout import AUDIT
from workers.stores.redis.crossings import Crossings
from workers.stores.redis.removal import Removal

PAST = "2020-01-01T00:00:00.000000Z"
FUTURE = "2099-01-01T00:00:00.000000Z"


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


def put(parts: Assembly, expires_at: str | None = PAST, **changed: Any) -> str:
    own = new_id("ds")
    record = dataset(own, bytes=4, expires_at=expires_at, **changed)
    asyncio.run(parts.datasets.receive(record.tenant, own, _chunks(b"1234")))
    parts.datasets.create(record)
    return own


def submit(parts: Assembly, **changed: Any) -> Request:
    job = request(**changed)
    parts.ledger.submit(job, {"features": b"[1]"} if "inputs" not in changed else {})
    return job


def run(parts: Assembly, job: Request, folder: Path, status: str = "succeeded") -> None:
    claim = parts.ledger.claim(job.id, "w")
    assert claim is not None
    files = result_folder(folder / job.id) if status == "succeeded" else None
    assert parts.ledger.finish(claim, end(claim, status), files)


def everything(parts: Assembly) -> set[str]:
    """All that is stored but the audit log, which says what was removed."""
    return {key for key in jobs_kit.everything(parts) if not key.startswith(AUDIT)}


def outcome(verdicts: list[Verdict]) -> dict[str, str]:
    return {verdict.id: verdict.kept_by for verdict in verdicts}


def removed(parts: Assembly) -> dict[str, str]:
    """What a run removes and keeps, after checking that the plan says the same."""
    planned = outcome(parts.ledger.retention.plan())
    done = outcome(parts.ledger.retention.run())
    assert done == planned
    return done


def test_what_has_expired_goes_and_nothing_else(assembly: Assembly, tmp_path: Path) -> None:
    kept = [put(assembly, None), put(assembly, FUTURE), put(assembly, None, tenant="bob")]
    jobs = [submit(assembly, expires_at=expires) for expires in (PAST, None, FUTURE)]
    for job in jobs:
        run(assembly, job, tmp_path)
    held = everything(assembly)
    gone = put(assembly)
    assert removed(assembly) == {gone: "", jobs[0].id: ""}
    assert everything(assembly) == {path for path in held if jobs[0].id not in path}
    assert assembly.datasets.get("ada", gone) is None
    assert assembly.ledger.get("ada", jobs[0].id) is None
    assert assembly.trees.record("ada", sibling(jobs[0].id, "tr")) is None
    assert all(assembly.datasets.get("ada", own) for own in kept[:2])
    assert assembly.usage.of("ada")["datasets"] == 2
    assert removed(assembly) == {}


def test_removals_are_in_the_audit_log(assembly: Assembly, tmp_path: Path) -> None:
    kept = put(assembly, None)
    gone = [put(assembly), put(assembly, tenant="bob")]
    job = submit(assembly, expires_at=PAST)
    run(assembly, job, tmp_path)
    assembly.ledger.retention.run()
    lines = {event.path: event for _, event in found(assembly.blobs, Filter()) if event is not None}
    assert set(lines) == {*(f"/v1/datasets/{own}" for own in gone), f"/v1/jobs/{job.id}"}
    assert lines[f"/v1/datasets/{gone[1]}"].tenant == "bob"
    assert {line.action for line in lines.values()} == {"expire: it has expired"}
    assert {line.actor for line in lines.values()} == {"retention"}
    assert len(list(assembly.blobs.keys(AUDIT))) == 1, "one object for all of a sweep"
    assembly.ledger.retention.run("operator")
    assert len(list(assembly.blobs.keys(AUDIT))) == 1, f"{kept} stays, and nothing was removed"


@pytest.mark.parametrize("value", ["one", "list"])
def test_a_dataset_stays_while_a_job_that_has_not_ended_uses_it(
    assembly: Assembly, tmp_path: Path, value: str
) -> None:
    own = put(assembly)
    job = submit(assembly, inputs={"features": own if value == "one" else ["ds_other", own]})
    assert removed(assembly) == {own: job.id}, "queued"
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    assert removed(assembly) == {own: job.id}, "running"
    assembly.ledger.cancel("ada", job.id)
    assert removed(assembly) == {own: job.id}, "cancelling"
    assert assembly.ledger.finish(claim, end(claim), result_folder(tmp_path / "r"))
    assert removed(assembly) == {own: ""}, "a job that has ended has read it"
    assert assembly.ledger.get("ada", job.id) is not None


def test_a_dataset_stays_while_it_is_inspected(assembly: Assembly, tmp_path: Path) -> None:
    own = put(assembly, status="inspecting")
    job = submit(assembly, kind="inspect", method="inspect", inputs={}, options={"dataset": own})
    assert removed(assembly) == {own: job.id}
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    facts = {"dataset": {"shape": [1, 2], "dtype": "float64"}}
    assembly.ledger.finish(claim, end(claim, result=facts, tree=None))
    assert removed(assembly) == {own: ""}
    assert everything(assembly) == set(), "with its inspection"


Uses = Callable[[str], dict[str, Any]]
USES: dict[str, Uses] = {
    "predict": lambda job: {"kind": "predict", "options": {"tree": sibling_of(job, "tr")}},
    "evaluate": lambda job: {"kind": "evaluate", "options": {"tree": sibling_of(job, "tr")}},
    "evaluate a model": lambda job: {
        "kind": "evaluate",
        "options": {"tree": sibling_of(job, "tr"), "model": sibling_of(job, "md")},
    },
    "transform": lambda job: {"kind": "transform", "options": {"model": sibling_of(job, "md")}},
    "grow": lambda job: {"inputs": {"features": "inline", "base": job}},
    "hierarchy": lambda job: {"inputs": {"hierarchy": sibling_of(job, "tr")}},
    "compare": lambda job: {"kind": "compare", "inputs": {"hierarchy": sibling_of(job, "tr")}},
}


def sibling_of(job_id: str, prefix: Any) -> str:
    return sibling(job_id, prefix)


@pytest.mark.parametrize("use", USES)
def test_a_job_stays_with_its_tree_and_model_while_one_made_from_it_is_kept(
    assembly: Assembly, tmp_path: Path, use: str
) -> None:
    source = submit(assembly, expires_at=PAST)
    run(assembly, source, tmp_path)
    job = submit(assembly, **{"inputs": {}, **USES[use](source.id)})
    assert removed(assembly) == {source.id: job.id}, "queued"
    run(assembly, job, tmp_path, "failed")
    assert removed(assembly) == {source.id: job.id}, "ended"
    assert assembly.trees.record("ada", sibling(source.id, "tr")) is not None
    assembly.ledger.delete("ada", job.id)
    assert removed(assembly) == {source.id: ""}


def test_a_tree_stays_while_labels_about_it_are_kept(assembly: Assembly, tmp_path: Path) -> None:
    source = submit(assembly, expires_at=PAST)
    run(assembly, source, tmp_path)
    labels = put(assembly, None, tree=sibling(source.id, "tr"))
    assert removed(assembly) == {source.id: labels}
    assembly.datasets.delete("ada", labels)
    assert removed(assembly) == {source.id: ""}


def test_a_tree_stays_while_an_alias_names_it(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    """By whatever its time is over; then what it was made from stays too."""
    base = submit(assembly, expires_at=PAST)
    run(assembly, base, tmp_path)
    job = submit(assembly, expires_at=PAST, inputs={"base": base.id})
    run(assembly, job, tmp_path)
    aliases = Aliases(assembly.blobs, crossings=Crossings(assembly.redis, settings))
    named = aliases.move(aliases.get("ada", "champion"), sibling(job.id, "tr"))
    assert named is not None
    # Another tenant, and one that names it no more.
    aliases.move(aliases.get("bob", "champion"), sibling(base.id, "tr"))
    past = aliases.move(aliases.get("ada", "past"), sibling(base.id, "tr"))
    assert past is not None
    aliases.move(past, None)
    assert removed(assembly) == {job.id: "@champion", base.id: job.id}
    aliases.move(named, None)
    assert removed(assembly) == {job.id: "", base.id: ""}


def test_a_tree_to_which_an_alias_is_being_moved_stays(
    assembly: Assembly,
    settings: WorkerSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The plan has seen none; the sweep meets the one who moves it, before and after the move."""
    job = submit(assembly, expires_at=PAST)
    run(assembly, job, tmp_path)
    tree = sibling(job.id, "tr")
    retention = assembly.ledger.retention
    aliases = Aliases(assembly.blobs, crossings=Crossings(assembly.redis, settings))
    with aliases.naming("ada", tree):
        assert outcome(retention.run()) == {job.id: "an alias"}
    plan = retention.plan()
    monkeypatch.setattr(retention, "plan", lambda: plan)
    aliases.move(aliases.get("ada", "champion"), tree)
    assert outcome(retention.run()) == {job.id: "@champion"}
    assert assembly.trees.record("ada", tree) is not None


def test_aliases_are_listed_once_for_many_removals(
    assembly: Assembly,
    settings: WorkerSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    aliases = Aliases(assembly.blobs, crossings=Crossings(assembly.redis, settings))
    kept = submit(assembly, expires_at=PAST)
    jobs = [submit(assembly, expires_at=PAST) for _ in range(5)]
    jobs += [submit(assembly, expires_at=PAST, tenant="bob") for _ in range(2)]
    for job in (kept, *jobs):
        run(assembly, job, tmp_path)
    retention = assembly.ledger.retention
    plan = retention.plan()
    aliases.move(aliases.get("ada", "champion"), sibling(kept.id, "tr"))
    monkeypatch.setattr(retention, "plan", lambda: plan)
    listed: list[str] = []
    naming_trees = Aliases.naming_trees

    def listing(self: Aliases, tenant: str) -> dict[str, str]:
        listed.append(tenant)
        return naming_trees(self, tenant)

    monkeypatch.setattr(Aliases, "naming_trees", listing)
    assert outcome(retention.run()) == {kept.id: "@champion"} | {job.id: "" for job in jobs}
    assert sorted(listed) == ["ada", "bob"]


def test_removals_that_take_long_are_noted_anew(
    assembly: Assembly,
    settings: WorkerSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A note counts for a while only: an alias that is moved after it ended keeps its tree."""
    jobs = [submit(assembly, expires_at=PAST) for _ in range(3)]
    for job in jobs:
        run(assembly, job, tmp_path)
    retention = assembly.ledger.retention
    aliases = Aliases(assembly.blobs, crossings=Crossings(assembly.redis, settings))
    monkeypatch.setattr("workers.jobs.retention._NOTED_S", 0.0)
    erase = retention._remove
    last = sibling(retention.plan()[-1].id, "tr")

    def slowly(own_id: str, tenant: str) -> None:
        erase(own_id, tenant)
        alias = aliases.get("ada", "champion")
        if alias.tree is None:
            assert aliases.move(alias, last)

    monkeypatch.setattr(retention, "_remove", slowly)
    assert sorted(outcome(retention.run()).values()) == ["", "", "@champion"]
    assert assembly.trees.record("ada", last) is not None


def test_a_job_stays_until_it_has_ended_and_its_webhook_is_sent(
    assembly: Assembly, tmp_path: Path
) -> None:
    job = submit(assembly, expires_at=PAST, webhook="https://example.org/hook")
    assert removed(assembly) == {job.id: job.id}
    run(assembly, job, tmp_path)
    assert removed(assembly) == {job.id: job.id}, "the webhook is due"
    assembly.redis.hset(f"umbel:job:{job.id}", "hook", "delivered")
    assert removed(assembly) == {job.id: ""}


def test_what_expires_together_goes_together(assembly: Assembly, tmp_path: Path) -> None:
    own = put(assembly)
    first = submit(assembly, inputs={"features": own}, expires_at=PAST)
    run(assembly, first, tmp_path)
    grown = submit(assembly, inputs={"base": first.id}, expires_at=PAST)
    run(assembly, grown, tmp_path)
    options = {"tree": sibling(grown.id, "tr")}
    prediction = submit(assembly, kind="predict", inputs={}, options=options, expires_at=PAST)
    run(assembly, prediction, tmp_path, "failed")
    order = [verdict.id for verdict in assembly.ledger.retention.plan()]
    assert order.index(prediction.id) < order.index(grown.id) < order.index(first.id)
    assert set(removed(assembly).values()) == {""}
    assert everything(assembly) == set()


def configured(settings: WorkerSettings, **changed: Any) -> Assembly:
    parts = assemble(settings.model_copy(update=changed), lambda queue, job_id: None)
    parts.ledger.rebuild()
    return parts


def test_by_age(settings: WorkerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = configured(
        settings, keep_datasets_days={"": 10.0, "bob": 2.0, "eve": 1e300}, keep_jobs_days={"": 5.0}
    )
    owners = ("ada", "bob", "eve")
    datasets = {tenant: put(parts, None, tenant=tenant) for tenant in owners}
    job = submit(parts)
    run(parts, job, tmp_path)
    imported = submit(parts, kind="import", method="import", inputs={})
    run(parts, imported, tmp_path)
    assert removed(parts) == {}
    real = Removal.now

    def later(days: float) -> None:
        monkeypatch.setattr(Removal, "now", lambda self: real(self) + timedelta(days=days))

    later(2.1)
    assert removed(parts) == {datasets["bob"]: ""}
    later(5.1)
    assert removed(parts) == {job.id: "", imported.id: ""}
    later(10.1)
    assert removed(parts) == {datasets["ada"]: ""}
    assert parts.datasets.get("eve", datasets["eve"]) is not None


def test_by_bytes_the_oldest_go_first_but_for_what_is_needed(
    settings: WorkerSettings, tmp_path: Path
) -> None:
    parts = configured(settings, keep_bytes={"ada": 10})
    others = [put(parts, None, tenant="bob") for _ in range(5)]
    owns = []
    for _ in range(5):
        owns.append(put(parts, None))
        _pause()
    job = submit(parts, inputs={"features": owns[0]})
    assert removed(parts) == {owns[0]: job.id, owns[1]: "", owns[2]: "", owns[3]: ""}
    assert parts.usage.of("ada")["bytes"] == 8
    assert removed(parts) == {}
    assert all(parts.datasets.get("bob", own) for own in others)


def _pause() -> None:
    """Until the clock of ids has moved on."""
    before = datetime.now(UTC)
    while datetime.now(UTC) - before < timedelta(milliseconds=2):
        pass


def test_needs_and_expiries_survive_the_loss_of_redis(assembly: Assembly, tmp_path: Path) -> None:
    own, lone = put(assembly), put(assembly)
    waits = submit(assembly, inputs={"features": own})
    source = submit(assembly, expires_at=PAST)
    run(assembly, source, tmp_path)
    options = {"tree": sibling(source.id, "tr")}
    prediction = submit(assembly, kind="predict", inputs={}, options=options)
    assembly.redis.flushall()
    assembly.ledger.rebuild()
    assert removed(assembly) == {own: waits.id, lone: "", source.id: prediction.id}


class Killed(BaseException):
    """Stands for the death of the process."""


@pytest.mark.parametrize("what", ["dataset", "job"])
def test_an_interrupted_removal_is_finished_by_the_next(
    assembly: Assembly,
    settings: WorkerSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    n_steps = 0
    while True:
        left = None

        def step(real: Any) -> Any:
            def call(*arguments: Any) -> Any:
                nonlocal left
                if left is not None:
                    left -= 1
                    if left < 0:
                        raise Killed
                return real(*arguments)

            return call

        parts = assemble(settings, lambda queue, job_id: None)
        for name in ("delete", "delete_under"):
            monkeypatch.setattr(parts.blobs, name, step(getattr(parts.blobs, name)))
        for name in ("drop", "keep_bytes"):
            records = parts.ledger._records
            monkeypatch.setattr(records, name, step(getattr(records, name)))
        if what == "dataset":
            put(parts)
        else:
            run(parts, submit(parts, expires_at=PAST), tmp_path / str(n_steps))
        left = n_steps
        try:
            parts.ledger.retention.run()
            break
        except Killed:
            n_steps += 1
        assembly.ledger.retention.run()
        assert everything(assembly) == set(), n_steps
        assert not any(assembly.usage.of("ada").values()), n_steps
        assert assembly.redis.hlen(f"{settings.key_prefix}going") == 0
    assert n_steps >= 2


def test_a_sweep_removes_what_has_expired_once_for_all_processes(
    settings: WorkerSettings,
) -> None:
    parts = [configured(settings, keep_sweep_s=60.0) for _ in range(2)]
    own = put(parts[0])
    parts[0].ledger.sweep()
    assert parts[0].datasets.get("ada", own) is None
    other = put(parts[0])
    for each in parts:
        each.ledger.sweep()
    assert parts[0].datasets.get("ada", other) is not None


def test_nothing_is_removed_before_redis_is_built(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = put(assembly)
    monkeypatch.setattr(assembly.ledger._rebuild, "needed", lambda: True)
    monkeypatch.setattr(assembly.ledger._rebuild, "run", lambda wait_s: 0)
    assembly.ledger.sweep()
    assert assembly.datasets.get("ada", own) is not None


def test_the_earliest_id_of_a_time() -> None:
    for _ in range(100):
        own = new_id("ds")
        moment = made_at(own)
        assert moment is not None
        suffix = own.partition("_")[2]
        assert (
            earliest_suffix(moment) <= suffix < earliest_suffix(moment + timedelta(seconds=0.001))
        )
    assert earliest_suffix(datetime.min.replace(tzinfo=UTC)) == "0" * 26


def test_the_script_that_takes_a_thing_looks_at_its_needs_itself(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    removal = Removal(assembly.redis, settings)
    own = put(assembly)
    waits = submit(assembly, inputs={"features": own})
    assert removal.retire(own) == ("needed", waits.id)
    assert removal.retire(waits.id) == ("unfinished", "")
    run(assembly, waits, tmp_path)
    options = {"tree": sibling(waits.id, "tr")}
    prediction = submit(assembly, kind="predict", inputs={}, options=options)
    assert removal.retire(waits.id) == ("needed", prediction.id)
    assert removal.retire(own) == ("ok", "ada")
    assert removal.retire(own) == ("ok", "ada")
    assert removal.retire("ds_x") == removal.retire("job_x") == ("absent", "")
    with pytest.raises(UsageError, match="being removed"):
        submit(assembly, inputs={"features": own})
    assert own in removal.going()
    assembly.ledger.retention.run()
    assert assembly.datasets.get("ada", own) is None
    assert removal.going() == {}
    with pytest.raises(UsageError, match="being removed"):
        submit(assembly, inputs={"features": own})
