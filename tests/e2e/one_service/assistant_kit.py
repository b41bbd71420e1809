"""`umbel mcp` in its own process, called by the client of the protocol's own SDK."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from anyio.from_thread import start_blocking_portal

from tests.conftest import ROOT
from tests.e2e.conftest import Service

Call: TypeAlias = Callable[..., Awaitable[Any]]
Steps: TypeAlias = Callable[[Any, Call], Awaitable[None]]
Served: TypeAlias = Callable[[Steps], None]


@contextmanager
def serving(service: Service) -> Iterator[Served]:
    """Runs `steps(client, call)` on a server in its own process; `call` gives a tool's answer."""
    import mcp

    parameters = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-c", "from app.cli import main; main()", "mcp", "--url", service.url],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"},
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(mcp.Client(parameters)) as client,
    ):

        async def call(tool: str, **arguments: Any) -> Any:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content[0].text
            return result.structured_content

        yield lambda steps: portal.call(steps, client, call)
