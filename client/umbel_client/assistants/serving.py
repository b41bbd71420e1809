"""The server of tools and resources."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import ToolAnnotations

from umbel_client.assistants.judging import Judging
from umbel_client.assistants.reading import Reading
from umbel_client.assistants.running import Running
from umbel_client.client import Umbel
from umbel_client.errors import UmbelError
from umbel_client.version import VERSION

P = ParamSpec("P")
R = TypeVar("R")

_INSTRUCTIONS = """\
Umbel turns data into hierarchies. `methods` lists what can be run and, for one method, its inputs \
and parameters; `run` runs one on files and answers with the id of a tree, `compare` runs several. \
`levels`, `cut`, `confusions`, `tree` and `picture` read a tree, `name` names its nodes, \
`evaluate` measures it, `predict` places new rows, `calibrate` says how sure that is, `drift` what \
moved. \
`find` lists what is kept; `upload` is for data that several tools use."""

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_MAKES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
"""No tool changes or removes what is there."""


def server(umbel: Umbel) -> MCPServer:
    """The tools and resources on one service; `.run()` serves them on standard input and output."""
    tools = MCPServer("umbel", title="Umbel", instructions=_INSTRUCTIONS, version=VERSION)
    running, reading, judging = Running(umbel), Reading(umbel), Judging(umbel)
    for read in (running.methods, reading.find, reading.tree, reading.levels, reading.cut):
        tools.add_tool(_telling(read, ToolError), annotations=_READS)
    for make in (
        *(running.upload, running.run, running.compare, reading.confusions, judging.evaluate),
        *(judging.predict, judging.calibrate, judging.drift, judging.name),
    ):
        tools.add_tool(_telling(make, ToolError), annotations=_MAKES)
    picture = _telling(reading.picture, ToolError)
    tools.add_tool(picture, annotations=_READS, structured_output=False)
    for form, suffix, media_type in (
        ("newick", ".nwk", "text/plain"),
        ("json", ".json", "application/json"),
        ("svg", ".svg", "image/svg+xml"),
    ):
        template = tools.resource(
            f"umbel://{{tree}}/{form}", name=f"tree as {form}", mime_type=media_type
        )
        template(_resource(umbel, suffix))
    return tools


def _resource(umbel: Umbel, suffix: str) -> Callable[[str], str]:
    def read(tree: str) -> str:
        """A tree that the service keeps, whole."""
        return umbel.tree(tree).content(suffix).decode()

    return _telling(read, ResourceError)


def _telling(tool: Callable[P, R], kind: type[Exception]) -> Callable[P, R]:
    """The function with the client's exceptions as errors whose sentence the assistant reads."""

    @wraps(tool)
    def reported(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return tool(*args, **kwargs)
        except UmbelError as error:
            raise kind(str(error)) from error

    return reported
