"""Checks of the steps of a fit: methods exist, and params, inputs and memory suit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import ValidationError

from app.http.dependencies import Service
from app.http.problems import Refused, field_errors, place_in, refused_at
from app.schemas.jobs import NewJob
from app.schemas.steps import StepBody
from app.submission.inputs import ResolvedInputs, ids
from models import registry
from models.checks import require_lengths
from models.errors import UsageError
from models.method import Input, Method, handed_on
from models.preprocess.pipeline import (
    DOCUMENTS,
    ROLE,
    columns_are_words,
    parsed,
    reads_documents,
)
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
        wrong = error.errors(include_url=False, include_context=False, include_input=False)
        located = [
            {**entry, "loc": place_in(params, entry["loc"], entry["type"])} for entry in wrong
        ]
        detail, errors = field_errors(located, (*at, "params"))
        accepted = ", ".join(method.Params.model_fields) or "none"
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


def check_steps(body: NewJob) -> tuple[MethodStep, MethodStep | None]:
    """The job's one or two steps; its inputs are what they take. Raises Refused."""
    step = step_of(body.method, body.params)
    method = find_method(body.method)
    preprocess = [part.model_dump() for part in body.preprocess]
    accepted, present = dict(method.inputs), set(body.inputs)
    if (
        reads_documents(preprocess)
        and DOCUMENTS in present
        and ROLE in accepted
        and DOCUMENTS not in accepted
    ):
        accepted[DOCUMENTS] = accepted.pop(ROLE)
        present = present - {DOCUMENTS} | {ROLE}
    then = None
    if body.then is not None:
        then = _second_step(body.then, method)
        names = find_method(then.method).inputs.get("names")
        if names is not None and not method.names_labels:
            accepted["names"] = names
    if body.name_by is not None and not _named_by_words(body, preprocess):
        _check_name_by(body, body.name_by)
        accepted.setdefault(body.name_by, Input())
    _check_roles(body, method, accepted)
    try:
        method.check_choice(present)
    except UsageError as error:
        raise _refused_role(error.where["role"], error.detail) from None
    if body.preprocess and ROLE not in present:
        raise refused_at(
            "wrong-input",
            f"`preprocess` prepares the input {ROLE!r}, which is not given; if it begins with "
            f"'words' it makes it from {DOCUMENTS!r}.",
            "preprocess",
        )
    _check_numbers(body, method, accepted)
    return step, then


def _second_step(then: str | StepBody, first: Method[Any]) -> MethodStep:
    """The step that runs on the logits, or the transformed rows, of the first one."""
    body = then if isinstance(then, StepBody) else StepBody(method=then)
    step = step_of(body.method, body.params, ("then",))
    try:
        handed_on(first, find_method(body.method, ("then",)))
    except UsageError as error:
        raise refused_at(error.code, error.detail, "then") from None
    return step


def _named_by_words(body: NewJob, preprocess: list[dict[str, Any]]) -> bool:
    """Whether the features are named by the words from which `preprocess` makes them."""
    documents = body.name_by == "feature_names" and DOCUMENTS in body.inputs
    return documents and columns_are_words(preprocess)


def _check_name_by(body: NewJob, role: str) -> None:
    if role not in body.inputs:
        raise _refused_role(role, f"`name_by` needs the input {role!r}.")
    if role == "feature_names" and ROLE not in body.inputs:
        raise _refused_role(ROLE, f"Nodes are named by terms of the input {ROLE!r}.")


def _check_roles(body: NewJob, method: Method[Any], accepted: Mapping[str, Input]) -> None:
    """Refuse inputs that no step takes."""
    for role in body.inputs:
        if role not in accepted:
            hint = ""
            if role == DOCUMENTS and ROLE in accepted:
                hint = " Documents become features if `preprocess` begins with the step 'words'."
            roles = ", ".join(sorted(accepted))
            detail = f"Method {method.id!r} takes no input {role!r}; it takes {roles}.{hint}"
            raise _refused_role(role, detail)


def _check_numbers(body: NewJob, method: Method[Any], accepted: Mapping[str, Input]) -> None:
    """Refuse several datasets for a role that takes one, and none for a required one."""
    for role, value in body.inputs.items():
        if ids(value, role) and not accepted[role].many:
            raise _refused_role(role, f"Input {role!r} takes one dataset, not a list of them.")
    for role, taken in accepted.items():
        if taken.required and role not in body.inputs:
            raise _refused_role(role, f"Method {method.id!r} needs the input {role!r}.")


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
    shapes, room = inputs.shapes, service.settings.job_memory_bytes
    if not preprocess:
        try:
            require_lengths(find_method(method_id).inputs, shapes, inputs.refs)
        except UsageError as error:
            raise refused_at(error.code, error.detail, "inputs", error.where["role"]) from None
    if room is None:
        return
    method, sizes = find_method(method_id), dict(shapes)
    if len(sizes.get(ROLE, ())) == 2:
        n_points, n_features = sizes[ROLE]
        for step in parsed(preprocess):
            n_features = step.n_columns(n_features)
        sizes[ROLE] = (n_points, n_features)
    method.check_size(sizes, method.Params.model_validate(params), room)
