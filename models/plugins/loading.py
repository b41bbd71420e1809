"""Methods of other distributions: plug-ins, named by the entry points `umbel.methods`.

An entry point is called as its method and gives a `Method`, its class or an instance. One that
cannot be used is left out, with the problem as a sentence: the service works without it. A plug-in
is imported where a method's module would be (`models.registry`).
"""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from models.method import Input, Method, Paper
from models.parameters import Params
from models.plugins.entry_points import Entry
from models.running import packages

OUTPUTS = ("tree", "model", "logits", "transformation", "pictures", "confusions", "ball")

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_ID = 60
_KINDS = {"title": str, "paper": Paper, "placing": str, "advice": str, "classifies": bool}
_HOOKS = {
    "model": ("_predict", "_classify"),
    "logits": ("_logits",),
    "transformation": ("_transform", "stretches"),
    "pictures": ("pictures",),
    "confusions": ("confusions",),
    "ball": ("ball",),
}
"""By output the hooks of which a method defines one at least."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point and its method; or, where that cannot be used, why."""

    entry: Entry
    method: Method[Any] | None = None
    problem: str | None = None


def refused(entry: Entry, problem: str) -> Plugin:
    """An entry point that is left out; a warning in the log says why."""
    where = f"{entry.distribution} {entry.version}"
    _log.warning("the method %r of %s is left out: %s", entry.name, where, problem)
    return Plugin(entry, problem=problem)


def load(entry: Entry) -> Plugin:
    """Import the method of an entry point, and check what can be checked without a fit."""
    try:
        given = entry.point.load()
        method = given() if inspect.isclass(given) and issubclass(given, Method) else given
        problem = problem_of(method, entry.name)
    except (Exception, SystemExit) as error:
        # Whatever a stranger's module raises. The message may hold paths: it is for the log alone.
        _log.warning("%s cannot be imported", entry.point.value, exc_info=True)
        return refused(entry, f"{entry.point.value} cannot be imported: {type(error).__name__}.")
    return Plugin(entry, method) if problem is None else refused(entry, problem)


def problem_of(method: object, name: str) -> str | None:
    """What of the contract a method called `name` breaks, as a sentence; None if it keeps it.

    Nothing is fitted: `umbel.testing` is the whole contract.
    """
    if not isinstance(method, Method):
        return f"It is no Method but an object of type {type(method).__name__}."
    return next(_problems(method, name), None)


def _problems(method: Method[Any], name: str) -> Iterator[str]:
    yield from _problems_of_names(method, name)
    for attribute, kind in _KINDS.items():
        if not isinstance(getattr(method, attribute, None), kind):
            yield f"Its {attribute!r} is no {kind.__name__}."
    yield from _problems_of_params(method)
    yield from _problems_of_inputs(method)
    yield from _problems_of_outputs(method)
    if method.queue not in ("cpu", "gpu"):
        yield f"Its queue is {method.queue!r}, neither 'cpu' nor 'gpu'."
    needed = {*method.needs, *(each for *_, some in method.values_with_needs() for each in some)}
    if unknown := sorted(needed - packages.OPTIONAL.keys()):
        yield (
            f"It needs {unknown[0]!r}, which is no extra of Umbel: its distribution requires it."
        )


def _problems_of_names(method: Method[Any], name: str) -> Iterator[str]:
    if getattr(method, "id", None) != name:
        yield f"Its id is {getattr(method, 'id', None)!r}, its entry point is called {name!r}."
    for what in ("id", "family"):
        text = getattr(method, what, None)
        if not isinstance(text, str) or not _ID.fullmatch(text) or len(text) > _LONGEST_ID:
            yield (
                f"Its {what} is {text!r}, not words of a-z and 0-9 with hyphens, at most "
                f"{_LONGEST_ID} characters."
            )


def _problems_of_params(method: Method[Any]) -> Iterator[str]:
    params = getattr(method, "Params", None)
    if not inspect.isclass(params) or not issubclass(params, Params):
        yield "Its Params is no subclass of Params."
        return
    try:
        json.dumps(params.model_json_schema(), allow_nan=False)
        for given in ({}, method.example):
            json.dumps(params(**given).model_dump(mode="json"), allow_nan=False)
    except ValidationError as error:
        [first, *_] = error.errors()
        where = ".".join(map(str, first["loc"]))
        yield f"Its Params refuses its defaults or its example: {where}: {first['msg']}."
    except (ValueError, TypeError) as error:
        yield f"Its Params cannot be written as JSON: {error}."


def _problems_of_inputs(method: Method[Any]) -> Iterator[str]:
    inputs = getattr(method, "inputs", None)
    if not isinstance(inputs, Mapping) or not inputs:
        yield "Its inputs are no mapping with a role at least."
        return
    for role, wanted in inputs.items():
        if not isinstance(role, str) or not isinstance(wanted, Input):
            yield f"Its input {role!r} is no Input."
    if unknown := sorted({*method.one_of, *method.some_of} - inputs.keys()):
        yield f"It requires {unknown[0]!r}, which is none of its inputs."


def _problems_of_outputs(method: Method[Any]) -> Iterator[str]:
    outputs = set(method.outputs)
    if "tree" not in outputs or not outputs <= set(OUTPUTS):
        yield f"Its outputs are {list(method.outputs)}, not 'tree' and of {', '.join(OUTPUTS)}."
        return
    for output in sorted(outputs & _HOOKS.keys()):
        hooks = _HOOKS[output]
        if all(getattr(type(method), hook) is getattr(Method, hook) for hook in hooks):
            yield f"It lists {output!r} but defines no {' or '.join(hooks)}."
    if bool(method.placing) != method.predicts:
        yield "It has 'placing' without a model, or a model without 'placing'."
