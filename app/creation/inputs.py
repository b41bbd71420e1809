"""The inputs of a request: ids and inline lists by role, checked before the request is accepted.

All functions block (Redis, the store); call them in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from pydantic_core import to_json

from app.http.dependencies import Service, is_id
from app.http.problems import Refused, refused_at
from models.errors import shown
from models.roles import role_of
from models.tree.dialects import text_format
from workers.artifacts.datasets import Dataset
from workers.formats import catalogue, distances
from workers.formats.column_roles import COLUMN_OF, features, of_role
from workers.formats.inline import LongList, shapes_of_list
from workers.formats.table_files import TABULAR

JOBS = frozenset({"base"})

_ENDING = re.compile(r"(?<=.)(\.[A-Za-z]\w{1,10}){1,2}$")
_MOST_LETTERS = 200
"""The letters of a dataset's name that a job takes over."""

_INDICATOR = " Labels as a matrix of rows x labels are a sparse npz (scipy.sparse.save_npz)."


@dataclass
class ResolvedInputs:
    """Inputs that were looked up and checked, by role.

    refs : an id, a list of ids or "inline".
    shapes : as far as they are known; for several datasets, that of the first.
    inline : lists as JSON.
    names : of the datasets that have one, the first of several.
    ided : roles of tables whose rows have ids.
    """

    refs: dict[str, str | list[str]] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    inline: dict[str, bytes] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    ided: set[str] = field(default_factory=set)

    def called(self, *methods: str) -> str | None:
        """A name after what is fitted and how: its dataset's name, without the ending of a file,
        and the methods; None where no dataset has a name. The data themselves go before columns
        beside them, such as labels."""
        ordered = sorted(self.names, key=lambda role: role_of(role).column)
        if not ordered:
            return None
        data = _ENDING.sub("", self.names[ordered[0]])
        return f"{data[:_MOST_LETTERS]}, {' then '.join(methods)}"


def resolve(
    service: Service,
    tenant: str,
    inputs: Mapping[str, str | list[Any] | LongList],
    images: Collection[str] = (),
) -> ResolvedInputs:
    """The inputs, with every id looked up and every inline list checked.

    images : roles that may be images.

    Raises Refused: `unknown-input` for an id that does not exist, `invalid-dataset` (409) for a
    dataset known to be invalid, `wrong-role`, `wrong-shape`, `wrong-input`; and what
    `workers.formats.roles.value` raises for a list, naming the role and the row.
    """
    resolved = ResolvedInputs()
    for role, given in inputs.items():
        value: str | list[Any] | LongList = given
        if isinstance(given, str) and role_of(role).tree and text_format(given) is not None:
            value = [given]
        if isinstance(value, str):
            dataset = _check_reference(service, tenant, role, value, images)
            resolved.refs[role] = value
            _add_dataset(resolved, role, dataset)
        elif ids(value, role):
            datasets = [
                _check_reference(service, tenant, role, dataset_id, images) for dataset_id in value
            ]
            resolved.refs[role] = list(value)
            _add_dataset(resolved, role, datasets[0])
        else:
            resolved.shapes |= _shapes_of_list(role, value)
            resolved.refs[role] = "inline"
            resolved.inline[role] = value.json if isinstance(value, LongList) else to_json(value)
    return resolved


def _add_dataset(resolved: ResolvedInputs, role: str, dataset: Dataset | None) -> None:
    """Note the name of the input, and its shape as far as that of the dataset says it."""
    if dataset is not None and dataset.name and dataset.name.strip():
        resolved.names[role] = dataset.name.strip()
    if dataset is not None and of_role(dataset.columns or (), "id") is not None:
        resolved.ided.add(role)
    if dataset is None or dataset.shape is None or role_of(role).tree:
        return
    if role_of(role).column or role_of(role).table:
        resolved.shapes[role] = dataset.shape[:1]
    elif role == "distances" and (n_points := distances.n_points(dataset.shape)) is not None:
        resolved.shapes[role] = (n_points, n_points)
    elif len(dataset.shape) >= 2:
        resolved.shapes[role] = dataset.shape


def ids(value: str | list[Any] | LongList, role: str) -> TypeGuard[list[str]]:
    """Whether `value` is a list of ids rather than of rows or values."""
    if role_of(role).column or not isinstance(value, list):
        return False
    return bool(value) and all(isinstance(item, str) and is_id(item, "ds") for item in value)


def _shapes_of_list(role: str, value: list[Any] | LongList) -> Mapping[str, tuple[int, ...]]:
    if role in JOBS:
        raise _refused("wrong-input", role, f"Input {role!r} is a job: give its id, `job_...`.")
    return value.checked() if isinstance(value, LongList) else shapes_of_list(role, value)


def _check_reference(
    service: Service, tenant: str, role: str, value: str, images: Collection[str]
) -> Dataset | None:
    """The dataset; None for references to other things."""
    if role_of(role).tree and not is_id(value, "ds"):
        if not is_id(value, "tr") or service.trees.record(tenant, value) is None:
            raise _refused(
                "unknown-input", role, f"Input {role!r}: there is no tree {shown(value)}."
            )
        return None
    if role in JOBS:
        _check_job(service, tenant, role, value)
        return None
    if is_id(value, "tr", "job", "md"):
        raise _refused(
            "wrong-input",
            role,
            f"Input {role!r} takes a dataset (`ds_...`) or an inline list, not {shown(value)}.",
        )
    dataset = service.datasets.get(tenant, value) if is_id(value, "ds") else None
    if dataset is None:
        raise _refused(
            "unknown-input", role, f"Input {role!r}: there is no dataset {shown(value)}."
        )
    _check_dataset(dataset, role, images=role in images)
    return dataset


def _check_job(service: Service, tenant: str, role: str, value: str) -> None:
    """Checks only that the job succeeded; the worker checks what it kept."""
    record = service.ledger.get(tenant, value) if is_id(value, "job") else None
    if record is None or record.kind != "fit":
        raise _refused("unknown-input", role, f"Input {role!r}: there is no job {shown(value)}.")
    if record.status != "succeeded":
        raise _refused(
            "wrong-input",
            role,
            f"Input {role!r}: job {shown(value)} is {record.status}; it must have succeeded.",
        )


def _check_dataset(dataset: Dataset, role: str, *, images: bool) -> None:
    if dataset.status == "invalid":
        why = (dataset.problem or {}).get("detail", "it could not be read")
        detail = f"Input {role!r}: dataset {dataset.id!r} is invalid: {why}"
        raise Refused(
            "invalid-dataset",
            detail,
            errors=[{"detail": detail, "pointer": ["inputs", role]}],
            problem=dataset.problem,
        )
    if dataset.format in catalogue.LABELLED:
        return
    own = role_of(dataset.role or "")
    may_be_table = dataset.status == "inspecting" and dataset.format in TABULAR
    if may_be_table and not (own.table or own.column):
        # Whether the table has a column for the role, the job finds out.
        return
    if dataset.columns:
        _check_table(dataset, role)
        return
    if dataset.role is not None and role_of(dataset.role).table != role_of(role).table:
        raise _refused(
            "wrong-role",
            role,
            f"Dataset {dataset.id!r} was uploaded as {dataset.role}, which cannot be used as "
            f"{role}: upload it again with ?role={role}.",
        )
    if role_of(role).table:
        if dataset.role is None:
            raise _refused(
                "wrong-role",
                role,
                f"Dataset {dataset.id!r} was uploaded without a role; upload it with ?role={role}.",
            )
        return
    if dataset.role is not None and role_of(dataset.role).column != role_of(role).column:
        raise _refused(
            "wrong-role",
            role,
            f"Dataset {dataset.id!r} was uploaded as {dataset.role}, which cannot be used as "
            f"{role}.",
        )
    if dataset.shape is None:
        return
    shape = " x ".join(str(length) for length in dataset.shape) or "a single value"
    if role_of(role).column:
        several = role in ("labels", "hierarchy") and dataset.format in catalogue.SEVERAL
        one = len(dataset.shape) == 1 or (len(dataset.shape) == 2 and dataset.shape[1] == 1)
        # Whether it is an indicator, only its values say.
        indicator = role == "labels" and len(dataset.shape) == 2
        if not one and not several and not indicator:
            raise _refused(
                "wrong-shape",
                role,
                f"Input {role!r} must be a list of values; dataset {dataset.id!r} is {shape}."
                f"{_INDICATOR if role == 'labels' else ''}",
            )
    elif role == "distances" and len(dataset.shape) == 1:
        if distances.n_points(dataset.shape) is None:
            raise _refused(
                "wrong-shape",
                role,
                f"Input {role!r} must be a square matrix, or condensed as "
                "scipy.spatial.distance.squareform takes it, n (n - 1) / 2 values for n points; "
                f"dataset {dataset.id!r} has {shape} values.",
            )
    elif len(dataset.shape) != 2 and not (images and len(dataset.shape) in (3, 4)):
        others = ", pairs of labels" if role == "graph" else ", or images" if images else ""
        raise _refused(
            "wrong-shape",
            role,
            f"Input {role!r} must be a matrix with one row per point{others}; dataset "
            f"{dataset.id!r} has {len(dataset.shape)} dimension(s): {shape}.",
        )


def _check_table(dataset: Dataset, role: str) -> None:
    """A table of named columns is whatever it has a column for."""
    columns, own = dataset.columns or (), COLUMN_OF.get(role)
    if role_of(role).table or (role_of(role).column and len(columns) == 1):
        return
    if dataset.role == role and dataset.status == "ready":
        # The inspection has read it as this role, as labels that are columns of 0 and 1.
        return
    if role_of(role).column:
        lacks = own is not None and of_role(columns, own) is None
        what = f"column that is taken as its {own}s" if lacks else ""
        how = f"choose it with ?{own}_column=" if lacks else ""
    else:
        lacks = role_of(role).wants == "matrix" and not features(columns)
        what, how = "columns of numbers", "choose them with ?columns="
    if lacks:
        there_are = ", ".join(f"{shown(column.name)} ({column.type})" for column in columns[:20])
        raise _refused(
            "wrong-role",
            role,
            f"Input {role!r}: the table {dataset.id!r} has no {what}; {how} when it is uploaded. "
            f"It has {there_are}.",
        )


def _refused(code: str, role: str, detail: str) -> Refused:
    return refused_at(code, detail, "inputs", role)
