"""Runs of methods, and comparisons: what the caller wrote becomes the body of a request."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

from umbel_client.core.sending import error_of, json_of, post, sent
from umbel_client.core.steps import Operation, Reply, Request
from umbel_client.core.uploads import Inputs, supplied
from umbel_client.core.waiting import Waiting, awaited, succeeded
from umbel_client.errors import InputError, UnexpectedResponse
from umbel_client.inputs import Converted, File, Stored, converted
from umbel_client.methods import METHODS, MethodFacts
from umbel_client.problems import NotFound

Run: TypeAlias = str | tuple[str, Mapping[str, Any]] | Mapping[str, Any]
"""A run of a comparison: a method's id, the id with params, or `{"method": ..., "params": ...,
"preprocess": [...], "then": ...}`."""

_UNKNOWN_METHOD = {
    "type": "/problems/unknown-method",
    "title": "Unknown method",
    "status": 422,
    "errors": [{"detail": "There is no such method.", "pointer": ["method"]}],
}


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The parts of a job besides the method, its inputs and its parameters; None: left out."""

    preprocess: Sequence[Mapping[str, Any]] | None = None
    then: str | Mapping[str, Any] | None = None
    support: Mapping[str, Any] | None = None
    name_by: str | None = None
    name: str | None = None
    description: str | None = None
    tags: Sequence[str] | None = None
    webhook: str | None = None
    expires_at: str | None = None

    def fields(self) -> dict[str, Any]:
        """Those that were given, as the fields of a request."""
        given = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in given.items() if value is not None}


def facts_of(method: str) -> Operation[MethodFacts]:
    """The roles and parameters of a method; the service is asked for one that this client does not
    know. Raises UnknownMethod where there is no such method.
    """
    known = METHODS.get(method)
    if known is not None:
        return known
    try:
        reply = yield from sent(Request("GET", f"/v1/methods/{quote(method, safe='')}"))
    except (NotFound, UnexpectedResponse) as error:
        near = difflib.get_close_matches(method, METHODS, n=3, cutoff=0.5)
        detail = f"There is no method {method!r}; there are {', '.join(near or METHODS)}."
        raise error_of({**_UNKNOWN_METHOD, "detail": detail}) from error
    entry = json_of(reply, "inputs", "params")
    return MethodFacts(
        inputs=tuple(entry["inputs"]),
        several=tuple(role for role, each in entry["inputs"].items() if each.get("many")),
        params=tuple(entry["params"].get("properties", {})),
    )


def ran(
    method: str,
    values: Mapping[str, Any],
    params: Mapping[str, Any],
    options: RunOptions,
    waiting: Waiting,
) -> Operation[dict[str, Any]]:
    """The job of a run, which has succeeded.

    values : inputs and parameters by name; None: left out, of inputs. params : further parameters.

    Raises InputError before anything is sent, and as `umbel_client.core.waiting.awaited`.
    """
    inputs, body = yield from _described(method, values, params, options)

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        answer = yield from awaited("/v1/jobs", {**body, "inputs": given}, waiting)
        if isinstance(answer, Reply):
            return succeeded(json_of(answer, "id", "status", "result"))
        return answer.job

    return (yield from supplied(inputs, use, waiting.progress, keep=True))


def submitted(
    method: str,
    values: Mapping[str, Any],
    params: Mapping[str, Any],
    options: RunOptions,
    waiting: Waiting,
) -> Operation[dict[str, Any]]:
    """The job of a run as it was accepted. Raises as `ran`, but for the job's own failure."""
    inputs, body = yield from _described(method, values, params, options)

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        reply = yield from sent(post("/v1/jobs", {**body, "inputs": given}))
        return json_of(reply, "id", "status")

    return (yield from supplied(inputs, use, waiting.progress, keep=True))


def compared(
    runs: Sequence[Run],
    values: Mapping[str, Any],
    fields: Mapping[str, Any],
    waiting: Waiting,
) -> Operation[dict[str, Any]]:
    """A comparison with its table.

    values : inputs by role, `labels` and `hierarchy` among them where they are only for metrics.
    fields : seeds, metrics, cut, name, ...; None: left out.

    Raises as `ran`. A run that fails has its problem in the table.
    """
    described = [_run_of(run) for run in runs]
    every: dict[str, MethodFacts] = {}
    for run in described:
        every[run["method"]] = yield from facts_of(run["method"])
    several = {role for facts in every.values() for role in facts.several}
    taken = {role for facts in every.values() for role in facts.inputs}
    inputs = _converted(values, several)
    body = {name: value for name, value in fields.items() if value is not None}

    def use(given: dict[str, Any]) -> Operation[dict[str, Any]]:
        roles = [role for role in ("labels", "hierarchy") if role in given]
        truths: dict[str, Any] = {role: given.pop(role) for role in roles}
        # A method that takes labels gets them as an input, too.
        shared = {role: value for role, value in truths.items() if role in taken}
        whole: dict[str, Any] = {**body, **truths, "runs": described}
        whole["inputs"] = {**given, **shared}
        answer = yield from awaited("/v1/comparisons", whole, waiting)
        if isinstance(answer, Reply):
            return json_of(answer, "id", "status", "table")
        reply = yield from sent(Request("GET", f"/v1/comparisons/{answer.accepted['id']}"))
        return json_of(reply, "id", "status", "table")

    return (yield from supplied(inputs, use, waiting.progress, keep=True))


def _described(
    method: str, values: Mapping[str, Any], params: Mapping[str, Any], options: RunOptions
) -> Operation[tuple[Inputs, dict[str, Any]]]:
    """The inputs of a run, and the body of its request without them."""
    facts = yield from facts_of(method)
    own = {role: value for role, value in values.items() if role in facts.inputs}
    # Further inputs are for `then` and `name_by`.
    own |= {
        role: value
        for role, value in values.items()
        if role in _ROLES and role not in facts.params and role not in own
    }
    further = {name: value for name, value in values.items() if name not in own}
    _refuse_misnamed(method, facts, further)
    doubled = sorted(further.keys() & params.keys())
    if doubled:
        raise InputError(doubled[0], "it is given by itself and in `params`; give it once.")
    inputs = _converted(own, set(facts.several))
    every = dict(further)
    every.update(params)
    body = {
        "method": method,
        "params": {name: plain(name, value) for name, value in every.items()},
        **options.fields(),
    }
    return inputs, body


def _refuse_misnamed(method: str, facts: MethodFacts, params: Mapping[str, Any]) -> None:
    """Raise InputError for data under a name that is neither an input nor a parameter."""
    for name, value in params.items():
        is_data = getattr(value, "ndim", 0) > 0 or isinstance(value, (Stored, File, os.PathLike))
        if name not in facts.params and is_data:
            raise InputError(
                name,
                f"method {method!r} has no such input; its inputs are {', '.join(facts.inputs)}; "
                f"its parameters are {', '.join(facts.params)}.",
            )


_ROLES = frozenset(role for facts in METHODS.values() for role in facts.inputs)


def _converted(values: Mapping[str, Any], several: set[str]) -> Inputs:
    return {
        role: converted(role, value, many=role in several)
        for role, value in values.items()
        if value is not None
    }


def converted_inputs(values: Mapping[str, Any]) -> dict[str, Converted | list[Converted]]:
    """Inputs by role in the form in which they travel; those that are None are left out.

    Raises InputError.
    """
    return dict(_converted(values, set()))


def plain(name: str, value: Any) -> Any:
    """A parameter as JSON has it. Raises InputError for what is none."""
    if value is None or (
        isinstance(value, (str, bool, int, float)) and type(value).__module__ != "numpy"
    ):
        return value
    if hasattr(value, "tolist"):
        return plain(name, value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(name, item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(name, item) for item in value]
    raise InputError(
        name,
        f"a value of type {type(value).__name__} is no parameter, and there is no such input.",
    )


def _run_of(run: Run) -> dict[str, Any]:
    if isinstance(run, str):
        return {"method": run}
    if isinstance(run, Mapping):
        if not isinstance(run.get("method"), str):
            raise InputError("runs", f"a run needs the id of its `method`: {dict(run)!r}.")
        return {name: plain(name, value) for name, value in run.items()}
    if isinstance(run, tuple) and len(run) == 2 and isinstance(run[0], str):
        return {"method": run[0], "params": plain("runs", dict(run[1]))}
    raise InputError(
        "runs", f"a run is a method's id, (id, params) or a dict with 'method', not {run!r}."
    )
