"""`drift`: two samples of rows compared in a tree."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ConfigDict

from models.arrays import Arrays, Int
from models.drift.options import DriftTerms
from models.errors import UsageError, listed
from models.inputs.label_sets import LabelSets, label_sets
from models.running.progress import Piece, subprogress
from models.tree.cluster_names import cluster_names
from models.tree.tree import Tree
from workers.artifacts import results
from workers.formats.strict_json import SAMPLES
from workers.formats.table_writers import save_arrow
from workers.kinds.kind import Find, NamedKind, OfTree, Size
from workers.work.job import Job, Outcome
from workers.work.placing import fitted_of, leaves, leaves_piece, new_rows, refuse_leaves
from workers.work.row_shares import Division
from workers.work.sources import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from models.drift.drift import Drift, Sample

MOST_SHOWN = 20
"""Moves that the facts have; the file has all."""
MOST_NAMED = 5
"""Labels that a warning names."""
_SAMPLE = "sample"
"""The member of a piece that names the sample."""


class DriftOptions(OfTree, DriftTerms):
    """How the samples are compared."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Drift(NamedKind[DriftOptions]):
    name = "drift"
    noun = "drift"
    prefix = "dr"
    read_by = "tree"
    Options = DriftOptions

    def sources(self, find: Find, options: DriftOptions) -> list[Source]:
        return [find.tree("tree", options.tree, model=True)]

    def seconds(self, options: DriftOptions, params: Mapping[str, Any], size: Size) -> float | None:
        """Two samples are placed."""
        return size.placing_s

    def run(self, job: Job, options: DriftOptions) -> Outcome:
        job.reading()
        if job.spec.piece is not None:
            results.save_arrays(_placed_piece(job.sources, job.spec.piece), job.folder)
            return Outcome()
        facts, warnings = _compared(options, job)
        return Outcome(result={"tree": options.tree, "drift": facts}, warnings=warnings)

    def shown(self, job_id: str, result: dict[str, Any]) -> dict[str, Any]:
        return {**super().shown(job_id, result), "n_moves": result["drift"]["n_moves"]}


KIND = _Drift()


def _placed_piece(sources: Sequence[Source], piece: Piece) -> Arrays:
    """One piece of the rows of a sample, for an attempt on another worker."""
    tree, model = fitted_of(sources)
    values = new_rows(_of_sample(sources, piece[_SAMPLE]), model)
    values.pop("labels", None)
    return leaves_piece(tree, model, values, piece)


def _compared(options: DriftOptions, job: Job) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(facts of the answer, warnings); the moves and the report on every node are written.

    The sources are the tree, and the inputs and maybe labels of each sample, with roles like
    `batch.logits`.

    Raises UsageError as `fitted_of`, `leaves`, `label_sets` and `drift`; it names the sample.
    """
    from models.drift.drift import Sample, drift

    sources, progress = job.sources, job.progress
    began_s = time.process_time()
    tree, model = fitted_of(sources)
    fitted_s = time.process_time() - began_s
    samples: dict[str, Sample] = {}
    given: dict[str, dict[str, Any]] = {}
    read_s: dict[str, float] = {}
    for name in SAMPLES:
        with naming(name):
            began_s = time.process_time()
            given[name] = new_rows(_of_sample(sources, name), model)
            read_s[name] = time.process_time() - began_s
    own_labels = {name: given[name].pop("labels", None) for name in SAMPLES}
    for name in SAMPLES:
        with naming(name):
            refuse_leaves(tree, model, given[name])
    labels: dict[str, LabelSets] = {}
    warnings: dict[str, None] = {}
    for place, name in enumerate(SAMPLES):
        progress(0.3 * place, f"placing the {name}")
        with naming(name):
            within = subprogress(progress, 0.3 * place, 0.3 * (place + 1))
            division = Division(within, job.coordinator, fitted_s + read_s[name], {_SAMPLE: name})
            found_rows = leaves(tree, model, given.pop(name), division)
            n_rows = int(found_rows.leaf.shape[0])
            if not n_rows:
                raise UsageError("There are no rows.", code="empty")
            if own_labels[name] is not None:
                labels[name] = label_sets(own_labels[name], n_rows, None)
                labels[name].require_at_most_one()
        samples[name] = Sample(found_rows.leaf, found_rows.last)
        warnings |= dict.fromkeys(found_rows.warnings)
    label_names: list[str] = []
    if labels:
        label_names, numbers = _numbered(labels)
        warnings |= dict.fromkeys(_new_labels(labels) if len(labels) == len(SAMPLES) else ())
        samples = {
            name: Sample(sample.leaf, sample.confidence, numbers.get(name))
            for name, sample in samples.items()
        }
    before, after = (samples[name] for name in SAMPLES)

    def comparing(fraction: float, stage: str, message: str = "") -> None:
        progress(0.6 + 0.35 * fraction, stage, message)

    found = drift(tree, before, after, options.level, comparing)
    progress(0.95, "writing")
    moves = _moves(found, tree, label_names)
    save_arrow(moves, job.folder / results.MOVES)
    save_arrow(_nodes(found, tree, label_names), job.folder / results.DRIFT)
    facts = {
        "level": options.level,
        "n_reference": before.n_rows,
        "n_batch": after.n_rows,
        "aspects": [
            {
                "aspect": aspect,
                "moved": found.moved[aspect],
                "p_value": found.p_value[aspect],
                "n_tested": tests.n_tested,
                "n_moved": tests.n_moved,
            }
            for aspect, tests in found.nodes.items()
            if aspect in found.moved
        ],
        "n_moves": moves.num_rows,
        "moves": moves.slice(0, MOST_SHOWN).to_pylist(),
    }
    return facts, (*warnings, *found.warnings)


@contextmanager
def naming(sample: str) -> Iterator[None]:
    """Errors name the sample."""
    try:
        yield
    except UsageError as error:
        detail = f"In the {sample}: {error.detail}"
        where = {**error.where, "sample": sample}
        raise type(error)(detail, code=error.code, **where) from error


def _of_sample(sources: Sequence[Source], name: str) -> list[Source]:
    prefix = f"{name}."
    return [
        source.model_copy(update={"role": source.role.removeprefix(prefix)})
        for source in sources
        if source.role.startswith(prefix)
    ]


def _numbered(labels: Mapping[str, LabelSets]) -> tuple[list[str], dict[str, Int]]:
    """The names of all labels, and the number of each row's, -1 for none."""
    names = sorted(set().union(*(sets.names for sets in labels.values())))
    number_of = {name: number for number, name in enumerate(names)}
    numbers = {}
    for sample, sets in labels.items():
        own = np.array([number_of[name] for name in sets.names], dtype=np.int64)
        number = np.full(sets.n_rows, -1, dtype=np.int64)
        number[np.diff(sets.start) == 1] = own[sets.code]
        numbers[sample] = number
    return names, numbers


def _new_labels(labels: Mapping[str, LabelSets]) -> list[str]:
    """A warning of labels that the batch alone has, which the reference has not."""
    before, after = (
        {labels[name].names[code] for code in np.unique(labels[name].code).tolist()}
        for name in SAMPLES
    )
    new = sorted(after - before)
    if not new:
        return []
    return [f"Labels that only the batch has: {listed(new, MOST_NAMED)}."]


def _moves(found: Drift, tree: Tree, label_names: Sequence[str]) -> pa.Table:
    """A row for each place where something moved, the surest first."""
    import pyarrow as pa

    moves = found.moves(tree)
    at = np.array([node for _, node in moves], dtype=np.int64)
    parent = np.maximum(tree.parent[at], 0)
    tests = [(found.nodes[aspect], node) for aspect, node in moves]
    columns: dict[str, pa.Array] = {
        "aspect": pa.array([aspect for aspect, _ in moves], pa.string()),
        "node": pa.array(at, pa.int64()),
        "name": pa.array(cluster_names(tree, at), pa.string()),
        "parent": pa.array(parent, pa.int64(), mask=at == 0),
        "parent_name": pa.array(cluster_names(tree, parent), pa.string()),
        "direction": pa.array(
            ["gained" if own.direction[node] > 0 else "lost" for own, node in tests], pa.string()
        ),
    }
    for name in ("before", "after", "low", "high", "p_value"):
        values = np.array([getattr(own, name)[node] for own, node in tests], dtype=np.float64)
        columns[name] = _numbers(values)
    columns["n_before"] = pa.array(found.count_before[at], pa.int64())
    columns["n_after"] = pa.array(found.count_after[at], pa.int64())
    majority = np.full(at.size, -1)
    if found.majority is not None:
        of_purity = np.array([aspect == "purity" for aspect, _ in moves], dtype=bool)
        majority = np.where(of_purity, found.majority[at], -1)
    columns["label"] = _labels(majority, label_names)
    return pa.table(columns)


def _nodes(found: Drift, tree: Tree, label_names: Sequence[str]) -> pa.Table:
    """A row for each node."""
    import pyarrow as pa

    from models.drift.proportions import newcombe

    mass = found.mass
    low, high = newcombe(mass)
    columns: dict[str, pa.Array] = {
        "node": pa.array(np.arange(tree.n_nodes)),
        "parent": pa.array(tree.parent.astype(np.int64), mask=tree.parent < 0),
        "name": pa.array(tree.name.tolist(), pa.string()),
        "n_before": pa.array(found.count_before),
        "n_after": pa.array(found.count_after),
        "mass_before": _numbers(mass.share_before),
        "mass_after": _numbers(mass.share_after),
        "mass_low": _numbers(low),
        "mass_high": _numbers(high),
        "split_p_value": _numbers(found.split_p_value),
    }
    for aspect, tests in found.nodes.items():
        prefix = "share" if aspect == "mass" else aspect
        for name in ("before", "after", "low", "high", "p_value"):
            columns[f"{prefix}_{name}"] = _numbers(getattr(tests, name))
        columns[f"{prefix}_moved"] = pa.array(tests.rejected)
    if found.majority is not None:
        columns["label"] = _labels(found.majority, label_names)
    return pa.table(columns)


def _numbers(values: Any) -> pa.Array:
    """Null where it is not a number."""
    import pyarrow as pa

    return pa.array(values, pa.float64(), from_pandas=True)


def _labels(number: Int, names: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    texts = [*names, None]
    return pa.array([texts[each] for each in number.tolist()], pa.string())
