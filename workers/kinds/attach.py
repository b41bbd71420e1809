"""`attach`: the items that the rows or leaves of a tree are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models.errors import shown
from models.inputs.items import ItemColumn, ItemTable
from models.items import placement as aggregates
from models.items import rankings
from models.items.facts import facts
from models.items.placement import Placement, placement
from models.items.points import points_of
from models.preprocess.inputs import TERMS
from models.preprocess.pipeline import ROLE
from models.running.progress import Progress, subprogress
from models.tree.tree import Tree
from workers.artifacts import items as files
from workers.kinds.kind import Find, NamedKind
from workers.kinds.of_fit import OfFit
from workers.work.fit_rows import matrix_of, prepared
from workers.work.job import Job, Outcome
from workers.work.sources import Source, of_role, tree_of, values_of

MOST_NODE_VALUES = 64_000_000
"""Values of nodes that are kept, of all columns together."""
_WITH_NODES = ("number", "category", "date")


class AttachmentOptions(OfFit):
    """unranked : why items are in no order; None where they are in one. image_shape : of the rows
    of the fit, where a parameter gave it."""

    unranked: str | None = None
    image_shape: tuple[int, ...] | None = None


class _Attach(NamedKind[AttachmentOptions]):
    name = "attach"
    noun = "attachment"
    prefix = "at"
    companion = True
    Options = AttachmentOptions

    def sources(self, find: Find, options: AttachmentOptions) -> list[Source]:
        return options.sources(find)

    def run(self, job: Job, options: AttachmentOptions) -> Outcome:
        job.reading()
        facts, warnings = _attached(options, job.sources, job.folder, job.progress)
        return Outcome(result={"tree": options.tree, "attachment": facts}, warnings=warnings)


KIND = _Attach()


def _attached(
    options: AttachmentOptions, sources: Sequence[Source], folder: Path, progress: Progress
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(facts of the answer, warnings); items, a value for each node and what items are ranked by
    are written.

    sources : the items (without, the rows of the tree are), the tree with its model if there is
        one, and of its fit what items are ranked by, if that is there.

    Raises UsageError for items that cannot be read, or are neither one for each row of the tree nor
    one for each leaf.
    """
    source = of_role(sources, "tree")
    tree = tree_of(source)
    of_fit = [each for each in sources if each.role not in ("tree", "items")]
    own: list[str] = []
    if any(each.role == "items" for each in sources):
        items = values_of([of_role(sources, "items")])["items"]
        assert isinstance(items, ItemTable)
    else:
        items, own = points_of(tree, _seen(options, of_fit), options.image_shape)
    placed = placement(tree, items.n_items)
    progress(0.2, "writing")
    files.save_items(items, folder)
    progress(0.4, "values of nodes")
    columns, warnings = _node_values(tree, placed, items, folder)
    files.save_columns(columns, folder)
    progress(0.6, "ranking")
    ranked, rank_warnings = _ranked(
        options, of_fit, source, tree, placed, folder, subprogress(progress, 0.6, 1.0)
    )
    strange = [
        f"Column {shown(column.name)} has {column.n_not_finite:,} numbers that are not finite; "
        "they are missing values."
        for column in items.columns
        if column.n_not_finite
    ]
    counts = {"per": placed.per, "n_items": items.n_items, "n_columns": len(items.columns)}
    return {**counts, **ranked}, (*own, *strange, *warnings, *rank_warnings)


def _seen(options: AttachmentOptions, of_fit: list[Source]) -> Any:
    """The one array of features that the fit saw, before it prepared them; None for anything
    else."""
    if options.of_fit != ROLE or len(of_fit) != 1:
        return None
    return values_of(of_fit).get(ROLE)


def _node_values(
    tree: Tree, placed: Placement, items: ItemTable, folder: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    """The facts of each column, and warnings."""
    values: dict[str, npt.NDArray[Any]] = {}
    columns, left_out = [], 0
    for number, column in enumerate(items.columns):
        fits = (len(values) + 2) * tree.n_nodes <= MOST_NODE_VALUES
        has_nodes = column.kind in _WITH_NODES
        if has_nodes and fits:
            own = _of_nodes(tree, placed, column)
            values |= {f"{number}.{name}": array for name, array in own.items()}
        left_out += has_nodes and not fits
        columns.append({**facts(column), "of_nodes": has_nodes and fits})
    if values:
        files.save_item_nodes(values, folder)
    if not left_out:
        return columns, []
    return columns, [
        f"{left_out} columns have no values of nodes: a tree of {tree.n_nodes:,} nodes has "
        "room for the values of the columns before them."
    ]


def _of_nodes(tree: Tree, placed: Placement, column: ItemColumn) -> dict[str, npt.NDArray[Any]]:
    if column.kind == "category":
        code, share = aggregates.majorities(tree, placed, aggregates.category_codes(column.values))
        value = np.where(code < 0, np.nan, code)
        return {"value": value.astype(np.float32), "share": share.astype(np.float32)}
    return {"value": aggregates.means(tree, placed, _numbers(column))}


def _numbers(column: ItemColumn) -> npt.NDArray[np.float64]:
    """(n_items,) a number or, of a date, seconds since 1970; NaN for a missing value."""
    import pyarrow as pa

    if column.kind == "number":
        return np.asarray(column.values.to_numpy(zero_copy_only=False), dtype=np.float64)
    missing = column.values.is_null().to_numpy(zero_copy_only=False)
    whole = column.values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return np.where(missing, np.nan, whole / 1e6)


def _ranked(
    options: AttachmentOptions,
    of_fit: list[Source],
    source: Source,
    tree: Tree,
    placed: Placement,
    folder: Path,
    progress: Progress,
) -> tuple[dict[str, Any], list[str]]:
    """What items are ranked by, as facts of the answer, and warnings."""
    if not of_fit:
        return {"basis": None, "kept": None}, [f"Items are in no order: {options.unranked}"]
    values = prepared(options, source, of_fit, seed=0)
    values.pop(TERMS, None)
    rows = matrix_of(values)
    if options.of_fit == "logits":
        files.save_ranks(rankings.margins(rows, tree, placed), folder)
        return {"basis": "logits", "kept": None}, []
    known, kept = rankings.vectors(rows, tree, placed, progress)
    files.save_ranks(known, folder)
    return {"basis": "features", "kept": kept}, []
