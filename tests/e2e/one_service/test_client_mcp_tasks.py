"""Ten tasks of an assistant, done with the tools alone; the table of them is in docs/assistants.md.

A script stands for the assistant: it knows what an answer says, and nothing that is not in one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.e2e.one_service.assistant_kit import Call, Served

pytestmark = pytest.mark.needs("mcp")

NAMES = ["rose", "tulip", "cat", "dog"]
"""
.                 root
            /            \\
         flowers         pets
         /    \\         /   \\
      rose   tulip    cat   dog
"""
N_EACH = 60


def documented() -> list[list[str]]:
    """What each task needs, by the table of the page."""
    page = (ROOT / "docs" / "assistants.md").read_text("utf-8")
    rows = re.findall(r"^\| \d+ \|.*\| (.*) \|$", page, flags=re.MULTILINE)
    return [re.findall(r"`([^`]+)`", row) for row in rows]


def data(folder: Path) -> tuple[list[str], list[str]]:
    """Files of logits, texts and a table in a folder; the class of each row, and of held-out ones.

    A class is mostly taken for the other one of its group.
    """
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(4), N_EACH)
    near = np.kron(np.eye(2), np.ones((2, 2)))
    logits = 2 * near[label] + 2 * np.eye(4)[label] + rng.normal(size=(4 * N_EACH, 4))
    np.save(folder / "logits.npy", logits[::2].astype(np.float32))
    np.save(folder / "held_out.npy", logits[1::2].astype(np.float32))
    np.save(folder / "this_week.npy", logits[label < 3].astype(np.float32))
    # Three clusters, far from each other.
    centres = 10.0 * np.eye(3)
    table = centres[np.repeat(np.arange(3), 20)] + rng.normal(size=(60, 3))
    lines = ["width,height,depth", *(",".join(f"{each:.4f}" for each in row) for row in table)]
    (folder / "table.csv").write_text("\n".join(lines))
    known = [NAMES[each] for each in label]
    return known[::2], known[1::2]


def test_the_ten_tasks(served: Served, tmp_path: Path) -> None:
    labels, held_out = data(tmp_path)
    logits, table = str(tmp_path / "logits.npy"), str(tmp_path / "table.csv")
    needed: list[list[str]] = []

    async def steps(client: Any, call: Call) -> None:
        def begin() -> None:
            needed.append([])

        async def use(tool: str, **arguments: Any) -> Any:
            needed[-1].append(tool)
            return await call(tool, **arguments)

        begin()  # 1: which classes belong together
        fields = (await use("methods", method="l2h"))["method"]
        assert {"logits", "names"} <= set(fields["inputs"])
        inputs = {"logits": logits, "names": NAMES}
        tree = (await use("run", method="l2h", inputs=inputs, name="garden and house"))["tree"]
        clusters = (await use("cut", tree=tree, k=2))["clusters"]
        assert [each["size"] for each in clusters] == [2 * len(labels) // 4] * 2

        begin()  # 2: found again and shown
        (found, *_) = (await use("find", words="garden house"))["trees"]
        assert found["id"] == tree
        needed[-1].append("picture")
        pictured = await client.call_tool("picture", {"tree": found["id"], "k": 2, "px": 300})
        assert (pictured.is_error, pictured.content[0].mime_type) == (False, "image/png")

        begin()  # 3: which classes are taken for which
        (pair,) = (await use("confusions", tree=tree, labels=labels, limit=1))["pairs"]
        groups = ({"rose", "tulip"}, {"cat", "dog"})
        assert {pair["name"], pair["taken_for_name"]} in groups

        begin()  # 4: whether it agrees with known groups
        known = ["flower/rose", "flower/tulip", "pet/cat", "pet/dog"]
        truth = {"hierarchy": known}
        metrics = (await use("evaluate", tree=tree, labels=labels, inputs=truth))["metrics"]
        assert metrics["lhd"] == 0

        begin()  # 5: which method suits a table
        dataset = (await use("upload", content=table))["dataset"]
        compared = await use(
            "compare",
            methods=["hac", {"method": "kmeans", "params": {"n_clusters": 3}}],
            inputs={"features": dataset},
            labels=[f"kind {each // 20}" for each in range(60)],
            metrics=["ari"],
            seeds=1,
            k=3,
        )
        assert [row["ari"] for row in compared["rows"]] == [1, 1]

        begin()  # 6: how many clusters, after a wrong guess
        needed[-1].append("run")
        arguments = {"method": "hac", "inputs": {"features": dataset}}
        refused = await client.call_tool("run", {**arguments, "params": {"linkage": "wards"}})
        assert refused.is_error
        (right,) = set(re.findall(r"'(ward)'", refused.content[0].text))
        by_rows = (await use("run", **arguments, params={"linkage": right}))["tree"]
        (level, *_) = (await use("levels", tree=by_rows))["levels"]
        cut = await use("cut", tree=by_rows, k=level["k"])
        assert [each["size"] for each in cut["clusters"]] == [20, 20, 20]

        begin()  # 7: what groups are about
        words = ["red thorns"] * 20 + ["soft fur"] * 20 + ["loud bark"] * 20
        named = await use("name", tree=by_rows, by="terms", inputs={"documents": words})
        assert {"thorns", "fur", "bark"} <= set(re.findall(r"\w+", str(named["nodes"])))

        begin()  # 8: only as deep as is sure
        rows = str(tmp_path / "held_out.npy")
        promised = await use("calibrate", tree=tree, labels=held_out, rows=rows)
        assert promised["result"]["alpha"] == 0.1
        placed = await use("predict", tree=tree, rows=rows, calibration=promised["calibration"])
        assert (len(placed["rows"]), placed["n_rows"]) == (50, len(held_out))
        assert all(row["nodes"] for row in placed["rows"])

        begin()  # 9: what moved
        batch = str(tmp_path / "this_week.npy")
        drift = await use("drift", tree=tree, reference=rows, batch=batch)
        assert drift["moved"]
        assert any(move["name"] == "dog" for move in drift["moves"])

        begin()  # 10: for another program
        text = (await use("tree", tree=tree))["text"]
        for form in ("newick", "leaves"):
            needed[-1].append(f"umbel://tr_.../{form}")
            read = (await client.read_resource(f"umbel://{tree}/{form}")).contents[0].text
            assert read == text or sorted(read.split("\n")) == sorted(NAMES)

    served(steps)
    assert needed == documented()
