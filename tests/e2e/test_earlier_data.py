"""This version serves the data directory of version 0.1.0 unchanged and finishes its running jobs.

`earlier/0.1.0.tar.xz` holds a data directory of `umbel serve` 0.1.0, killed with -9 at work:
datasets in every format, a job of every method, trees, models, evaluations, predictions, a
comparison, an unfinished upload, and a running job with a checkpoint for each method that resumes.
Its `expected.json` holds the answers of 0.1.0, and the results of the running jobs without an
interruption.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.e2e.conftest import Service, running

ARCHIVE = Path(__file__).parent / "earlier" / "0.1.0.tar.xz"
LEFT = "store and Redis"
CANCELLED = "store and Redis, running jobs cancelled"
REBUILT = "store alone"
RTOL = 1e-12
FORMER = {"ghhc": {"decay": False, "perplexity": None}}
"""Values of new parameters with which a method does what it did in the earlier version."""
FREQUENT_PROGRESS = {"UMBEL_HEARTBEAT_S": "0.05"}
"""Short jobs then report progress in the middle of their work."""


@dataclass
class Earlier:
    """A service on the data of the earlier version, and the answers of that version."""

    service: Service
    expected: dict[str, Any]

    def json(self, path: str) -> Any:
        answer = self.service.client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        return answer.json()

    def newick(self, job: dict[str, Any]) -> str:
        return self.service.client.get(f"/v1/trees/{job['result']['tree']}.nwk").text


@pytest.fixture(
    scope="module",
    params=[CANCELLED, *(pytest.param(kind, marks=pytest.mark.slow) for kind in (LEFT, REBUILT))],
)
def earlier(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Earlier]:
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(ARCHIVE) as archive:
        # Python 3.11.2, as Debian 12 has it, knows no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(folder)
    expected = json.loads((folder / "expected.json").read_text())
    if request.param == REBUILT:
        shutil.rmtree(folder / "data" / "redis")
        keep_few(folder / "data" / "store", expected)
    with running(folder / "data", **FREQUENT_PROGRESS) as service:
        if request.param == CANCELLED:
            for interrupted in expected["interrupted"].values():
                answer = service.client.post(f"/v1/jobs/{interrupted['job']}/cancel")
                assert answer.status_code == 200, answer.text
        yield Earlier(service, expected)


def keep_few(store: Path, expected: dict[str, Any]) -> None:
    """Reduce the second run to what depends on Redis: one interrupted job, a few predictions.

    The progress of a job that did not succeed is kept in Redis only.
    """
    for old in expected["answers"].values():
        if isinstance(old, dict) and old.get("status") in ("failed", "cancelled"):
            old.pop("progress", None)
    expected["predictions"] = expected["predictions"][::10]
    for label in sorted(expected["interrupted"])[1:]:
        job = expected["interrupted"].pop(label)["job"]
        (store / "open" / "local" / job).unlink()
        for kind in ("jobs", "checkpoints"):
            shutil.rmtree(store / kind / "local" / job)


def lacking(old: Any, new: Any, at: str = "", rtol: float = 0.0) -> list[str]:
    """The places where `new` differs from `old`; objects may have further fields.

    rtol : how far a float may be from the old one, relatively: another processor adds in another
    order.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            text
            for key, value in old.items()
            for text in (
                lacking(value, new[key], f"{at}.{key}", rtol)
                if key in new
                else [f"{at}.{key} is missing"]
            )
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [text for i, (a, b) in pairs for text in lacking(a, b, f"{at}[{i}]", rtol)]
    if isinstance(old, float) and isinstance(new, float) and math.isclose(old, new, rel_tol=rtol):
        return []
    return [] if old == new else [f"{at} was {old!r:.200}, is {new!r:.200}"]


def content_of(answer: httpx.Response, path: str) -> Any:
    """The answer as `expected.json` holds it: a file by its SHA-256."""
    if path.endswith("/content"):
        return hashlib.sha256(answer.content).hexdigest()
    is_json = answer.headers["content-type"].startswith("application/json")
    return answer.json() if is_json else answer.text


def test_every_answer_is_unchanged(earlier: Earlier) -> None:
    wrong = []
    for path, old in earlier.expected["answers"].items():
        answer = earlier.service.client.get(path)
        if answer.status_code != 200:
            wrong.append(f"{path}: {answer.status_code} {answer.text:.300}")
            continue
        new = content_of(answer, path)
        if path.endswith((".nwk", ".nex")):
            new = with_short_support(new)
        if path.endswith("/levels"):
            old, new = same_levels(old, new), same_levels(new, old)
        wrong += [f"{path}: {text}" for text in lacking(old, new)]
    # Clusters without a name have one since then.
    assert [
        text for text in wrong if not re.search(r"\.clusters\[\d+\]\.name was None", text)
    ] == []


def with_short_support(text: str) -> str:
    """A tree with the support of inner nodes in four digits, as it was written then."""
    text = re.sub(r"\[&support=[^]]*\]", "", text)
    return re.sub(r"\)(\d*\.\d+|\d+)(?=[:;,)])", lambda found: f"){float(found[1]):.4g}", text)


def same_levels(some: Any, others: Any) -> dict[str, Any]:
    """The levels that both suggest, without their p-values: fewer are suggested since all are held
    against chance."""
    shared = {(level["k"], level["criterion"]) for level in others["levels"]}
    kept = [level for level in some["levels"] if (level["k"], level["criterion"]) in shared]
    return {"levels": [{**level, "p_value": None} for level in kept]}


def test_every_list_keeps_its_items_in_order(earlier: Earlier) -> None:
    for kind, old in earlier.expected["lists"].items():
        listed = [item["id"] for item in earlier.json(f"/v1/{kind}?limit=200")["items"]]
        assert [item for item in listed if item in set(old)] == old


@pytest.mark.slow
@pytest.mark.parametrize("earlier", [LEFT, REBUILT], indirect=True)
def test_interrupted_jobs_resume_from_their_checkpoints(earlier: Earlier) -> None:
    for label, old in earlier.expected["interrupted"].items():
        job = earlier.service.ended(old["job"])
        assert job["status"] == "succeeded", (label, job)
        assert earlier.newick(job) == old["newick"], label
        assert lacking(old["metrics"], job["result"]["metrics"]) == [], label
        assert lacking(old["curves"], job["result"].get("curves")) == [], label
        began_at = first_fractions(earlier.service, old["job"])[old["stage"]]
        assert began_at > (old["fresh"] + old["resumes_at"]) / 2, (
            f"{label} started from the beginning"
        )
    store = earlier.service.data_dir / "store"
    assert [path for path in (store / "checkpoints").rglob("*") if path.is_file()] == []


def first_fractions(service: Service, job: str) -> dict[str, float]:
    """The first progress event of each stage in the last attempt at a job."""
    fractions: dict[str, float] = {}
    last, kind = 0.0, ""
    with service.client.stream("GET", f"/v1/jobs/{job}/events") as events:
        for line in events.iter_lines():
            field, _, text = line.partition(": ")
            if field == "event":
                kind = text
            elif field == "data" and kind == "progress":
                progress = json.loads(text)
                if progress["fraction"] < last:
                    fractions = {}
                last = progress["fraction"]
                fractions.setdefault(progress["stage"], last)
    return fractions


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_models_predict_the_same(earlier: Earlier, every: int) -> None:
    wrong = []
    for old in earlier.expected["predictions"][::every]:
        answer = earlier.service.client.post(
            f"/v1/trees/{old['tree']}/predictions",
            json={"inputs": old["inputs"]},
            headers={"Prefer": "wait=60"},
        )
        if answer.status_code != 200:
            wrong.append(f"{old['label']}: {answer.status_code} {answer.text:.300}")
            continue
        items = answer.json()["items"]
        wrong += [f"{old['label']}: {text}" for text in far_from(old["items"], items)]
    assert wrong == []


def far_from(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
    """As `lacking`, for predictions: floats may differ in their last digits."""
    wrong = []
    for row, (a, b) in enumerate(zip(old, new, strict=True)):
        for key, value in a.items():
            numbers = isinstance(value, float) or key == "probabilities"
            if numbers and isinstance(b[key], type(value)):
                same = np.allclose(value, b[key], rtol=RTOL, atol=0.0)
            else:
                same = value == b[key]
            if not same:
                wrong.append(f"row {row}: {key} was {value!r}, is {b[key]!r}")
    return wrong


@pytest.mark.slow
def test_evaluations_measure_the_same(earlier: Earlier) -> None:
    for old in earlier.expected["evaluations"]:
        answer = earlier.service.client.post(
            f"/v1/trees/{old['tree']}/evaluations",
            json=old["body"],
            headers={"Prefer": "wait=60"},
        )
        assert answer.status_code == 200, answer.text
        for part in ("metrics", "standard_errors", "cut"):
            assert lacking(old["answer"][part], answer.json()[part], part, RTOL) == []


@pytest.mark.slow
@pytest.mark.needs("torch")
def test_new_jobs_grow_from_earlier_ones(earlier: Earlier) -> None:
    for old in earlier.expected["grown"]:
        before = earlier.json(f"/v1/jobs/{old['job']}")
        method = old["request"]["method"]
        params = {**before["params"], **FORMER.get(method, {})}
        again = earlier.service.ended(earlier.service.submit({**old["request"], "params": params}))
        assert again["status"] == "succeeded", again
        assert earlier.newick(again) == earlier.newick(before)
        # `ghhc` computes in single precision, and `l2h` did in part where there are few classes.
        rtol = {"ghhc": 1e-6, "l2h": 1e-8}.get(method, RTOL)
        assert lacking(before["result"]["metrics"], again["result"]["metrics"], rtol=rtol) == []


def test_an_unfinished_upload_is_completed(earlier: Earlier) -> None:
    old = earlier.expected["upload"]
    part = earlier.service.client.put(
        f"/v1/uploads/{old['id']}/parts/2", content=bytes.fromhex(old["rest"])
    )
    assert part.status_code == 204, part.text
    completion = earlier.service.client.post(f"/v1/uploads/{old['id']}/complete", json={})
    assert completion.status_code == 201, completion.text
    assert completion.json()["sha256"] == old["sha256"]
