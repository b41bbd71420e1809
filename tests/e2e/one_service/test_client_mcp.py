"""`umbel mcp` over standard input and output, called by the client of the protocol's own SDK."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp
import numpy as np
import pytest

from tests.conftest import ROOT
from tests.e2e.conftest import Service

pytestmark = pytest.mark.needs("mcp")

Call = Callable[..., Awaitable[Any]]


def served(service: Service, steps: Callable[[Any, Call], Awaitable[None]]) -> None:
    """Run `steps(client, call)` on a server in its own process; `call` gives a tool's answer."""
    parameters = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-c", "from app.cli import main; main()", "mcp", "--url", service.url],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"},
    )

    async def run() -> None:
        async with mcp.Client(parameters) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result.content[0].text
                return result.structured_content

            await steps(client, call)

    asyncio.run(run())


def test_an_assistant_goes_from_logits_to_metrics(service: Service, tmp_path: Path) -> None:
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
            *("methods", "upload", "run", "compare", "find", "tree", "picture", "levels", "cut"),
            *("confusions", "evaluate", "predict", "calibrate", "drift", "name"),
        }
        assert all(tool.description for tool in tools.values())
        for name in ("find", "tree", "picture", "levels", "cut", "methods"):
            assert tools[name].annotations.read_only_hint, name
        for tool in tools.values():
            assert not tool.annotations.destructive_hint
            for field, schema in tool.input_schema["properties"].items():
                assert "description" in schema or field in (
                    *("name", "form", "shape", "metrics", "height"),
                ), (tool.name, field)
        assert "logits" in (await call("methods", method="l2h"))["inputs"]
        uploaded = await call("upload", content=str(tmp_path / "logits.npy"), role="logits")
        inputs = {"logits": uploaded["dataset"], "names": str(tmp_path / "names.txt")}
        ran = await call("run", method="l2h", inputs=inputs, params={"aggregation": "sum"})
        assert (ran["n_points"], ran["n_leaves"]) == (30, 3)
        tree = ran["tree"]
        text = (await call("tree", tree=tree))["text"]
        assert all(name in text for name in names)
        clusters = (await call("cut", tree=tree, k=2))["clusters"]
        assert sum(each["size"] for each in clusters) == 30
        assert "levels" in await call("cut", tree=tree)
        assert (await call("confusions", tree=tree))["source"] == "logits"
        confusions = await call("confusions", tree=tree, labels=labels, limit=2)
        assert confusions["source"] == "labels"
        assert len(confusions["pairs"]) <= 2
        metrics = (await call("evaluate", tree=tree, labels=labels))["metrics"]
        assert 0 < metrics["dendrogram_purity"] <= 1
        again = await call("evaluate", tree=tree, inputs={"labels": labels, "hierarchy": tree})
        assert again["metrics"]["dendrogram_purity"] == metrics["dendrogram_purity"]

    served(service, steps)


def test_an_assistant_uses_a_tree(service: Service, tmp_path: Path) -> None:
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
        assert [done for done, _ in heard][:: len(heard) - 1] == [0, 1]

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
        for form in ("newick", "json", "svg"):
            read = await client.read_resource(f"umbel://{tree}/{form}")
            assert all(name in read.contents[0].text for name in names)
        assert (await client.read_resource(f"umbel://{tree}/newick")).contents[0].text == text
        with pytest.raises(mcp.MCPError):
            await client.read_resource("umbel://tr_none/newick")

    served(service, steps)


def test_an_assistant_reads_what_was_wrong(service: Service) -> None:
    points = {"method": "hac", "inputs": {"features": [[1.0], [2.0]]}}

    async def steps(client: Any, call: Call) -> None:
        for tool, arguments, sentence in (
            ("methods", {"method": "l3h"}, "there is no 'l3h'"),
            ("run", {"method": "hac", "inputs": {"features": "/none.npy"}}, "/none.npy"),
            ("run", {**points, "params": {"linkage": "wards"}}, "linkage"),
            ("tree", {"tree": "tr_none"}, "tr_none"),
            ("evaluate", {"tree": "tr_none", "inputs": {"logits": "x"}}, "an evaluation takes"),
            ("evaluate", {"tree": "t", "labels": ["a"], "inputs": {"labels": "x"}}, "given twice"),
            ("predict", {"tree": "tr_none", "rows": [[1.0]]}, "tr_none"),
            ("cut", {"tree": "tr_none", "k": 2}, "tr_none"),
            ("drift", {"tree": "tr_none", "reference": "/a.npy", "batch": "/b.npy"}, "tr_none"),
            ("picture", {"tree": "tr_none", "px": 5}, "greater than or equal to 200"),
        ):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert sentence in result.content[0].text

    served(service, steps)
