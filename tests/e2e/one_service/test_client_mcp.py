"""`umbel mcp` over standard input and output, called by the client of the protocol's own SDK."""

from __future__ import annotations

import asyncio
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
            *("methods", "upload", "run", "tree", "cut", "confusions", "evaluate")
        }
        assert all(tool.description for tool in tools.values())
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
        metrics = (await call("evaluate", tree=tree, inputs={"labels": labels}))["metrics"]
        assert 0 < metrics["dendrogram_purity"] <= 1

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
        ):
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            assert sentence in result.content[0].text

    served(service, steps)
