"""The steps of a fit, checked: its inputs are what they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.creation.inputs import ids
from app.creation.step_schemas import StepBody
from app.creation.steps import _refused_role, find_method, step_of
from app.http import near
from app.http.problems import refused_at
from app.resources.jobs.schemas import NewJob
from models.errors import UsageError
from models.method import Input, Method, handed_on
from models.preprocess.pipeline import (
    DOCUMENTS,
    ROLE,
    columns_are_words,
    reads_documents,
)
from workers.model import MethodStep


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
    # The table of a dataset may bring the names of its columns.
    of_table = role == "feature_names" and isinstance(body.inputs.get(ROLE), str)
    if role not in body.inputs and not of_table:
        raise _refused_role(role, f"`name_by` needs the input {role!r}.")
    if role == "feature_names" and ROLE not in body.inputs:
        raise _refused_role(ROLE, f"Nodes are named by terms of the input {ROLE!r}.")


def _check_roles(body: NewJob, method: Method[Any], accepted: Mapping[str, Input]) -> None:
    """Refuse inputs that no step takes."""
    for role in body.inputs:
        if role not in accepted:
            hint = near.meant(role, accepted)
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
