"""An empty cell of a table that a method or a metric cannot use: it knows its place in the matrix,
the table the name of its column."""

from __future__ import annotations

from collections.abc import Sequence

from models.errors import EmptyValue, UsageError
from models.inputs.data import FILLED_BY
from workers.artifacts import results
from workers.formats.column_roles import features
from workers.formats.refusals import missing
from workers.formats.table_files import TABULAR
from workers.work.named_columns import matched
from workers.work.sources import Source


def of_table(error: EmptyValue, sources: Sequence[Source]) -> UsageError:
    """The error `missing-value` of the cell, with the name of its column if that is known; the
    given one for an array, or several inputs of the role."""
    sample, role = error.where.get("sample"), str(error.where["role"])
    own = role if sample is None else f"{sample}.{role}"
    inputs = [source for source in _as_read(sources) if source.role == own]
    if len(inputs) != 1 or not (inputs[0].kind == "inline" or inputs[0].format in TABULAR):
        return error
    row, column = int(error.where["row"]), int(error.where["column"])
    names = features(inputs[0].columns)
    # The only column of a table may hold vectors.
    name = names[column] if 1 < len(names) > column else None
    found = missing(row, column, role=role, name=name)
    before = "" if sample is None else f"In the {sample}: "
    return UsageError(f"{before}{found.detail} {FILLED_BY}", code=found.code, **error.where)


def _as_read(sources: Sequence[Source]) -> Sequence[Source]:
    """The inputs with the columns of new rows in the order of the fit."""
    for source in sources:
        path = source.file if source.kind == "model" else source.files.get(results.MODEL)
        if path is not None:
            plain = [each.model_copy(update={"role": each.role}) for each in sources]
            return matched(plain, results.load_model(path).columns)
    return sources
