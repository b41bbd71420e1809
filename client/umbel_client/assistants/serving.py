"""The server of tools and resources."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedToolError,
)
from mcp.types import ToolAnnotations
from pydantic import ValidationError

from umbel_client.assistants.judging import Judging
from umbel_client.assistants.reading import Reading
from umbel_client.assistants.running import Running
from umbel_client.assistants.waiting import called
from umbel_client.client import Umbel
from umbel_client.errors import UmbelError
from umbel_client.problems import NotFound
from umbel_client.quoting import shown
from umbel_client.version import VERSION

_INSTRUCTIONS = """\
Umbel turns data into hierarchies. `methods` lists what can be run and, for one method, its inputs \
and parameters; `run` runs one on files and answers with the id of a tree, `compare` runs several. \
`levels`, `cut`, `confusions`, `tree` and `picture` read a tree, `name` names its nodes, \
`evaluate` measures it, `predict` places new rows, `calibrate` says how sure that is, `drift` what \
moved. `find` lists what is kept; `upload` is for data that several tools use; `job` says what \
became of work that was not waited for. Labels are always the argument `labels`: the class of each \
row, as a path, an id or a list."""

_READS = {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True}
_MEASURES = {"read_only_hint": False, "destructive_hint": False, "idempotent_hint": True}
"""They leave a job behind and nothing else."""
_MAKES = {"read_only_hint": False, "destructive_hint": False, "idempotent_hint": False}
"""Each call makes one more thing; no tool changes or removes what is there."""

MAX_RESOURCE = 50_000_000
"""Bytes of one resource."""


def server(umbel: Umbel) -> MCPServer:
    """The tools and resources on one service; `.run()` serves them on standard input and output."""
    tools = _Server(
        "umbel",
        title="Umbel",
        instructions=_INSTRUCTIONS,
        version=VERSION,
        log_level="WARNING",
    )
    running, reading, judging = Running(umbel), Reading(umbel), Judging(umbel)
    for tool, title, hints in (
        (running.methods, "Methods and what they take", _READS),
        (running.upload, "Upload data", _MAKES),
        (running.run, "Run a method", _MAKES),
        (running.compare, "Compare methods", _MAKES),
        (running.job, "Where a job stands", _READS),
        (reading.find, "Find trees and datasets", _READS),
        (reading.tree, "A tree as text", _READS),
        (reading.picture, "A picture of a tree", _READS),
        (reading.levels, "Cuts that stand out", _READS),
        (reading.cut, "Clusters of a cut", _READS),
        (reading.confusions, "Confused classes", _MEASURES),
        (judging.evaluate, "Evaluate a tree", _MEASURES),
        (judging.predict, "Place new rows", _MEASURES),
        (judging.calibrate, "Calibrate answers", _MAKES),
        (judging.drift, "What moved", _MAKES),
        (judging.name, "Name the nodes", _MAKES),
    ):
        # Names by a language model leave the service, if its operator has set one.
        outside = tool == judging.name
        tools.add_tool(
            called(umbel, tool, ToolError),
            title=title,
            annotations=ToolAnnotations(title=title, open_world_hint=outside, **hints),
        )
    tools.close_arguments()
    for form, media_type, what, read in (
        ("newick", "text/plain", "as Newick, names and lengths in it", _form(umbel, ".nwk")),
        ("json", "application/json", "as JSON, every node with its height", _form(umbel, ".json")),
        ("svg", "image/svg+xml", "as a picture", _form(umbel, ".svg")),
        ("leaves", "text/plain", "as the names of its leaves in order, one a line", _leaves(umbel)),
        ("levels", "application/json", "as its cuts that stand out", _levels(reading)),
    ):
        template = tools.resource(
            f"umbel://{{tree}}/{form}",
            name=f"tree as {form}",
            description=f"A tree that the service keeps, whole, {what}.",
            mime_type=media_type,
        )
        template(_resource(read))
    return tools


class _Server(MCPServer):  # type: ignore[misc]
    """The official server, whose errors are sentences that say what is accepted."""

    def close_arguments(self) -> None:
        """Say in the schemas of inputs that there are no further arguments."""
        for tool in self._tool_manager.list_tools():
            tool.parameters["additionalProperties"] = False

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context | None = None
    ) -> Any:
        """Raises ToolError for what is wrong with the call, in words."""
        tools = {tool.name: tool for tool in self._tool_manager.list_tools()}
        if name not in tools:
            raise ToolError(f"There is no tool {shown(name)}; there are {', '.join(tools)}.")
        fields = tools[name].parameters["properties"]
        for argument in arguments:
            if argument not in fields:
                raise ToolError(
                    f"{name} has no argument {shown(argument)}; it takes {', '.join(fields)}."
                )
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            raise UnexpectedToolError(
                f"{name} failed for a reason that is no fault of the call; what `umbel mcp` wrote "
                "to standard error has it."
            ) from error.__cause__
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_in_words(error.__cause__, fields)) from error.__cause__
            raise ToolError(str(error.__cause__ or error)) from error.__cause__


def _in_words(error: ValidationError, fields: dict[str, Any]) -> str:
    """What is wrong with which argument, and what it is."""
    wrong: dict[str, list[str]] = {}
    for each in error.errors(include_url=False, include_context=False):
        argument = str(each["loc"][0]) if each["loc"] else "the arguments"
        sentence = each["msg"][:1].lower() + each["msg"][1:]
        known = wrong.setdefault(argument, [])
        if sentence not in known:
            known.append(sentence)
    lines = []
    for argument, sentences in wrong.items():
        meaning = fields.get(argument, {}).get("description")
        lines.append(
            f"{argument}: {', or '.join(sentences[:4])}."
            + (f" It is: {meaning}." if meaning else "")
        )
    return "\n".join(lines)


def _form(umbel: Umbel, suffix: str) -> Callable[[str], str]:
    return lambda tree: umbel.tree(tree).content(suffix).decode()


def _leaves(umbel: Umbel) -> Callable[[str], str]:
    def names(tree: str) -> str:
        nodes = umbel.tree(tree).nodes()
        inner = {node["parent"] for node in nodes}
        leaves = (node for node in nodes if node["id"] not in inner)
        # A name that holds a line break is one line here all the same.
        return "\n".join(" ".join(str(leaf["name"] or leaf["id"]).split()) for leaf in leaves)

    return names


def _levels(reading: Reading) -> Callable[[str], str]:
    return lambda tree: json.dumps(reading.levels(tree))


def _resource(read: Callable[[str], str]) -> Callable[[str], str]:
    def whole(tree: str) -> str:
        if not tree.startswith(("tr_", "@")):
            raise ResourceNotFoundError(f"{shown(tree)} is no tree: tr_... or @alias.")
        try:
            content = read(tree)
        except NotFound as error:
            raise ResourceNotFoundError(str(error)) from error
        except UmbelError as error:
            raise ResourceError(str(error)) from error
        if len(content) > MAX_RESOURCE:
            raise ResourceError(
                f"It has {len(content):,} characters and {MAX_RESOURCE:,} are taken; `cut`, "
                "`levels` and `picture` show what stands out."
            )
        return content

    return whole
