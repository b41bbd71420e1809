"""The bodies of requests: what the caller wrote as JSON has it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from umbel_client.errors import InputError
from umbel_client.inputs import File, Inputs, Stored, converted_inputs
from umbel_client.methods import METHODS, MethodFacts
from umbel_client.quoting import shown, written

Run: TypeAlias = str | tuple[str, Mapping[str, Any]] | Mapping[str, Any]
"""A run of a comparison: a method's id, the id with params, or `{"method": ..., "params": ...,
"preprocess": [...], "then": ...}`."""

ROLES = frozenset(role for facts in METHODS.values() for role in facts.inputs)


_NEW_COLUMNS = ("fft", "pca", "svd", "words")
"""Steps whose columns are others than they were given."""


def body_of(fields: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request; a field that is None is left out.

    given : inputs by where they belong: `labels`, `inputs.features`, `batch.inputs.features`.
    """
    body = {name: plain(name, value) for name, value in fields.items() if value is not None}
    for place, value in given.items():
        *outer, role = place.split(".")
        within = body
        for name in outer:
            within = within.setdefault(name, {})
        within[role] = value
    return body


def run_of(
    method: str,
    facts: MethodFacts,
    values: Mapping[str, Any],
    params: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[Inputs, dict[str, Any]]:
    """The inputs of a run, and the fields of its request without them.

    values : inputs and parameters by name; None: left out, of inputs. params : further parameters.
    """
    own = {role: value for role, value in values.items() if role in facts.inputs}
    # Further inputs are for `then` and `name_by`.
    own |= {
        role: value
        for role, value in values.items()
        if role in ROLES and role not in facts.params and role not in own
    }
    further = {name: value for name, value in values.items() if name not in own}
    _refuse_misnamed(method, facts, further)
    doubled = sorted(further.keys() & params.keys())
    if doubled:
        raise InputError(doubled[0], "it is given by itself and in `params`; give it once.")
    inputs = converted_inputs(own, "inputs.", facts.several)
    every = {name: plain(name, value) for name, value in {**further, **params}.items()}
    return inputs, {"method": method, "params": every, **options, "inputs": {}}


def keeps_columns(preprocess: Sequence[Mapping[str, Any]] | None) -> bool:
    """Whether the columns of features are the same after steps that prepare them."""
    return not any(
        isinstance(step, Mapping) and step.get("step") in _NEW_COLUMNS for step in preprocess or ()
    )


def _refuse_misnamed(method: str, facts: MethodFacts, params: Mapping[str, Any]) -> None:
    """Raise InputError for data under a name that is neither an input nor a parameter."""
    for name, value in params.items():
        is_data = getattr(value, "ndim", 0) > 0 or isinstance(value, (Stored, File, os.PathLike))
        if name not in facts.params and is_data:
            raise InputError(
                name,
                f"method {shown(method)} has no such input; its inputs are "
                f"{', '.join(facts.inputs)}; "
                f"its parameters are {', '.join(facts.params)}.",
            )


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


def compared_run(run: Run) -> dict[str, Any]:
    """A run of a comparison as the service takes it. Raises InputError for what is none."""
    if isinstance(run, str):
        return {"method": run}
    if isinstance(run, Mapping):
        if not isinstance(run.get("method"), str):
            raise InputError("runs", f"a run needs the id of its `method`: {written(dict(run))}.")
        return {name: plain(name, value) for name, value in run.items()}
    if isinstance(run, tuple) and len(run) == 2 and isinstance(run[0], str):
        return {"method": run[0], "params": plain("runs", dict(run[1]))}
    raise InputError(
        "runs", f"a run is a method's id, (id, params) or a dict with 'method', not {written(run)}."
    )
