"""Names that tables bring: of the columns of a matrix, and of its rows.

A fit keeps the names of its columns in its model. New rows are then matched by name, so that their
order does not count; a column that is missing, or one more, is refused by its name. Rows without
names of columns are taken in order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from models.clusters.row_weights import ROLE as WEIGHTS
from models.errors import UsageError, listed, shown
from models.inputs.data import Value
from models.inputs.reading import note
from models.method import Method
from models.preprocess.pipeline import ROLE as FEATURES
from models.preprocess.pipeline import parsed
from models.registry import method
from models.roles import role_of
from models.tree.tree import Tree
from workers.artifacts import results
from workers.formats.column_roles import NUMERIC, Column, features, of_role
from workers.work.sources import Source, values_of

Names = Mapping[str, Sequence[Sequence[str]]]
"""The names of the columns of a fit's matrices: by role, one list for each matrix of the role,
empty where it had none."""


def columns_of(sources: Sequence[Source]) -> dict[str, list[list[str]]]:
    """The names of the columns of the matrices among the inputs, as `Names`, of those that are read
    again for new rows."""
    found: dict[str, list[list[str]]] = {}
    for source in sources:
        if _matched(source.role):
            found.setdefault(source.role, []).append(list(features(source.columns)))
    return {role: lists for role, lists in found.items() if any(lists)}


def named_matrices(features: object, names: Names) -> Iterator[tuple[object, Sequence[str] | None]]:
    """Each matrix of features with the names of its columns; None where these do not fit it."""
    lists = names.get(FEATURES, [])
    for number, matrix in enumerate(features if isinstance(features, tuple) else (features,)):
        own = lists[number] if number < len(lists) else []
        fits = matrix is not None and len(own) == getattr(matrix, "shape", (0, 0))[-1]
        yield matrix, own if fits else None


def given_names(
    sources: Sequence[Source],
    values: Mapping[str, Value],
    method_id: str,
    steps: Sequence[Mapping[str, Any]] = (),
) -> dict[str, list[str]]:
    """The names that the inputs `names` and `feature_names` of a fit give to the columns of a
    matrix whose table has none, by its role; none where they are of the columns that `steps` make,
    or are not distinct."""
    found: dict[str, list[str]] = {}
    kept = all(step.keeps_columns for step in parsed(steps))
    plain = [source.role for source in sources if _matched(source.role)]
    named = columns_of(sources)
    for role, of in names_taken(method(method_id)).items():
        matrix = "logits" if role == "names" else "features"
        alone = plain.count(matrix) == 1 and matrix not in named
        own = values.get(role) if of == "column" and alone else None
        names = [str(name) for name in own] if isinstance(own, (list, np.ndarray)) else []
        if names and len(set(names)) == len(names) and (matrix == "logits" or kept):
            found[matrix] = names
    return found


def matched(
    sources: Sequence[Source],
    fitted: Names | None,
    given: Mapping[str, Sequence[str]] | None = None,
) -> list[Source]:
    """The inputs with the columns of their matrices as in the fit; unchanged where it is None.

    given : as of `given_names`; a table with just these columns is matched by them. A note says
    which names were not compared, since the fit or the new rows have none.

    Raises UsageError `wrong-input`, naming the columns that are missing and those that the fit did
    not have.
    """
    if fitted is None:
        return list(sources)
    number: dict[str, int] = {}
    result = []
    for source in sources:
        place = number.get(source.role, 0)
        number[source.role] = place + 1
        lists = fitted.get(source.role, ())
        wanted = lists[place] if place < len(lists) else ()
        own = _names_of_columns(source) if _matched(source.role) else []
        titles = (given or {}).get(source.role, ())
        if own and not wanted and set(own) == set(titles):
            wanted = titles
        if source.columns and wanted:
            source = source.model_copy(update={"columns": _ordered(source, list(wanted))})
        elif own and len(own) > 1:
            had = f"the fit had {listed(titles, 5)}" if titles else "the fit had none"
            note(
                f"The columns of input {source.role!r} have names, {listed(own, 5)}, and {had}: "
                "they are taken in the order in which they stand."
            )
        result.append(source)
    return result


def implied(
    sources: Sequence[Source],
    given: Collection[str],
    taken: Mapping[str, str | None],
    steps: Sequence[Mapping[str, Any]] = (),
    rows: RowIds | None = None,
) -> dict[str, Value]:
    """Inputs that the tables bring and nobody gave: names of rows and of columns.

    given : the roles that have an input. taken : the roles `names` and `feature_names`, as far as
    they are taken, and what has one name each: "row" or "column" of a matrix. steps : how features
    are prepared; their names are kept where their columns are. rows : the ids of the sources, if
    others read them too.
    """
    rows = rows or RowIds(sources)
    found: dict[str, Value] = {}
    matrices = [source for source in sources if source.columns and _matched(source.role)]
    if "top_classes" in given:
        # The columns beside them are places, not classes.
        matrices = [source for source in matrices if source.role != "logits"]
    kept = all(step.keeps_columns for step in parsed(steps))
    for role, of in taken.items():
        if role in given:
            continue
        for source in matrices:
            square, of_features = role_of(source.role).square, source.role == "features"
            if (of == "row" and not square) or of is None or (of_features and not kept):
                continue
            names = _names_of_columns(source)
            if square and len(names) == 1:
                # The column of condensed distances is no point.
                continue
            if square and rows.ids is not None:
                _compare_sides(source.role, rows.ids, names)
            if names:
                found[role] = names
                break
        if of == "row" and role not in found and rows.ids is not None:
            found[role] = rows.ids
    return found


def _compare_sides(role: str, ids: list[str], names: list[str]) -> None:
    """Note that the rows and columns of a square matrix have other names; UsageError where they
    have the same in another order. Ids that count the rows are none."""
    differ = [at for at, (own, name) in enumerate(zip(ids, names, strict=False)) if own != name]
    counted = any(ids == [str(first + at) for at in range(len(ids))] for first in (0, 1))
    if not differ or counted or len(ids) != len(names):
        return
    at = differ[0]
    where = f"row {at} is {shown(ids[at])}, column {at} is {shown(names[at])} (counted from 0)"
    if set(ids) == set(names):
        raise UsageError(
            f"The rows and columns of input {role!r} have the same names in another order: "
            f"{where}. Both must have one order.",
            code="wrong-input",
            role=role,
        )
    note(
        f"The rows and columns of input {role!r} have other names: {where}. The points have the "
        "names of the columns."
    )


def implied_weights(
    sources: Sequence[Source], given: Collection[str], method_id: str
) -> dict[str, Value]:
    """The weights of the rows that the table of a matrix brings and nobody gave, with a note.

    Where the method takes none, a note names the column.

    Raises UsageError as `values_of`.
    """
    found = (
        (source, name)
        for source in sources
        if _by_rows(source.role) and (name := of_role(source.columns, "weight")) is not None
    )
    source, name = next(found, (None, None))
    if source is None or name is None or WEIGHTS in given:
        return {}
    if WEIGHTS not in method(method_id).inputs:
        note(
            f"Column {shown(name)}, the weights of the rows, is not used, so that all rows count "
            f"the same: method {method_id!r} takes no weights."
        )
        return {}
    note(f"Column {shown(name)} is given to the method as the weights of the rows.")
    weights = source.model_copy(update={"role": WEIGHTS, "by_rows": False})
    return values_of([weights])


def _names_of_columns(source: Source) -> list[str]:
    """The names of the columns of its matrix; none for the columns of vectors."""
    vectors = any(own.type == "vector" and own.role == "feature" for own in source.columns)
    return [] if vectors else list(features(source.columns))


def names_taken(used: Method[Any]) -> dict[str, str | None]:
    """What has a name each in the inputs of a method, for `implied`."""
    of = {role: slot.one_per for role, slot in used.inputs.items() if role == "names"}
    return {**of, **{role: "column" for role in used.inputs if role == "feature_names"}}


class RowIds:
    """The ids of the rows of some inputs: of the first with a row for each point whose table has
    them."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    @cached_property
    def ids(self) -> list[str] | None:
        """Read once, when they are needed.

        Ids that are not one for each row are left out with a note; UsageError `missing-value` or
        `wrong-input`, which names the rows, if the uploader chose their column.
        """
        for source in self._sources:
            name = of_role(source.columns, "id")
            if name is not None and source.kind == "dataset" and _by_rows(source.role):
                return _ids_in(source, name)
        return None


def ids_of(sources: Sequence[Source]) -> list[str] | None:
    """As `RowIds.ids`."""
    return RowIds(sources).ids


def ids_of_points(
    sources: Sequence[Source], rows: RowIds, values: Mapping[str, Value], tree: Tree
) -> tuple[list[str] | None, tuple[str, ...]]:
    """The ids of the points of a tree, and a warning where they have none since two would be the
    same: of the rows, behind the points of an earlier job if the tree grew from it.

    values : the inputs by role. Points without an id beside others with one have the names of their
    leaves where these are one each, else their numbers.
    """
    own, n_points = rows.ids, tree.n_points
    base = next((source for source in sources if source.kind == "job"), None)
    shapes = (getattr(value, "shape", None) for role, value in values.items() if _by_rows(role))
    n_rows = next((shape[0] for shape in shapes if shape), n_points)
    n_before = n_points - n_rows
    if base is None or n_before < 1:
        return own, ()
    path = base.files.get(results.IDS)
    earlier = None if path is None else results.load_ids(path).to_pylist()
    if earlier is None and own is None:
        return None, ()
    names = [str(point) for point in range(n_points)]
    if tree.n_leaves == n_points:
        names = [tree.name[leaf] or names[at] for at, leaf in enumerate(tree.leaf_of_point)]
    ids = [*(earlier or names[:n_before]), *(own or names[n_before:])]
    point_of: dict[str, int] = {}
    for point, text in enumerate(ids):
        if point_of.setdefault(text, point) != point:
            return None, (
                f"The points have no ids: {shown(text)} is the id of point {point_of[text]} and of "
                f"point {point} (counted from 0, the earlier job's first).",
            )
    return ids, ()


def _ids_in(source: Source, name: str) -> list[str] | None:
    try:
        ids = source.texts(name)
        _require_distinct(ids, name, source.role)
    except UsageError as error:
        if source.choice.id is not None or error.code not in ("missing-value", "wrong-input"):
            raise
        note(f"The rows have no ids from column {shown(name)}: {error.detail}")
        return None
    return ids


def _require_distinct(ids: Sequence[str], name: str, role: str) -> None:
    row_of: dict[str, int] = {}
    for row, text in enumerate(ids):
        first = row_of.setdefault(text, row)
        if first != row:
            raise UsageError(
                f"Column {shown(name)} of input {role!r} has the id {shown(text)} at row {first} "
                f"and at row {row} (counted from 0); ids must differ.",
                code="wrong-input",
                role=role,
                row=row,
            )


def _matched(role: str) -> bool:
    own = role_of(role.rpartition(".")[2])
    return own.wants == "matrix" and not own.links


def _by_rows(role: str) -> bool:
    own = role_of(role.rpartition(".")[2])
    return own.name in ("features", "items", "logits", "documents", "distances", "similarity")


def _ordered(source: Source, wanted: list[str]) -> tuple[Column, ...]:
    by_name = {column.name: column for column in source.columns}
    missing = [
        name
        for name in wanted
        if name not in by_name or by_name[name].type not in (*NUMERIC, "vector")
    ]
    fitted = set(wanted)
    more = [name for name in features(source.columns) if name not in fitted]
    if missing or more:
        parts = []
        other = [name for name in missing if name in by_name]
        if other:
            parts.append(f"has no numbers in the column(s) {listed(other)}")
        if missing := [name for name in missing if name not in by_name]:
            parts.append(f"lacks the column(s) {listed(missing)}")
        if more:
            parts.append(f"has the column(s) {listed(more)}, which the fit did not have")
        raise UsageError(
            f"Input {source.role!r} {' and '.join(parts)}. Rows are matched by the names of their "
            f"columns; the fit had {listed(wanted, 20)}. Upload the columns alone "
            "(?columns=...), or without names to be taken in order.",
            code="wrong-input",
            role=source.role,
        )
    choice = source.choice
    chosen_otherwise = choice.singles().keys() | (
        fitted.difference(choice.features) if choice.features else set()
    )
    if passed_over := [name for name in wanted if name in chosen_otherwise]:
        note(
            f"Input {source.role!r}: the column(s) {listed(passed_over)} were not chosen as "
            "features, and are read as such all the same, since the fit had them."
        )
    own = tuple(by_name[name].model_copy(update={"role": "feature"}) for name in wanted)
    return own + tuple(column for column in source.columns if column.name not in fitted)
