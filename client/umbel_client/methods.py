"""The methods: a function for each, and what it takes.

A method that a newer service has beside these is run by its id: `umbel.run("id", ...)`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from umbel_client._written.methods import OPTIONS, Methods

__all__ = ["METHODS", "MethodFacts", "Methods", "documentation"]


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """The names of a method.

    inputs : the roles that it takes. several : the roles that may take a list of inputs.
    params : the names of its parameters. names_points : whether its input `names` has one for each
    row, as the index of a data frame has.
    """

    inputs: tuple[str, ...]
    several: tuple[str, ...]
    params: tuple[str, ...]
    names_points: bool = False


NAMES_OF_POINTS = "One name per point"
"""How the description of an input `names` begins that has one for each row."""


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for family in Methods.__mro__:
        for name, function in vars(family).items():
            if not name.startswith("_") and inspect.isfunction(function):
                yield name.replace("_", "-"), function


def _facts(function: Callable[..., Any]) -> MethodFacts:
    kinds = {name: str(kind) for name, kind in function.__annotations__.items()}
    own = [name for name in kinds if name not in OPTIONS and name != "return"]
    inputs = tuple(name for name in own if kinds[name].startswith("Input"))
    return MethodFacts(
        inputs,
        tuple(role for role in inputs if "Sequence" in kinds[role]),
        tuple(name for name in own if name not in inputs),
        re.search(
            rf"^names : (optional\. )?{NAMES_OF_POINTS}", inspect.getdoc(function) or "", re.M
        )
        is not None,
    )


METHODS: Mapping[str, MethodFacts] = {name: _facts(function) for name, function in _functions()}
"""What each method takes, as its function has it."""


def documentation(method: str) -> str:
    """What its function says of a method."""
    return inspect.getdoc(getattr(Methods, method.replace("-", "_"))) or ""
