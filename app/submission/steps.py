"""The steps of a fit: that the methods exist, and that params, inputs and memory suit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import ValidationError

from app.http.dependencies import Service
from app.http.problems import Refused, field_errors
from app.schemas.jobs import NewJob, StepBody
from app.submission.inputs import ids
from models.errors import UsageError
from models.method import Input, Method, Shapes
from models.preprocess.pipeline import (
    DOCUMENTS,
    ROLE,
    columns_are_words,
    parsed,
    reads_documents,
)
from models.registry import method
from workers.model import Step
from workers.webhooks.addresses import Guard, NotAllowed, parse


def step_of(method_id: str, params: Mapping[str, Any], at: tuple[str | int, ...] = ()) -> Step:
    """A method that exists, with params that it takes and defaults filled in.

    at : where the step stands in the body, for pointers. Raises Refused `unknown-method`,
    `invalid-request` with one entry per wrong parameter.
    """
    found = find_method(method_id, at)
    try:
        checked = found.Params.model_validate(params)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False, include_input=False)
        detail, errors = field_errors(list(wrong), (*at, "params"))
        accepted = ", ".join(found.Params.model_fields) or "none"
        raise Refused(
            "invalid-request",
            f"{detail} Method {method_id!r} takes the parameters: {accepted}.",
            errors=errors,
        ) from None
    return Step(method=method_id, params=checked.model_dump(mode="json"))


def find_method(method_id: str, at: tuple[str | int, ...] = ()) -> Method[Any]:
    """The method; Refused `unknown-method` (422) naming all of them."""
    try:
        return method(method_id)
    except UsageError as error:
        raise Refused(
            error.code, error.detail, errors=[{"detail": error.detail, "pointer": [*at, "method"]}]
        ) from None


def check_steps(body: NewJob) -> tuple[Step, Step | None]:
    """The job's one or two steps, and that its inputs are what they take. Raises Refused."""
    first = step_of(body.method, body.params)
    used = find_method(body.method)
    then = None
    taken, given = dict(used.inputs), set(body.inputs)
    steps = [one.model_dump() for one in body.preprocess]
    if reads_documents(steps) and DOCUMENTS in given and ROLE in taken and DOCUMENTS not in taken:
        taken[DOCUMENTS] = taken.pop(ROLE)
        given = given - {DOCUMENTS} | {ROLE}
    if body.then is not None:
        asked = body.then if isinstance(body.then, StepBody) else StepBody(method=body.then)
        then = step_of(asked.method, asked.params, ("then",))
        after = find_method(asked.method, ("then",))
        if "logits" not in used.outputs or "logits" not in after.inputs:
            which = used.id if "logits" not in used.outputs else after.id
            word = "gives" if which == used.id else "takes"
            detail = f"`then` runs on logits, and method {which!r} {word} none."
            raise Refused("wrong-input", detail, errors=[{"detail": detail, "pointer": ["then"]}])
        taken.update({role: wanted for role, wanted in after.inputs.items() if role == "names"})
    if body.name_by is not None:
        worded = body.name_by == "feature_names" and DOCUMENTS in body.inputs
        worded = worded and columns_are_words(steps)
        if body.name_by not in body.inputs and not worded:
            _refuse_role(body.name_by, f"`name_by` needs the input {body.name_by!r}.")
        if body.name_by == "feature_names" and ROLE not in body.inputs and not worded:
            _refuse_role(ROLE, f"Nodes are named by terms of the input {ROLE!r}.")
        if not worded:
            taken.setdefault(body.name_by, Input())
    for role in body.inputs:
        if role not in taken:
            hint = ""
            if role == DOCUMENTS and ROLE in taken:
                hint = " Documents become features where `preprocess` begins with the step 'words'."
            _refuse_role(role, f"Method {used.id!r} takes no input {role!r}; it takes "
                         f"{', '.join(sorted(taken))}.{hint}")  # fmt: skip
    try:
        used.check_choice(given)
    except UsageError as error:
        _refuse_role(error.where["role"], error.detail)
    if body.preprocess and ROLE not in given:
        detail = (
            f"`preprocess` prepares the input {ROLE!r}, which is not given; where 'words' comes "
            f"first it makes it of {DOCUMENTS!r}."
        )
        raise Refused("wrong-input", detail, errors=[{"detail": detail, "pointer": ["preprocess"]}])
    for role, value in body.inputs.items():
        if ids(value, role) and not taken[role].many:
            _refuse_role(role, f"Input {role!r} takes one dataset, not a list of them.")
    for role, wanted in taken.items():
        if wanted.required and role not in body.inputs:
            _refuse_role(role, f"Method {used.id!r} needs the input {role!r}.")
    return first, then


def queue_of(*steps: Step) -> Literal["cpu", "gpu"]:
    """The queue of a job of these steps: that of GPUs if one of them wants a GPU."""
    queues = {find_method(step.method).queue_for(step.params) for step in steps}
    return "gpu" if "gpu" in queues else "cpu"


def check_webhook(service: Service, address: str | None) -> None:
    """Refuse an address that is not public, as far as it tells without being looked up.

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


def check_size(
    service: Service,
    method_id: str,
    params: Mapping[str, Any],
    preprocess: Sequence[Mapping[str, Any]],
    shapes: Shapes,
) -> None:
    """Refuse a fit that a job's memory will not do for, as far as the shapes tell by now.

    Raises UsageError `too-large` with the estimate and what to use instead.
    """
    room = service.settings.job_memory_bytes
    if room is None:
        return
    used, sizes = find_method(method_id), dict(shapes)
    if len(sizes.get(ROLE, ())) == 2:
        n_points, n_features = sizes[ROLE]
        for one in parsed(preprocess):
            n_features = one.n_columns(n_features)
        sizes[ROLE] = (n_points, n_features)
    used.check_size(sizes, used.Params.model_validate(params), room)


def _refuse_role(role: str, detail: str) -> None:
    raise Refused("wrong-input", detail, errors=[{"detail": detail, "pointer": ["inputs", role]}])
