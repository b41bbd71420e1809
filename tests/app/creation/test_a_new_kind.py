"""'Add a kind of work' in CONTRIBUTING, followed literally in a copy of the source tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.conftest import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
COPIED, LINKED = ("umbel", "app", "workers", "tests"), ("models", "client", "openapi")

TESTS_OF_KILLS = (
    "test_a_killed_job_ends_once_with_its_result",
    "test_a_job_killed_at_every_attempt_fails_once",
)

USE = '''
"""What a kind of work gets without asking for it."""

import json

from tests.app.conftest import *
from tests.app.conftest import problem_of
from tests.app.tree_kit import fit
from tests.document_kit import made
from workers.kinds.registry import kind_of

LOGITS = [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]
SHARED = {"name": "mine", "tags": ["a"], "expires_at": "2099-01-31T00:00:00Z"}


def test_it_is_used_like_every_other(working):
    tree, client = fit(working, "l2h", {"logits": LOGITS})["id"], working.client
    at, once = f"/v1/trees/{tree}/counts", {"Prefer": "wait=60", "Idempotency-Key": "k"}
    made = client.post(at, json=SHARED, headers=once)
    assert made.status_code == 201, made.text
    count = made.json()
    assert count["result"] == {"n_leaves": 3, "max_depth": 2}
    assert (count["name"], count["tags"], count["status"]) == ("mine", ["a"], "succeeded")
    assert count["id"].startswith("cnt_")
    assert client.post(at, json=SHARED, headers=once).json()["id"] == count["id"]
    assert client.get(made.headers["Location"]).json() == count
    assert client.get("/v1/counts?tag=a").json()["items"] == [count]
    job = client.get(f"/v1/jobs/{count['job']}").json()
    assert (job["kind"], job["result"]["count"]) == ("count", count["id"])
    assert client.delete(f"/v1/counts/{count['id']}").status_code == 204
    problem_of(client.get(f"/v1/counts/{count['id']}"), 404, "not-found")


def test_it_is_refused_cancelled_and_reported_like_every_other(api):
    made = api.client.post("/v1/jobs", json={"method": "l2h", "inputs": {"logits": LOGITS}})
    tree = made.json()["id"].replace("job_", "tr_")
    problem_of(api.client.post(f"/v1/trees/{tree}/counts", json={}), 404, "not-found")
    api.finish(made.json()["id"], tree=TREE)
    at, now = f"/v1/trees/{tree}/counts", {"Prefer": "wait=0"}
    problem_of(api.client.post(at, json={"webhook": "http://127.0.0.1/"}), 422, "invalid-request")
    problem_of(api.client.post(at, json={"other": 1}), 422, "invalid-request")
    queued = api.client.post(at, json={"webhook": "https://example.org/"}, headers=now)
    assert queued.status_code == 202
    job = queued.json()["job"]
    assert api.service.ledger.get("local", job).webhook.url == "https://example.org/"
    assert kind_of("count").lane(api.claim(job).request) == "quick"
    cancelled = api.client.post(f"/v1/jobs/{job}/cancel").json()
    assert cancelled["status"] == "cancelling"


def test_it_has_a_page_of_the_document():
    text = made()
    for operation in ("create_count", "get_count", "list_counts", "delete_count"):
        assert f'"{operation}"' in text
    created = json.loads(text)["paths"]["/v1/trees/{tree_id}/counts"]["post"]
    assert "job_ended" in created["callbacks"]


TREE = {
    "method": "l2h", "kind": "hierarchy", "n_points": 3, "n_nodes": 5, "n_leaves": 3,
    "max_depth": 2, "monotone": True, "name": None,
}
'''


def blocks() -> dict[str, str]:
    """The code that the guide shows, by the path that stands before it."""
    section = GUIDE[GUIDE.index("## Add a kind of work") : GUIDE.index("## Add a metric")]
    found = re.findall(
        r"\*((?:workers|app)/[\w/]+\.py)\*(?=[:,]).*?```python\n(.*?)^ *```$",
        section,
        flags=re.DOTALL | re.MULTILINE,
    )
    return {path: dedent(code) for path, code in found}


@pytest.mark.timeout(1200)  # It is a run of many tests.
def test_the_guide_is_enough(tmp_path: Path) -> None:
    code = blocks()
    assert set(code) == {
        "workers/kinds/count.py",
        *(f"app/resources/counts/{name}.py" for name in ("schemas", "routes", "__init__")),
    }
    # Compiled code comes along: to compile all anew takes longer than the rest.
    for name in COPIED:
        ignored = shutil.ignore_patterns("earlier")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for path, text in code.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    use = tmp_path / "tests" / "app" / "test_count.py"
    use.write_text(USE)
    # What the contract asks of every kind it asks of this one.
    contract, kills = (
        tmp_path / "tests" / "workers" / "kinds" / name
        for name in ("test_contract.py", "test_kills.py")
    )
    killed = [f"{kills}::{test}[count]" for test in TESTS_OF_KILLS]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", use, contract, *killed],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{tmp_path / 'client'}"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
