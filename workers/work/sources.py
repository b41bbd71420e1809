"""Where the inputs of a job are, and how its process reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from models.errors import UsageError, listed, shown
from models.inputs.data import Data, Earlier, Value
from models.registry import method
from models.roles import role_of
from models.tree.tree import Tree
from workers.artifacts import results
from workers.formats.column_roles import Choice, Column, features, is_key_name
from workers.formats.column_roles import of_role as column_of
from workers.formats.facts import DEFAULT, Bounds
from workers.stores.objects.blobs import Link
from workers.work import row_order


class Source(BaseModel):
    """The location of one input.

    kind : "dataset" (`path` in one of `workers.formats`), "inline" (`path` holds JSON, or the
        content of an import), "model", "calibration" or "drift" (`path` is its file), "tree"
        (`files` by name, as in `workers.artifacts.results`) or "job" (also `files`, with its
        `method` and `params`).
        before : for a "job", the inputs by rows of that job and of those that it grew from, oldest
            first; None for a deleted one.
        link : in place of `path`, if the object stays in the store and is read in parts.
    by_rows : whether the method reads it through `Data.rows`.
    hint, n_features : what a dataset was uploaded as, and its declared number of features.
    choice, columns : of a table, the columns that the uploader chose, and all of them with what
        each is used as; the features are read in this order. warnings : what was
        decided about the dataset, and what of it is not used. inspected : whether both are known.
    """

    model_config = ConfigDict(frozen=True)

    role: str
    kind: str
    path: Path | None
    link: Link | None = None
    format: str | None = None
    member: str | None = None
    by_rows: bool = False
    hint: str | None = None
    n_features: int | None = None
    choice: Choice = Choice()
    columns: tuple[Column, ...] = ()
    warnings: tuple[str, ...] = ()
    inspected: bool = True
    files: dict[str, Path] = {}
    method: str = ""
    params: dict[str, Any] = {}
    before: tuple[Source | None, ...] = ()

    @property
    def file(self) -> Path:
        """The local file of a source without a link."""
        assert self.path is not None
        return self.path

    def texts(self, column: str) -> list[str]:
        """A column of its table as texts. Raises UsageError as `catalogue.texts`."""
        from workers.formats import catalogue

        return catalogue.texts(self.format or "", self.file, column, self.bounds, self.member)

    @property
    def bounds(self) -> Bounds:
        """The limits for reading a dataset, with its declared width."""
        return replace(DEFAULT, n_features=self.n_features, csv=self.choice.csv)

    @property
    def n_bytes(self) -> int:
        return self.file.stat().st_size if self.link is None else self.link.size


def looked_at(source: Source) -> Source:
    """The source with the columns of its table, where the job came before the inspection.

    Raises UsageError as `catalogue.table_columns`.
    """
    if source.inspected or source.kind != "dataset" or source.path is None:
        return source
    from workers.formats import catalogue

    format, bounds = source.format or "", source.bounds
    columns, notes = catalogue.table_columns(
        format, source.path, source.member, bounds, source.choice
    )
    of_matrix = role_of(source.role.rpartition(".")[2]).wants == "matrix"
    read = catalogue.reading_notes(
        format, source.path, source.member, bounds, columns if of_matrix else None
    )
    warnings = (*read, *(notes if of_matrix else ()))
    return source.model_copy(update={"columns": columns, "warnings": warnings})


def of_role(sources: Sequence[Source], role: str) -> Source:
    return next(source for source in sources if source.role == role)


def many_of(method_id: str) -> frozenset[str]:
    """The roles for which a method takes several inputs."""
    return frozenset(role for role, slot in method(method_id).inputs.items() if slot.many)


def values_of(
    sources: Sequence[Source],
    but: Collection[str] = (),
    many: frozenset[str] = frozenset(),
    ids: Sequence[str] | None = None,
) -> dict[str, Value]:
    """The values of the sources by role, without the roles `but`, rows in one order by their ids.

    many : roles that may have several sources. ids : of the points of a tree that the rows are of.

    Raises UsageError for another role with several, for a source that cannot be read, and as
    `row_order.in_one_order`.
    """
    values: dict[str, Value] = {}
    several: dict[str, list[Any]] = {}
    for source in sources:
        if source.role in many:
            several.setdefault(source.role, []).append(_value(source))
            continue
        if source.role in values:
            raise UsageError(
                f"Input {source.role!r} is given more than once; it takes one.",
                code="wrong-input",
                role=source.role,
            )
        if source.role not in but:
            values[source.role] = _value(source)
    ided = _ided(sources, values)
    values = row_order.in_one_order(values, ided, ids)
    if len(ided) == 1 and ids is None:
        _note_shuffled(ided[0], sources, values)
    return {**values, **{role: tuple(matrices) for role, matrices in several.items()}}


def _ided(sources: Sequence[Source], values: Collection[str]) -> list[row_order.Ided]:
    """The inputs with a row for each point whose tables have ids, the matrices first; a table that
    is several inputs is one.

    A column of a key's name is one of ids here even where these are not distinct, as is one that is
    called as the ids of another input are.
    """
    found: dict[Path | None, row_order.Ided] = {}
    named = {column_of(source.columns, "id") for source in sources} - {None}
    for source in sorted(sources, key=lambda own: role_of(own.role).column):
        name = column_of(source.columns, "id")
        if name is None:
            # Not `or`: the index that pandas and R write has the name "".
            name = next(
                (
                    own.name
                    for own in source.columns
                    if own.role is None and (own.name in named or is_key_name(own.name))
                ),
                None,
            )
        if name is not None and source.role in values and role_of(source.role).of_points:
            ided = row_order.Ided(source.role, name, partial(source.texts, name))
            found.setdefault(source.path, ided)
    return list(found.values())


def _note_shuffled(
    ided: row_order.Ided, sources: Sequence[Source], values: Mapping[str, Value]
) -> None:
    """Note ids in another order than rows that have none: of another file, or of a tree."""
    own = of_role(sources, ided.role).path
    beside = next(
        (
            "the tree" if source.kind == "tree" else f"input {source.role!r}"
            for source in sources
            if source.path != own
            and (
                source.kind == "tree" or (source.role in values and role_of(source.role).of_points)
            )
        ),
        None,
    )
    value: Any = values[ided.role]
    if beside is not None:
        n_rows = value.shape[0] if hasattr(value, "shape") else len(value)
        row_order.note_shuffled(ided, n_rows, beside)


def reading_warnings(values: Mapping[str, Value]) -> list[str]:
    """What the readers of trees among the values dropped or decided."""
    return [
        sentence
        for value in values.values()
        if isinstance(value, Tree)
        for sentence in value.warnings
    ]


def _value(source: Source) -> Value:
    from workers.formats import catalogue
    from workers.work import remote_rows

    if source.kind == "tree":
        return tree_of(source)
    if source.kind == "job":
        return _earlier(source)
    if source.kind == "inline":
        return catalogue.load("json", source.file, None, source.role)
    format = source.format or ""
    _require_no_list(source)
    if source.link is not None:
        return remote_rows.rows(source.link, format, source.member, source.role)
    if source.by_rows:
        return catalogue.rows(
            format, source.file, source.member, source.role, source.bounds, source.columns
        )
    return catalogue.load(
        format, source.file, source.member, source.role, source.bounds, source.columns
    )


def _require_no_list(source: Source) -> None:
    """Raises UsageError `wrong-shape` for a list of pairs as a square matrix: one column of numbers
    beside two that are left out."""
    own = features(source.columns)
    others = [each.name for each in source.columns if each.role is None or each.role == "id"]
    if not role_of(source.role).square or len(own) != 1 or len(others) < 2:
        return
    raise UsageError(
        f"Input {source.role!r} has a value a row in column {shown(own[0])} beside "
        f"{listed(others)}, as a list of pairs; accepted are a square matrix and, of distances, "
        "the condensed one alone (?columns=), in the order of scipy.spatial.distance.pdist.",
        code="wrong-shape",
        role=source.role,
    )


def _earlier(source: Source) -> Earlier:
    state, model = source.files.get(results.STATE), source.files.get(results.MODEL)
    arrays = {} if state is None else results.load_arrays(state)
    before = [
        None if earlier is None else Data({earlier.role: _value(earlier)})
        for earlier in source.before
    ]
    roles = {earlier.role for earlier in source.before if earlier is not None}
    return Earlier(
        method=source.method,
        params=source.params,
        tree=tree_of(source),
        state=arrays,
        rows={
            role: [None if data is None else data.rows(role) for data in before] for role in roles
        },
        prepared=() if model is None else results.load_prepared(model),
    )


def tree_of(source: Source) -> Tree:
    return results.load_tree(source.files[results.TREE], source.files[results.LEAF_OF_POINT])
