"""Flat clusterings of the same rows, a level each: from columns of labels, or from cuts of a tree.

Which columns are levels, and in which order: those requested, in that order. Otherwise the columns
whose names differ in one number alone, in its order; without such names, all columns, by their
number of clusters. A row without a label is noise, a bucket that is the last cluster of its level.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Int
from models.errors import UsageError, listed, shown
from models.inputs.items import ItemColumn, ItemTable
from models.tree.cluster_names import cluster_names
from models.tree.cut import cut
from models.tree.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa

ROLE = "items"
NOISE = "noise"
NO_LABEL = frozenset({"", "-1", "-1.0", "na", "<na>", "nan", "null", "none", "noise"})
"""Texts, in lower case, of rows without a label; so is the number -1, and what is missing."""
FEWEST = 2
MOST_CLUSTERS = 1_000_000
"""Over all levels: each is a node of the graph, and of the tree."""
LONGEST_LABEL = 200
_EXACT = float(2**53)
_NUMBER = re.compile(r"((?<![A-Za-z0-9])\d+_\d+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?=\D*$)", re.ASCII)
"""The last number of a name; `0_5` stands for 0.5 where no letter is before it."""
_DIGITS = re.compile(r"(\d+(?:\.\d+)?)", re.ASCII)
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One clustering.

    labels : of its clusters, each with at least one row: numbers in their order, then texts; noise
        is the last one.
    code : (n_rows,) the cluster of each row, 0 .. len(labels) - 1.
    noise : whether the last cluster is the bucket of rows without a label.
    """

    name: str
    labels: list[str]
    code: Int
    noise: bool = False

    @property
    def n_clusters(self) -> int:
        """Without noise."""
        return len(self.labels) - self.noise


def of_table(table: ItemTable, wanted: Sequence[str] | None) -> tuple[list[Level], list[str]]:
    """The levels in a table, the coarsest first, and warnings.

    wanted : the columns that are levels, in order; None: as the rule of this module finds them.

    Raises UsageError `wrong-input` for a column that is not there or holds no labels, `wrong-shape`
    for fewer than two levels, `too-large` for too many clusters. O(n_rows n_columns) and a sort of
    each column's labels.
    """
    warnings: list[str] = []
    columns = _requested(table, wanted) if wanted is not None else _found(table, warnings)
    if len(columns) < FEWEST:
        named = "".join(f": {shown(column.name)}" for column in columns)
        raise UsageError(
            f"Input {ROLE!r} has {len(columns)} column(s) of labels{named}; {FEWEST} or more are "
            "needed, a column for each level.",
            code="wrong-shape",
            role=ROLE,
        )
    levels, total = [], 0
    for column in columns:
        levels.append(_level(column))
        total += len(levels[-1].labels)
        require_few(total)
    if wanted is None:
        levels = _ordered(levels, warnings)
    for level in levels:
        if level.noise:
            n_noise = int((level.code == level.n_clusters).sum())
            warnings.append(
                f"Level {shown(level.name)}: {n_noise:,} row(s) have no label (missing, -1, or a "
                f"text such as NA or {NOISE!r}); they are the cluster {NOISE!r} of that level."
            )
    return levels, warnings


def require_few(n_clusters: int) -> None:
    """Raises UsageError `too-large` for more clusters over all levels than are taken."""
    if n_clusters > MOST_CLUSTERS:
        raise UsageError(
            f"The levels have more than {MOST_CLUSTERS:,} clusters together; name fewer or coarser "
            "columns in 'levels'.",
            code="too-large",
            limit=MOST_CLUSTERS,
        )


def of_cuts(tree: Tree, numbers: Sequence[int], prefix: str = "") -> tuple[list[Level], list[str]]:
    """The cuts of a tree into these numbers of clusters, and warnings. Clusters without rows are
    left out. Raises as `models.tree.cut.cut`. O(n_nodes log n_nodes + n_points) a cut.
    """
    levels, warnings = [], []
    for number in numbers:
        flat = cut(tree, k=number)
        if flat.warning is not None:
            warnings.append(flat.warning)
        names = cluster_names(tree, flat.nodes)
        labels = [
            str(node) if name is None else name
            for node, name in zip(flat.nodes.tolist(), names, strict=True)
        ]
        levels.append(_present(f"{prefix}{number} clusters", labels, flat.cluster_of_point))
    return levels, warnings


def _present(name: str, labels: Sequence[str], code: Int, noise: bool = False) -> Level:
    """The level without clusters that have no row. noise : whether the last label is noise."""
    there = np.bincount(code, minlength=len(labels)) > 0
    number = np.cumsum(there) - 1
    kept = [label for label, has_rows in zip(labels, there.tolist(), strict=True) if has_rows]
    return Level(name, kept, number[code], noise and bool(there[-1]))


def _requested(table: ItemTable, wanted: Sequence[str]) -> list[ItemColumn]:
    by_name = {column.name: column for column in table.columns}
    twice = [name for place, name in enumerate(wanted) if name in wanted[:place]]
    if twice:
        raise UsageError(
            f"'levels' names {shown(twice[0])} twice.", code="wrong-input", parameter="levels"
        )
    for name in wanted:
        if name not in by_name:
            raise UsageError(
                f"'levels' names {shown(name)}, which is no column; the columns are "
                f"{listed(list(by_name), _MOST_SHOWN)}.",
                code="wrong-input",
                parameter="levels",
            )
    return [by_name[name] for name in wanted]


def _found(table: ItemTable, warnings: list[str]) -> list[ItemColumn]:
    """The columns whose names differ in one number alone, else all; those left out are warned of.

    Raises UsageError where several such sets are equally large.
    """
    columns = [column for column in table.columns if _no_labels(column) is None]
    sets: dict[tuple[str, str], list[ItemColumn]] = {}
    for column in columns:
        found = _numbered(column.name)
        if found is not None:
            sets.setdefault(found[0], []).append(column)
    most = max(map(len, sets.values()), default=0)
    largest = [own for own in sets.values() if len(own) == most]
    if most >= FEWEST:
        if len(largest) > 1:
            raise UsageError(
                f"Input {ROLE!r} has several sets of columns whose names differ in a number alone, "
                f"such as {shown(largest[0][0].name)} and {shown(largest[1][0].name)}; name the "
                "columns that are levels in 'levels'.",
                code="wrong-input",
                role=ROLE,
            )
        kept = largest[0]
        reason = "the names of the others differ in a number alone"
    else:
        for column in table.columns:
            _require_labels(column)
        kept = [column for column in columns if not _names_rows(column)]
        reason = "they have another value in every row"
    left = [column.name for column in table.columns if column not in kept]
    if left and len(kept) >= FEWEST:
        warnings.append(
            f"{len(left)} column(s) are taken for no level, since {reason}: "
            f"{listed(left, _MOST_SHOWN)}; 'levels' names the columns to take."
        )
    return kept


def _names_rows(column: ItemColumn) -> bool:
    """Whether a column holds an id for each row: all values differ, and the name has no number, or
    there was none."""
    no_number = column.name.startswith("column ") or _numbered(column.name) is None
    return no_number and len(column.values.unique()) == len(column.values) > 1


def _numbered(name: str) -> tuple[tuple[str, str], float] | None:
    """A name without its last number, and the number; None if there is none."""
    if len(name) > LONGEST_LABEL:
        return None
    found = _NUMBER.search(name)
    if found is None:
        return None
    around = name[: found.start()], name[found.end() :]
    return around, float(found[0].replace("_", "."))


def _no_labels(column: ItemColumn) -> str | None:
    """Why a column holds no labels; None if it may."""
    if column.kind in ("date", "image"):
        return f"has {column.kind}s"
    if column.kind != "number":
        return None
    numbers = _numbers(column)
    odd = np.flatnonzero(numbers != np.floor(numbers))
    odd = odd[~np.isnan(numbers[odd])]
    if odd.size:
        return f"has the number {numbers[odd[0]]:g} at row {odd[0]} (counted from 0)"
    large = np.flatnonzero(np.abs(numbers) > _EXACT)
    if large.size:
        return (
            f"has the number {numbers[large[0]]:g} at row {large[0]} (counted from 0), too large "
            "for a float to hold exactly; write such labels as texts"
        )
    return None


def _require_labels(column: ItemColumn) -> None:
    reason = _no_labels(column)
    if reason is not None:
        raise UsageError(
            f"Column {shown(column.name)} {reason}; labels are whole numbers or texts. Name the "
            "columns of labels in 'levels'.",
            code="wrong-input",
            role=ROLE,
        )


def _numbers(column: ItemColumn) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """NaN where a value is missing; no minus zero."""
    values = column.values
    numbers: np.ndarray[tuple[int], np.dtype[np.float64]] = values.to_numpy(zero_copy_only=False)
    return numbers.astype(np.float64) + 0.0


def _level(column: ItemColumn) -> Level:
    """Raises UsageError for a column that holds no labels, or a label for no row."""
    import pyarrow as pa

    _require_labels(column)
    values: pa.Array = column.values
    if column.kind == "number":
        numbers = _numbers(column)
        missing = np.isnan(numbers)
        values = pa.array(np.where(missing, 0, numbers).astype(np.int64), mask=missing)
    coded = values if isinstance(values, pa.DictionaryArray) else values.dictionary_encode()
    code = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    texts = [str(text) for text in coded.dictionary.to_pylist()]
    longest = max(map(len, texts), default=0)
    if longest > LONGEST_LABEL:
        long = next(place for place, text in enumerate(texts) if len(text) > LONGEST_LABEL)
        raise UsageError(
            f"Column {shown(column.name)} has a text of {len(texts[long]):,} characters at row "
            f"{int(np.argmax(code == long))} (counted from 0); a label has at most "
            f"{LONGEST_LABEL}.",
            code="too-large",
            limit=LONGEST_LABEL,
        )
    order = sorted(range(len(texts)), key=lambda place: _natural(texts[place]))
    kept = [place for place in order if texts[place].strip().lower() not in NO_LABEL]
    # One place more: that of a missing value. What is not kept is noise.
    number = np.full(len(texts) + 1, len(kept), dtype=np.int64)
    number[kept] = np.arange(len(kept))
    level = _present(column.name, [*(texts[place] for place in kept), NOISE], number[code], True)
    if not level.n_clusters:
        raise UsageError(
            f"Column {shown(column.name)} has a label for no row.", code="wrong-input", role=ROLE
        )
    return level


def _natural(text: str) -> tuple[tuple[int, float, str], ...]:
    """Numbers in a text are ordered as numbers, and before letters."""
    parts = [part for part in _DIGITS.split(text) if part]
    return (
        *((0, float(part), "") if _DIGITS.fullmatch(part) else (1, 0.0, part) for part in parts),
        (-1, 0.0, text),
    )


def _ordered(levels: list[Level], warnings: list[str]) -> list[Level]:
    """The levels in the order of the numbers in their names, else by their number of clusters.

    Numbers under which clusters only become fewer are taken backwards. Whatever this decides is
    warned of.
    """
    found = [_numbered(level.name) for level in levels]
    sets = {None if own is None else own[0] for own in found}
    if len(sets) == 1 and None not in sets:
        number = {level.name: own[1] for level, own in zip(levels, found, strict=True) if own}
        rule = "by the numbers in their names"
        ordered = sorted(levels, key=lambda level: (number[level.name], _natural(level.name)))
        counts = [level.n_clusters for level in ordered]
        if counts[0] > counts[-1] and all(a >= b for a, b in pairwise(counts)):
            ordered.reverse()
            rule += ", backwards, since clusters become fewer as these grow"
        decided = ordered != levels
    else:
        rule = "by their number of clusters"
        ordered = sorted(levels, key=lambda level: (level.n_clusters, _natural(level.name)))
        decided = True
    if decided:
        names = [f"{level.name[:80]} ({level.n_clusters:,})" for level in ordered]
        warnings.append(
            f"The levels are ordered {rule}: {', '.join(names[:_MOST_SHOWN])}"
            f"{', ...' if len(names) > _MOST_SHOWN else ''}; 'levels' gives another order."
        )
    for coarse, fine in pairwise(ordered):
        if fine.n_clusters < coarse.n_clusters:
            warnings.append(
                f"Level {shown(fine.name)} has fewer clusters ({fine.n_clusters:,}) than the level "
                f"before it, {shown(coarse.name)} ({coarse.n_clusters:,})."
            )
    return ordered
