"""Where the inputs of a job are, and how its process reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from models.errors import UsageError
from models.inputs.data import Data, Earlier, Value
from models.registry import method
from models.tree.tree import Tree
from workers.artifacts import results
from workers.formats.column_roles import Choice, Column
from workers.formats.facts import DEFAULT, Bounds
from workers.stores.objects.blobs import Link


class Source(BaseModel):
    """The location of one input.

    kind : "dataset" (`path` in one of `workers.formats`), "inline" (`path` holds JSON, or the
        content of an import), "model" or "calibration" (`path` is its file), "tree" (`files` by
        name, as in `workers.artifacts.results`) or "job" (also `files`, with its `method` and
        `params`).
        before : for a "job", the inputs by rows of that job and of those that it grew from, oldest
            first; None for a deleted one.
        link : in place of `path`, if the object stays in the store and is read in parts.
    by_rows : whether the method reads it through `Data.rows`.
    hint, n_features : what a dataset was uploaded as, and its declared number of features.
    choice, columns : of a table, the columns that the uploader chose, and all of them with what
        each is used as; the features are read in this order. warnings : what was
        decided about the dataset, and what of it is not used. unseen : whether no worker has
        inspected the dataset yet, so that its columns are not known.
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
    unseen: bool = False
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


def described(source: Source) -> Source:
    """The source with the columns and warnings of its table, if these are not known yet. Raises
    UsageError as `catalogue.described`."""
    from workers.formats import catalogue

    if not source.unseen or source.path is None:
        return source
    role = source.role.rpartition(".")[2]
    columns, warnings = catalogue.described(
        source.format or "", source.path, source.member, role, source.bounds, source.choice
    )
    found = {"columns": columns, "warnings": (*source.warnings, *warnings), "unseen": False}
    return source.model_copy(update=found)


def of_role(sources: Sequence[Source], role: str) -> Source:
    return next(source for source in sources if source.role == role)


def many_of(method_id: str) -> frozenset[str]:
    """The roles for which a method takes several inputs."""
    return frozenset(role for role, slot in method(method_id).inputs.items() if slot.many)


def values_of(
    sources: Sequence[Source], but: Collection[str] = (), many: frozenset[str] = frozenset()
) -> dict[str, Value]:
    """The values of the sources by role, without the roles `but`.

    many : roles that may have several sources.

    Raises UsageError for another role with several, and for a source that cannot be read.
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
    return {**values, **{role: tuple(matrices) for role, matrices in several.items()}}


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
    if source.link is not None:
        return remote_rows.rows(source.link, format, source.member, source.role)
    if source.by_rows:
        return catalogue.rows(
            format, source.file, source.member, source.role, source.bounds, source.columns
        )
    return catalogue.load(
        format, source.file, source.member, source.role, source.bounds, source.columns
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
