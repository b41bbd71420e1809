"""A cell or column of a table that a method or a metric cannot use: it knows the place in the
matrix, the table the name of the column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from models.errors import EmptyValue, UsageError, shown
from models.inputs.data import FILLED_BY
from models.preprocess.pipeline import ROLE, parsed
from workers.artifacts import results
from workers.formats.column_roles import features
from workers.formats.refusals import missing
from workers.formats.table_files import TABULAR
from workers.work.named_columns import matched
from workers.work.sources import Source


def of_table(error: EmptyValue, sources: Sequence[Source]) -> UsageError:
    """The error `missing-value` of the cell, with the name of its column if that is known; the
    given one for an array, or several inputs of the role."""
    if not _own(error, sources):
        return error
    sample, role = error.where.get("sample"), str(error.where["role"])
    name = _name(error, sources)
    found = missing(int(error.where["row"]), int(error.where["column"]), role=role, name=name)
    before = "" if sample is None else f"In the {sample}: "
    return UsageError(f"{before}{found.detail} {FILLED_BY}", code=found.code, **error.where)


def with_column_name(
    error: UsageError, sources: Sequence[Source], preprocess: Sequence[Mapping[str, Any]]
) -> UsageError:
    """The error of a column of features, with the name that the table has for it; the given one
    where that is unknown, or there already.

    preprocess : steps after which columns may be others.
    """
    if error.where.get("role") != ROLE or not isinstance(error.where.get("column"), int):
        return error
    if not all(step.keeps_columns for step in parsed(preprocess)) or not _own(error, sources):
        return error
    name = _name(error, sources)
    if name is None or name in error.detail:
        return error
    called = f"Column {error.where['column']} is {shown(name)}."
    return type(error)(f"{error.detail} {called}", code=error.code, **error.where)


def _own(error: UsageError, sources: Sequence[Source]) -> list[Source]:
    """The one table of the error's role; empty for an array, or several inputs of the role."""
    sample, role = error.where.get("sample"), str(error.where["role"])
    own = role if sample is None else f"{sample}.{role}"
    inputs = [source for source in _as_read(sources) if source.role == own]
    if len(inputs) != 1 or not (inputs[0].kind == "inline" or inputs[0].format in TABULAR):
        return []
    return inputs


def _name(error: UsageError, sources: Sequence[Source]) -> str | None:
    column = int(error.where["column"])
    names = features(_own(error, sources)[0].columns)
    # The only column of a table may hold vectors.
    return names[column] if 1 < len(names) > column else None


def _as_read(sources: Sequence[Source]) -> Sequence[Source]:
    """The inputs with the columns of new rows in the order of the fit."""
    for source in sources:
        path = source.file if source.kind == "model" else source.files.get(results.MODEL)
        if path is not None:
            plain = [each.model_copy(update={"role": each.role}) for each in sources]
            model = results.load_model(path)
            return matched(plain, model.columns, model.given_names)
    return sources
