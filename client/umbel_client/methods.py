"""The methods: a function for each, and what it takes.

A method that a newer service has beside these is run by its id: `umbel.run("id", ...)`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from umbel_client._written.methods import OPTIONS, Methods

__all__ = ["GROUPS", "METHODS", "MethodFacts", "Methods", "argument_texts", "documentation"]


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """The names of a method.

    inputs : the roles that it takes. several : the roles that may take a list of inputs.
    sparse : the roles that take sparse matrices. defaults : its parameters with their defaults.
    """

    inputs: tuple[str, ...]
    several: tuple[str, ...]
    sparse: tuple[str, ...]
    defaults: Mapping[str, Any] = field(hash=False)

    @property
    def params(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(self.defaults)


_SPARSE = "Sparse matrices are accepted."


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for family in Methods.__mro__:
        for name, function in vars(family).items():
            if not name.startswith("_") and inspect.isfunction(function):
                yield name.replace("_", "-"), function


def _facts(function: Callable[..., Any]) -> MethodFacts:
    kinds = {name: str(kind) for name, kind in function.__annotations__.items()}
    own = [name for name in kinds if name not in OPTIONS and name != "return"]
    inputs = tuple(name for name in own if kinds[name].startswith(("Input", "Items")))
    arguments = inspect.signature(function).parameters
    texts = argument_texts(inspect.getdoc(function) or "")
    return MethodFacts(
        inputs,
        several=tuple(role for role in inputs if "Sequence" in kinds[role]),
        sparse=tuple(role for role in inputs if texts[role].endswith(_SPARSE)),
        defaults={name: arguments[name].default for name in own if name not in inputs},
    )


def argument_texts(docstring: str) -> dict[str, str]:
    """What a docstring says of each argument, on one line."""
    entries = re.split(r"^(?=[\w, ]+ : )", docstring, flags=re.MULTILINE)
    pairs = [entry.partition(" : ") for entry in entries if " : " in entry]
    return {name.strip(): " ".join(text.split()) for name, _, text in pairs}


METHODS: Mapping[str, MethodFacts] = {name: _facts(function) for name, function in _functions()}
"""What each method takes, as its function has it."""


_FIRST = ("l2h", "hac", "hdbscan", "kmeans", "class-tree", "layers", "mlr")
"""Methods that most users begin with."""

_TITLES: Mapping[str, str] = {
    "logits": "classes, from a classifier's logits",
    "features": "hierarchies of points",
    "partitions": "partitions of points",
    "sphere": "mixtures on the sphere",
    "margins": "clusters with a maximum margin",
    "hyperbolic": "hyperbolic trees",
    "deep": "trees learned with an embedding",
    "clusterings": "trees of given clusterings",
    "classifiers": "classifiers, also into a hierarchy",
    "labelled": "learning from known clusters",
    "tasks": "several tasks at once",
}
"""The families in the order in which they are shown; one that is not here comes last."""


def _groups() -> Mapping[str, tuple[str, ...]]:
    families: dict[str, list[str]] = {family: [] for family in _TITLES}
    for name in METHODS:
        if name not in _FIRST:
            function = getattr(Methods, name.replace("-", "_"))
            families.setdefault(function.__module__.rpartition(".")[2], []).append(name)
    titled = {_TITLES.get(family, family): tuple(names) for family, names in families.items()}
    return {"to begin with": _FIRST, **{title: names for title, names in titled.items() if names}}


GROUPS: Mapping[str, tuple[str, ...]] = _groups()
"""Every method once, by what it is for: those to begin with, then the families."""


def documentation(method: str) -> str:
    """What its function says of a method."""
    return inspect.getdoc(getattr(Methods, method.replace("-", "_"))) or ""
