"""`umbel mcp` over standard input and output, called by the client of the protocol's own SDK."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anyio
import mcp
import numpy as np
import pytest

from tests.e2e.conftest import PATIENCE_S, Service
from tests.e2e.one_service.assistant_kit import Call, Served
from umbel_client import Umbel

pytestmark = pytest.mark.needs("mcp")

SLOW = {
    "method": "corrmnl",
    "inputs": {"features": np.random.default_rng(0).normal(size=(60, 3)).tolist()},
    "labels": ["cat", "dog", "rose"] * 20,
    "params": {"n_samples": 100000, "burn_in": 100000, "n_chains": 16},
}
"""A run that takes hours unless it is cancelled."""


def test_an_assistant_goes_from_logits_to_metrics(served: Served, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(3), 10)
    logits = rng.normal(size=(30, 3))
    logits[np.arange(30), label] += 3
    np.save(tmp_path / "logits.npy", logits)
    names = ["rose", "cat", "dog"]
    (tmp_path / "names.txt").write_text("\n".join(names))
    labels = [names[each] for each in label]

    async def steps(client: Any, call: Call) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {
            *("methods", "upload", "run", "compare", "job", "find", "tree", "picture", "levels"),
            *("cut", "confusions", "evaluate", "predict", "calibrate", "drift", "name"),
        }
        assert all(tool.description and tool.title for tool in tools.values())
        reads = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
        assert reads == {"methods", "job", "find", "tree", "picture", "levels", "cut"}
        assert [name for name, tool in tools.items() if tool.annotations.open_world_hint] == [
            "name"
        ]
        for tool in tools.values():
            assert tool.annotations.destructive_hint is False
            assert tool.annotations.idempotent_hint == (
                tool.name in reads | {"confusions", "evaluate", "predict"}
            )
            assert tool.input_schema["additionalProperties"] is False
            for field, schema in tool.input_schema["properties"].items():
                assert "description" in schema, (tool.name, field)
            # Labels are given in one way, and never among the inputs.
            given = tool.input_schema["properties"].get("labels")
            assert given is None or given["description"].startswith("The class of each row")
            assert tool.name == "picture" or tool.output_schema["properties"]
        assert "logits" in (await call("methods", method="l2h"))["method"]["inputs"]
        assert "l2h" in (await call("methods"))["methods"]
        uploaded = await call("upload", content=str(tmp_path / "logits.npy"), role="logits")
        inputs = {"logits": uploaded["dataset"], "names": str(tmp_path / "names.txt")}
        ran = await call("run", method="l2h", inputs=inputs, params={"aggregation": "sum"})
        assert (ran["n_points"], ran["n_leaves"]) == (30, 3)
        tree = ran["tree"]
        text = (await call("tree", tree=tree))["text"]
        assert all(name in text for name in names)
        clusters = (await call("cut", tree=tree, k=2))["clusters"]
        assert sum(each["size"] for each in clusters) == 30
        found = await call("levels", tree=tree)
        assert found["levels"] or found["reason"]
        assert (await call("confusions", tree=tree))["source"] == "logits"
        confusions = await call("confusions", tree=tree, labels=labels, limit=2)
        assert confusions["source"] == "labels"
        assert len(confusions["pairs"]) <= 2
        metrics = (await call("evaluate", tree=tree, labels=labels))["metrics"]
        assert 0 < metrics["dendrogram_purity"] <= 1
        again = await call("evaluate", tree=tree, labels=labels, inputs={"hierarchy": tree})
        assert again["metrics"]["dendrogram_purity"] == metrics["dendrogram_purity"]

    served(steps)


def test_an_assistant_uses_a_tree(served: Served, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    label = np.repeat(np.arange(4), 60)
    logits = (rng.normal(size=(240, 4)) + 3 * np.eye(4)[label]).astype(np.float32)
    np.save(tmp_path / "all.npy", logits)
    np.save(tmp_path / "held.npy", logits[::2])
    np.save(tmp_path / "moved.npy", logits[label < 3])
    names = ["rose", "tulip", "cat", "dog"]
    documents = ["red flower"] * 60 + ["yellow flower"] * 60 + ["soft fur"] * 120
    heard: list[tuple[float, str | None]] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        assert total == 1
        heard.append((done, message))

    async def steps(client: Any, call: Call) -> None:
        inputs = {"logits": str(tmp_path / "all.npy"), "names": names}
        result = await client.call_tool(
            "run",
            {"method": "l2h", "inputs": inputs, "name": "flowers and pets"},
            progress_callback=on_progress,
        )
        assert not result.is_error, result.content[0].text
        tree = result.structured_content["tree"]
        done = [each for each, _ in heard]
        assert done == sorted(set(done))
        assert (done[0], done[-1]) == (0, 1)

        found = await call("find", words="flowers pets")
        assert [each["id"] for each in found["trees"]] == [tree]
        assert "levels" in await call("levels", tree=tree)
        placed = await call("predict", tree=tree, rows=str(tmp_path / "held.npy"), k=2, limit=5)
        assert (len(placed["rows"]), placed["n_rows"]) == (5, 120)
        assert placed["rows"][0]["label"] in names
        calibrated = await call(
            "calibrate",
            tree=tree,
            labels=[names[each] for each in label[::2]],
            rows=str(tmp_path / "held.npy"),
        )
        assert calibrated["result"]["alpha"] == 0.1
        sure = await call(
            "predict",
            tree=tree,
            rows=logits[:2].tolist(),
            calibration=calibrated["calibration"],
        )
        assert sure["rows"][0]["nodes"]
        moved = await call(
            "drift",
            tree=tree,
            reference=str(tmp_path / "held.npy"),
            batch=str(tmp_path / "moved.npy"),
            limit=2,
        )
        assert moved["moved"]
        assert len(moved["moves"]) <= 2
        named = await call("name", tree=tree, by="terms", inputs={"documents": documents})
        assert named["nodes"]
        compared = await call(
            "compare",
            methods=["hac", {"method": "kmeans", "params": {"n_clusters": 4}}],
            inputs={"features": str(tmp_path / "all.npy")},
            labels=label.tolist(),
            metrics=["ari"],
            seeds=1,
            k=4,
        )
        assert {row["method"] for row in compared["rows"]} == {"hac", "kmeans"}
        assert compared["best"]["ari"] in ("hac", "kmeans")

        # The step that the tool's own description shows.
        (run,) = (tool for tool in (await client.list_tools()).tools if tool.name == "run")
        shown = run.input_schema["properties"]["preprocess"]["description"]
        step = json.loads(shown.removeprefix("Steps such as "))
        inputs = {"features": str(tmp_path / "held.npy")}
        assert (await call("run", method="hac", inputs=inputs, preprocess=[step]))[
            "n_points"
        ] == 120

        pictured = await client.call_tool("picture", {"tree": tree, "k": 2, "px": 300})
        assert pictured.content[0].mime_type == "image/png"
        text = (await call("tree", tree=tree))["text"]
        templates = (await client.list_resource_templates()).resource_templates
        assert {each.uri_template for each in templates} == {
            f"umbel://{{tree}}/{form}" for form in ("newick", "json", "svg", "leaves", "levels")
        }
        assert all(each.description and each.mime_type for each in templates)
        leaves = (await client.read_resource(f"umbel://{tree}/leaves")).contents[0].text
        assert sorted(leaves.split("\n")) == sorted(names)
        levels = (await client.read_resource(f"umbel://{tree}/levels")).contents[0].text
        assert json.loads(levels) == await call("levels", tree=tree)
        for form in ("newick", "json", "svg"):
            read = await client.read_resource(f"umbel://{tree}/{form}")
            assert all(name in read.contents[0].text for name in names)
        assert (await client.read_resource(f"umbel://{tree}/newick")).contents[0].text == text
        for address in ("umbel://tr_none/newick", "umbel://jobs/newick"):
            with pytest.raises(mcp.MCPError, match="tr_"):
                await client.read_resource(address)

    served(steps)


def test_an_assistant_reads_what_was_wrong(served: Served) -> None:
    points = {"method": "hac", "inputs": {"features": [[1.0], [2.0]]}}

    async def steps(client: Any, call: Call) -> None:
        for tool, arguments, sentence in (
            ("methods", {"method": "l3h"}, "there is no 'l3h'"),
            ("run", {"method": "hac", "inputs": {"features": "/none.npy"}}, "/none.npy"),
            ("run", {**points, "params": {"linkage": "wards"}}, "linkage"),
            ("tree", {"tree": "tr_none"}, "tr_none"),
            ("evaluate", {"tree": "tr_none", "inputs": {"logits": "x"}}, "it takes 'hierarchy'"),
            ("evaluate", {"tree": "tr_none", "inputs": {"labels": "x"}}, "argument `labels`"),
            ("run", {"method": "hac", "inputs": {"labels": "x"}}, "argument `labels`"),
            ("run", {"method": "hac", "inputs": {"wait_s": "x"}}, "there is no input 'wait_s'"),
            ("run", {"method": "hac", "inputs": {"features": [[1.0] * 400_000]}}, "its path"),
            ("run", {"method": "hac"}, "inputs: field required. It is: By role"),
            ("job", {"job": "job_none"}, "job_none"),
            ("tree", {"tree": "jobs"}, "The id of a tree, tr_..."),
            ("cut", {"tree": "tr_none"}, "give one of k, height and level"),
            (
                "cut",
                {"tree": "tr_none", "n_clusters": 2},
                "no argument 'n_clusters'; it takes tree",
            ),
            ("cluster", {}, "There is no tool 'cluster'; there are methods"),
            ("predict", {"tree": "tr_none", "rows": [[1.0]]}, "tr_none"),
            ("cut", {"tree": "tr_none", "k": 2}, "tr_none"),
            ("drift", {"tree": "tr_none", "reference": "/a.npy", "batch": "/b.npy"}, "tr_none"),
            ("picture", {"tree": "tr_none", "px": 5}, "greater than or equal to 200"),
        ):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            (content,) = result.content
            assert sentence in content.text, content.text
            assert not any(odd in content.text for odd in ("Traceback", "pydantic", "Error exec"))

    served(steps)


def test_a_call_that_is_cancelled_ends_its_job(service: Service, served: Served) -> None:
    umbel = Umbel(service.url)
    named = "given up by an assistant"
    arguments = {**SLOW, "name": named}

    async def steps(client: Any, call: Call) -> None:
        async def begun(scope: anyio.CancelScope) -> None:
            while not umbel.jobs(name=named, status="running"):
                await anyio.sleep(0.1)
            scope.cancel()

        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                with anyio.CancelScope() as scope:
                    group.start_soon(begun, scope)
                    await client.call_tool("run", arguments)
        assert scope.cancelled_caught
        (job,) = umbel.jobs(name=named)
        with anyio.fail_after(PATIENCE_S):
            while (state := await call("job", job=job.id, wait_s=1))["status"] != "cancelled":
                assert state["status"] in ("running", "cancelling")
        # The server goes on with other calls.
        assert "hac" in (await call("methods"))["methods"]

    with umbel:
        served(steps)


def test_an_assistant_comes_back_to_work_that_takes_long(service: Service, served: Served) -> None:
    named = "left alone by an assistant"
    arguments = {**SLOW, "name": named}

    async def steps(client: Any, call: Call) -> None:
        result = await client.call_tool("run", {**arguments, "wait_s": 1})
        assert result.is_error
        (job,) = re.findall(r"job_\w+", result.content[0].text)
        assert "it goes on" in result.content[0].text
        state = await call("job", job=job)
        assert (state["kind"], state["problem"]) == ("fit", None)
        assert state["status"] in ("queued", "running")
        service.client.post(f"/v1/jobs/{job}/cancel").raise_for_status()

    served(steps)
