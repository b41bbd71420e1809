"""Tools for assistants, by the Model Context Protocol over standard input and output: `umbel mcp`.

`server` gives the server of the official SDK with a tool for each step: `methods`, `upload`, `run`,
`tree`, `cut`, `confusions`, `evaluate`. Each is one call of the client. An input is a path on this
machine (`x.npz:member` for one array of several), an id of the service, or a list of values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from umbel_client.client import Umbel
from umbel_client.commands.values import input_of
from umbel_client.errors import InputError, UmbelError
from umbel_client.methods import METHODS, documentation
from umbel_client.version import VERSION

Value: TypeAlias = str | list[Any]
Form: TypeAlias = Literal["nwk", "nex", "json"]

P = ParamSpec("P")
R = TypeVar("R")

_TRUTHS = frozenset({"labels", "features", "distances", "similarity", "hierarchy"})

_INSTRUCTIONS = """\
Umbel turns data into hierarchies. `methods` lists what can be run and, for one method, its inputs \
and parameters; `run` runs one on files and answers with the id of a tree; `cut`, `confusions`, \
`evaluate` and `tree` read that tree. `upload` is for data that several runs use."""


def server(umbel: Umbel) -> MCPServer:
    """The tools on one service; `.run()` serves them on standard input and output."""
    tools = MCPServer("umbel", title="Umbel", instructions=_INSTRUCTIONS, version=VERSION)
    for tool in _Tools(umbel).all():
        tools.add_tool(_telling(tool))
    return tools


class _Tools:
    def __init__(self, umbel: Umbel) -> None:
        self._umbel = umbel

    def all(self) -> tuple[Callable[..., dict[str, Any]], ...]:
        return (
            self.methods,
            self.upload,
            self.run,
            self.tree,
            self.cut,
            self.confusions,
            self.evaluate,
        )

    def methods(self, method: str | None = None) -> dict[str, Any]:
        """The methods that can be run, or what one of them takes: its inputs and parameters."""
        if method is None:
            return {name: documentation(name).partition("\n")[0] for name in METHODS}
        if method not in METHODS:
            raise InputError("method", f"there is no {method!r}; there are {', '.join(METHODS)}.")
        facts = METHODS[method]
        return {
            "inputs": list(facts.inputs),
            "params": list(facts.params),
            "documentation": documentation(method),
        }

    def upload(
        self, content: Value, role: str = "features", name: str | None = None
    ) -> dict[str, Any]:
        """Upload a file, or a list of rows or values, once for several runs; answers with its id.

        role: what it is to be: features, logits, labels, names, documents, distances, ....
        """
        given = _input(role, content)
        dataset = self._umbel.upload(given, role, name=name, progress=False)
        return {"dataset": dataset.id}

    def run(
        self,
        method: str,
        inputs: dict[str, Value],
        params: dict[str, Any] | None = None,
        preprocess: list[dict[str, Any]] | None = None,
        then: str | None = None,
        name: str | None = None,
        wait_s: float | None = None,
    ) -> dict[str, Any]:
        """Run a method on inputs by role, wait for its end, and answer with the tree.

        preprocess: steps such as {"step": "standardize"}. then: a second method on the logits of
        the first. wait_s: the most seconds to wait; the job goes on after them.
        """
        given = {role: _input(role, value) for role, value in inputs.items()}
        tree = self._umbel.run(
            method,
            preprocess=preprocess,
            then=then,
            name=name,
            wait_s=wait_s,
            progress=False,
            params=params,
            **given,
        )
        return {
            "tree": tree.id,
            "job": tree.job,
            "n_points": tree.n_points,
            "n_leaves": tree.n_leaves,
            "metrics": dict(tree.metrics),
            "warnings": list(tree.warnings),
            "page": tree.url,
        }

    def tree(self, tree: str, form: Form = "nwk") -> dict[str, Any]:
        """A tree as text: Newick, Nexus, or JSON with the height and size of every node."""
        found = self._umbel.tree(tree)
        return {
            "tree": found.id,
            "n_points": found.n_points,
            "n_leaves": found.n_leaves,
            "text": found.content(f".{form}").decode(),
        }

    def cut(
        self,
        tree: str,
        k: int | None = None,
        height: float | None = None,
        level: int | None = None,
        limit: int = 50,
    ) -> dict[str, Any]:
        """The clusters of a cut with their names and sizes, the largest first.

        One of k (how many clusters), height and level (edges below the root); without any, the
        cuts that mean something.
        """
        found = self._umbel.tree(tree)
        if k is height is level is None:
            return {"levels": [asdict(each) for each in found.levels()]}
        return asdict(found.cut(k, height=height, level=level, limit=limit))

    def confusions(self, tree: str, labels: Value | None = None, limit: int = 20) -> dict[str, Any]:
        """Which classes are taken for which, the largest pairs first: against labels, one for each
        row, or, of l2h, from the logits alone.
        """
        given = None if labels is None else _input("labels", labels)
        confusions = self._umbel.tree(tree).confusions(given, limit=limit)
        return {
            "source": confusions.source,
            "pairs": list(confusions),
            "warnings": confusions.warnings,
        }

    def evaluate(
        self,
        tree: str,
        inputs: dict[str, Value],
        metrics: list[str] | None = None,
        k: int | None = None,
    ) -> dict[str, Any]:
        """The metrics of a tree against what is given by role: labels, one for each row; hierarchy,
        another tree or class paths; features; distances; similarity.

        k: how many clusters flat metrics look at.
        """
        if unknown := sorted(set(inputs) - _TRUTHS):
            raise InputError(unknown[0], f"an evaluation takes {', '.join(sorted(_TRUTHS))}.")
        given = {role: _input(role, value) for role, value in inputs.items()}
        cut = None if k is None else {"k": k}
        evaluation = self._umbel.tree(tree).evaluate(metrics=metrics, cut=cut, **given)
        return {
            "metrics": dict(evaluation),
            "standard_errors": evaluation.standard_errors,
            "cut": evaluation.cut,
            "warnings": list(evaluation.warnings),
        }


def _telling(tool: Callable[P, R]) -> Callable[P, R]:
    """The tool with the client's exceptions as errors whose sentence the assistant reads."""

    @wraps(tool)
    def reported(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return tool(*args, **kwargs)
        except UmbelError as error:
            raise ToolError(str(error)) from error

    return reported


def _input(role: str, value: Value) -> Any:
    return input_of(role, value) if isinstance(value, str) else value
