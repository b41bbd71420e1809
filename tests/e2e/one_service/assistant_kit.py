"""`umbel mcp` in its own process, called by the client of the protocol's own SDK."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from tests.conftest import ROOT
from tests.e2e.conftest import Service

Call = Callable[..., Awaitable[Any]]


def served(service: Service, steps: Callable[[Any, Call], Awaitable[None]]) -> None:
    """Run `steps(client, call)` on a server in its own process; `call` gives a tool's answer."""
    import mcp

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
