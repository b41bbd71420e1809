"""Checks of the steps of a fit: methods exist, and params, inputs and memory suit them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any, Literal

from pydantic import ValidationError

from app.creation.inputs import ResolvedInputs
from app.http.dependencies import Service
from app.http.problems import Refused, field_errors, place_in, refused_at
from models import registry
from models.errors import UsageError
from models.method import Input, Method, Shapes
from models.preprocess.pipeline import ROLE, leaves_gaps, parsed
from workers.model import MethodStep
from workers.webhooks.addresses import Guard, NotAllowed, parse


def step_of(
    method_id: str, params: Mapping[str, Any], at: tuple[str | int, ...] = ()
) -> MethodStep:
    """An existing method, with valid params and defaults filled in.

    at : the place of the step in the body, for pointers. Raises Refused `unknown-method`,
    `invalid-request` with one entry per wrong parameter, `method-unavailable` where a package that
    the method needs is not installed.
    """
    method = find_method(method_id, at)
    try:
        valid = method.Params.model_validate(params)
    except ValidationError as error:
        names = list(method.Params.model_fields)
        detail, errors = field_errors(
            error.errors(include_url=False),
            method.Params,
            lambda entry: place_in(params, entry["loc"], entry["type"]),
            (*at, "params"),
        )
        accepted = ", ".join(names) or "none"
        raise Refused(
            "invalid-request",
            f"{detail} Method {method_id!r} takes the parameters: {accepted}.",
            errors=errors,
        ) from None
    step = MethodStep(method=method_id, params=valid.model_dump(mode="json"))
    try:
        method.require_packages(step.params)
    except UsageError as error:
        parameter = error.where["parameter"]
        place = ("method",) if parameter == "method" else ("params", parameter)
        raise refused_at(error.code, error.detail, *at, *place) from None
    return step


def find_method(method_id: str, at: tuple[str | int, ...] = ()) -> Method[Any]:
    """The method. Raises Refused `unknown-method` (422), which lists all methods."""
    try:
        return registry.method(method_id)
    except UsageError as error:
        raise refused_at(error.code, error.detail, *at, "method") from None


def image_roles(method_id: str | None) -> frozenset[str]:
    """The roles that a method also takes as images; none for trees that no method made."""
    method = registry.known(method_id or "")
    return frozenset() if method is None else method.image_roles


def _refused_role(role: str, detail: str) -> Refused:
    return refused_at("wrong-input", detail, "inputs", role)


def queue_of(*steps: MethodStep) -> Literal["cpu", "gpu"]:
    """The queue of a job with these steps: that of GPUs if one of them needs a GPU."""
    queues = {find_method(step.method).queue_for(step.params) for step in steps}
    return "gpu" if "gpu" in queues else "cpu"


def check_webhook(service: Service, address: str | None) -> None:
    """Refuse an address that is not public, as far as the address itself shows.

    Raises Refused `invalid-request`.
    """
    if address is None:
        return
    try:
        Guard(service.settings.webhook_allow).check(parse(address))
    except NotAllowed:
        detail = (
            "Webhooks go to public addresses only; networks that are not public are allowed by "
            "the setting UMBEL_WEBHOOK_ALLOW."
        )
        raise Refused(
            "invalid-request",
            f"webhook: {detail}",
            errors=[{"detail": detail, "pointer": ["webhook"]}],
        ) from None


def expected_s(
    steps: Sequence[MethodStep],
    preprocess: Sequence[Mapping[str, Any]],
    inputs: ResolvedInputs,
) -> float | None:
    """The seconds of a processor that a fit is expected to take, by `Method.seconds`; None: it may
    be long.

    A second step has as many rows as the first, and no more columns than that has columns or
    clusters. Not for documents, whose lengths are not known.
    """
    if {"base", "documents"} & inputs.refs.keys():
        return None
    total, shapes = 0.0, _prepared(preprocess, inputs.shapes)
    for step in steps:
        method = find_method(step.method)
        seconds = method.seconds(shapes, step.params)
        if seconds is None:
            return None
        total += seconds
        n_rows, n_columns = max((shape for shape in shapes.values() if len(shape) > 1), key=prod)[
            :2
        ]
        n_columns = max(n_columns, int(step.params.get("n_clusters") or 0))
        shapes = dict.fromkeys(("features", "logits"), (n_rows, n_columns))
    return total


def _prepared(preprocess: Sequence[Mapping[str, Any]], shapes: Shapes) -> Shapes:
    """The shapes of the inputs once the features are prepared."""
    if len(shapes.get(ROLE, ())) != 2:
        return shapes
    n_points, n_features = shapes[ROLE]
    for step in parsed(preprocess):
        n_features = step.n_columns(n_features)
    return {**shapes, ROLE: (n_points, n_features)}


def check_shapes(
    service: Service,
    method_id: str,
    params: Mapping[str, Any],
    preprocess: Sequence[Mapping[str, Any]],
    inputs: ResolvedInputs,
) -> None:
    """Refuse a fit with inputs of other lengths than its data, and one that needs more memory than
    a job has, as far as the shapes are known.

    Raises Refused `wrong-shape`; UsageError `too-large` with the estimate and what to use instead.
    """
    if leaves_gaps(preprocess):
        try:
            registry.require_distances(method_id)
        except UsageError as error:
            raise refused_at("wrong-input", error.detail, "preprocess", 0, "fill") from None
    shapes, room = inputs.shapes, service.settings.job_memory_bytes
    if not preprocess:
        try:
            require_lengths(find_method(method_id).inputs, shapes, inputs.refs)
        except UsageError as error:
            raise refused_at(error.code, error.detail, "inputs", error.where["role"]) from None
    if room is None:
        return
    method = find_method(method_id)
    sizes = _prepared(preprocess, shapes)
    method.check_size(sizes, method.Params.model_validate(params), room)


def require_lengths(inputs: Mapping[str, Input], shapes: Shapes, given: Collection[str]) -> None:
    """Refuse inputs with another number of values than the data have rows or columns.

    inputs : what the method takes. shapes : the known inputs' shapes so far, by role.
    given : all roles.

    Raises UsageError `wrong-shape` with both numbers. Not for a job that goes on from another
    (`base`), whose rows count too, nor for columns where only some are given.
    """
    main = next((role for role in inputs if len(shapes.get(role, ())) >= 2), None)
    if main is None or "base" in given:
        return
    for role, wanted in inputs.items():
        if wanted.one_per == "value" and role in shapes and shapes[role] != shapes[main]:
            raise UsageError(
                f"Input {role!r} has the shape {shapes[role]}, input {main!r} {shapes[main]}; they "
                "must be the same.",
                code="wrong-shape",
                role=role,
            )
        if wanted.one_per is None or len(shapes.get(role, ())) != 1:
            continue
        if wanted.one_per == "column" and "top_classes" in given:
            continue
        expected = shapes[main][0 if wanted.one_per == "row" else 1]
        if shapes[role][0] != expected:
            raise UsageError(
                f"Input {role!r} has {shapes[role][0]} values; {expected} are needed, one for each "
                f"{wanted.one_per} of {main!r}.",
                code="wrong-shape",
                role=role,
            )
