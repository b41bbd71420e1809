"""The files of a result: written by the child, read back by later jobs and by the API.

tree.arrow          node columns (`models.tree.columns`)
leaf_of_point.npy   (n_points,) int32
model.safetensors   the stages' arrays, named "<stage>.<array>"; its metadata entry `umbel` is JSON:
                    {"stages": [{"method", "params", "facts"}, ...], "inputs": [roles],
                    "places": whether it places rows in the tree,
                    "preprocess": [{"steps", "n_features"}, ...], one entry for each matrix of
                    features; its arrays are named "preprocess.<matrix>.<step>.<array>",
                    "columns": the names of its columns, by role a list for each matrix}
predictions.arrow   one row per predicted row: leaf, path, probabilities, the method's own columns;
                    for a classifier also node, label, labels and, if requested, top
transformed.npy     rows that a model transformed; moved into a dataset when the job has ended
embedded.arrow      texts and their vectors, with ids or without; moved in the same way
state.safetensors   what a later job needs to grow from this one
points.safetensors  the method's columns of points
ids.arrow           the ids of points, a column `id` of texts, where their table had one
piece.safetensors   the arrays of a piece of a fit; not part of a result
nodes.arrow         an evaluation's report, one row per node: node, size; purity, entropy,
                    n_classes, majority, null without labels or points; exemplars, null without
                    features; exemplar_ids, where the rows have ids
tables.json         a classifier's evaluation: {"level": [{...}, ...], ...}, the rows of each table
calibration.safetensors
                    what a calibration keeps; its metadata entry `umbel` is JSON: {"terms",
                    "temperature", "by_edges", "risk": {"worst", "n_rows"}}
groups.arrow        a calibration's groups: node, name, n_rows, threshold, promised, and more
curve.arrow         its selective curve: threshold, coverage, error, depth
moves.arrow         what two samples differ in, the surest first: aspect, node, name, parent,
                    parent_name, direction, before, after, low, high, p_value, n_before, n_after,
                    label
names.arrow         the names of a tree's nodes: node, name, by, evidence
drift.arrow         the same comparison, one row per node: node, parent, name, n_before, n_after,
                    mass, share, confidence and purity, each before and after with low and high
placements.arrow    classes and subtrees of a hierarchy, the most out of place first: what, name,
                    node, where it hangs and would fit, p_value, and the evidence
positions.npy       a map: (n_points, 2) float32, in the order of rows
heatmap.npy         what the tiles of a heatmap are made of, see `models.heatmaps.heatmap`
axes.json           its rows, its columns and the tree over its columns
steps.json          the trees on the way of a fit: [{"step", "cost"}, ...], the earliest first
step0.arrow, step0.npy, ...
                    each of these, as tree.arrow and leaf_of_point.npy
suspects.arrow      its rows whose labels look wrong: row, label, likely and meet, each with its
                    name; of_label, of_likely, n_classes
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.answers.learned_steps import LearnedStep
from models.arrays import Array, Arrays, Int
from models.calibration.calibration import Calibration, CalibrationTerms
from models.calibration.following import Following
from models.calibration.losses import RiskCurve
from models.calibration.relearning import Relearning
from models.method import Model
from models.preprocess.pipeline import Pipeline
from models.tree.tree import Tree
from workers.formats.safetensors import DTYPES
from workers.formats.table_writers import save_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from models.heatmaps.drawing import Heatmap
    from models.metrics.nodes import NodeReport

TREE = "tree.arrow"
LEAF_OF_POINT = "leaf_of_point.npy"
MODEL = "model.safetensors"
PREDICTIONS = "predictions.arrow"
TRANSFORMED = "transformed.npy"
TRANSFORMED_WITH_IDS = "transformed.arrow"
EMBEDDED_TEXTS = "embedded.arrow"
EMBEDDED_TEXTS_WITH_IDS = "embedded-with-ids.arrow"
TRANSFORMATIONS = {
    TRANSFORMED: "npy",
    TRANSFORMED_WITH_IDS: "arrow-file",
    EMBEDDED_TEXTS: "arrow-file",
    EMBEDDED_TEXTS_WITH_IDS: "arrow-file",
}
"""The files of transformed rows and of vectors, by their formats."""
TO_EMBED = "to-embed.arrow"
"""What an embedder gets; removed when it has answered."""
STATE = "state.safetensors"
PIECE = "piece.safetensors"
POINTS = "points.safetensors"
IDS = "ids.arrow"
NODES = "nodes.arrow"
TABLES = "tables.json"
AGREEMENT = "agreement.npy"
CALIBRATION = "calibration.safetensors"
GROUPS = "groups.arrow"
CURVE = "curve.arrow"
SUSPECTS = "suspects.arrow"
MOVES = "moves.arrow"
DRIFT = "drift.arrow"
PLACEMENTS = "placements.arrow"
PAIRS = "pairs.arrow"
POSITIONS = "positions.npy"
HEATMAP = "heatmap.npy"
AXES = "axes.json"
NAMES = "names.arrow"
STEPS = "steps.json"

_FACTS, _BARE = "umbel", "bare"


@dataclass(frozen=True, slots=True)
class Stage:
    """One fitted method of a result; a job with `then` has two."""

    method: str
    params: Mapping[str, Any]
    model: Model


@dataclass(frozen=True, slots=True)
class FittedModel:
    """Everything that a prediction needs.

    stages : in order. inputs : the roles that they expect. prepared : how features are prepared, a
        pipeline for each matrix; empty if they are used as they are. places : whether it places
        rows in the tree; a method that ran last may not, while the first transforms rows.
    columns : the names of the columns of its matrices (`workers.work.named_columns`). bare : the
        rows of the fit that have no value, in whose place the tree has leaves behind its first
        n_nodes (`workers.work.bare_rows`). given_names : by the role of a matrix without such
        names, those that the fit was given for its columns.
    """

    stages: list[Stage]
    inputs: list[str]
    prepared: tuple[Pipeline, ...] = ()
    places: bool = True
    columns: Mapping[str, list[list[str]]] = field(default_factory=dict)
    bare: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_nodes: int = 0
    given_names: Mapping[str, list[str]] = field(default_factory=dict)


def save_tree(tree: Tree, folder: Path) -> None:
    """Write the tree's two files into `folder`."""
    from models.tree.columns import to_table

    # One batch, so that whole columns can be mapped back.
    save_arrow(to_table(tree), folder / TREE, batch_rows=None)
    _save_npy(tree.leaf_of_point, folder / LEAF_OF_POINT)


def save_steps(steps: Sequence[LearnedStep], folder: Path) -> None:
    """Write the trees on the way of a fit."""
    from models.tree.columns import to_table

    for number, each in enumerate(steps):
        columns, leaves = step_files(number)
        save_arrow(to_table(each.tree), folder / columns, batch_rows=None)
        _save_npy(each.tree.leaf_of_point, folder / leaves)
    facts = [{"step": each.step, "cost": each.cost} for each in steps]
    (folder / STEPS).write_text(json.dumps(facts, allow_nan=False))


def step_files(number: int) -> tuple[str, str]:
    """The names of the two files of a tree on the way of a fit."""
    return f"step{number}.arrow", f"step{number}.npy"


def load_tree(tree_path: Path, leaf_path: Path) -> Tree:
    """Read a tree back; columns are memory-mapped where Arrow allows it. O(n_nodes)."""
    import pyarrow as pa

    from models.tree.columns import from_table

    with pa.memory_map(str(tree_path)) as source:
        table = pa.ipc.open_file(source).read_all()
    return from_table(table, np.load(leaf_path, mmap_mode="r", allow_pickle=False))


def save_model(model: FittedModel, folder: Path) -> None:
    """Write the model: arrays as safetensors, facts as JSON in its metadata."""
    described = [
        {"method": stage.method, "params": dict(stage.params), "facts": dict(stage.model.facts)}
        for stage in model.stages
    ]
    arrays = {
        f"{number}.{name}": array
        for number, stage in enumerate(model.stages)
        for name, array in stage.model.arrays.items()
    }
    preprocess = []
    for number, pipeline in enumerate(model.prepared):
        steps = [step.model_dump(mode="json") for step in pipeline.steps]
        preprocess.append({"steps": steps, "n_features": pipeline.n_features})
        for name, array in pipeline.arrays().items():
            arrays[f"preprocess.{number}.{name}"] = array
    facts = {
        "stages": described,
        "inputs": model.inputs,
        "places": model.places,
        "preprocess": preprocess,
        "columns": dict(model.columns),
        "n_nodes": model.n_nodes,
        "given_names": dict(model.given_names),
    }
    if model.bare.size:
        arrays[_BARE] = model.bare
    _save(arrays, folder / MODEL, {_FACTS: json.dumps(facts)})


def load_model(path: Path) -> FittedModel:
    """The model that `save_model` wrote."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as source:
        described = json.loads(source.metadata()[_FACTS])
        arrays = {name: source.get_tensor(name) for name in source.keys()}  # noqa: SIM118
    stages = []
    for number, stage in enumerate(described["stages"]):
        fitted = Model(_under(f"{number}.", arrays), stage["facts"])
        stages.append(Stage(stage["method"], stage["params"], fitted))
    prepared = _prepared(described, arrays)
    return FittedModel(
        stages,
        described["inputs"],
        prepared,
        described.get("places", True),
        described.get("columns", {}),
        arrays.get(_BARE, np.zeros(0, dtype=np.int64)),
        described.get("n_nodes", 0),
        described.get("given_names", {}),
    )


def map_stage(path: Path, number: int) -> Stage:
    """A step of a model: 0 is the first one, -1 the one that made the tree.

    Its arrays are mapped, so a slice of one reads only itself.
    """
    entries, arrays = _mapped(path)
    stages = json.loads(entries["__metadata__"][_FACTS])["stages"]
    number %= len(stages)
    stage = stages[number]
    model = Model(_under(f"{number}.", arrays), stage["facts"])
    return Stage(stage["method"], stage["params"], model)


def load_prepared(path: Path) -> tuple[Pipeline, ...]:
    """The pipelines that prepare the features of a model; its other arrays are not read."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as source:
        described = json.loads(source.metadata()[_FACTS])
        names = [name for name in source.keys() if name.startswith("preprocess.")]  # noqa: SIM118
        return _prepared(described, {name: source.get_tensor(name) for name in names})


def load_columns(path: Path) -> dict[str, list[list[str]]]:
    """The names of the columns of a model's matrices; its arrays are not read."""
    entries, _ = _mapped(path)
    columns: dict[str, list[list[str]]] = json.loads(entries["__metadata__"][_FACTS]).get(
        "columns", {}
    )
    return columns


def _prepared(described: Mapping[str, Any], arrays: Arrays) -> tuple[Pipeline, ...]:
    return tuple(
        Pipeline.of(
            pipeline["steps"], _under(f"preprocess.{number}.", arrays), pipeline["n_features"]
        )
        for number, pipeline in enumerate(described.get("preprocess", ()))
    )


def model_header(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The facts of a model's file, and dtype and shape of each array; no array is read."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as source:
        facts = json.loads(source.metadata()[_FACTS])
        arrays = {}
        for name in sorted(source.keys()):
            part = source.get_slice(name)
            arrays[name] = {"dtype": part.get_dtype(), "shape": list(part.get_shape())}
    return facts, arrays


def _under(prefix: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """The arrays whose names begin with `prefix`, by the remainder of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def save_nodes(
    report: NodeReport, folder: Path, ids: Sequence[str] | pa.Array | None = None
) -> None:
    """Write an evaluation's report on every node. ids : of the rows, where they have any."""
    save_arrow(node_table(report, ids), folder / NODES)


def node_table(report: NodeReport, ids: Sequence[str] | pa.Array | None = None) -> pa.Table:
    """The report as a table that always has every column but `exemplar_ids`, which is there where
    the rows have ids; `majority` is text or integers."""
    import pyarrow as pa

    n_nodes = report.size.shape[0]
    columns = {
        "node": pa.array(np.arange(n_nodes)),
        "size": pa.array(report.size),
        "purity": _numbers(report.purity, n_nodes, pa.float64()),
        "entropy": _numbers(report.entropy, n_nodes, pa.float64()),
        "n_classes": _numbers(report.n_classes, n_nodes, pa.int64()),
        "majority": _majority(report),
        "exemplars": _exemplars(report),
    }
    if ids is not None:
        columns["exemplar_ids"] = _ids_at(columns["exemplars"], ids)
    return pa.table(columns)


def _numbers(column: np.ndarray | None, n_nodes: int, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if column is None:
        return pa.nulls(n_nodes, kind)
    return pa.array(column, kind, from_pandas=True)


def _majority(report: NodeReport) -> pa.Array:
    import pyarrow as pa

    if report.class_name is None or report.majority is None:
        return pa.nulls(report.size.shape[0], pa.string())
    codes, unlabelled = report.majority, report.majority < 0
    if report.class_name and isinstance(report.class_name[0], int):
        names = np.array([*report.class_name, 0], dtype=np.int64)
        return pa.array(names[codes], mask=unlabelled)
    texts = pa.array(report.class_name, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=unlabelled), texts)


def _exemplars(report: NodeReport) -> pa.Array:
    import pyarrow as pa

    if report.exemplars is None:
        return pa.nulls(report.size.shape[0], pa.large_list(pa.int64()))
    present = report.exemplars >= 0
    start = np.zeros(present.shape[0] + 1, dtype=np.int64)
    np.cumsum(present.sum(axis=1), out=start[1:])
    return pa.LargeListArray.from_arrays(pa.array(start), pa.array(report.exemplars[present]))


def _ids_at(rows: pa.Array, ids: Sequence[str] | pa.Array) -> pa.Array:
    """Lists of ids in place of lists of rows."""
    import pyarrow as pa

    if rows.null_count:
        return pa.nulls(len(rows), pa.large_list(pa.large_string()))
    texts = pa.array(ids, pa.large_string()).take(rows.values)
    return pa.LargeListArray.from_arrays(rows.offsets, texts)


def save_tables(tables: Mapping[str, Any], folder: Path) -> None:
    """Write the tables of a classifier's evaluation."""
    (folder / TABLES).write_text(json.dumps(tables, allow_nan=False))


def save_agreement(bits: Array, folder: Path) -> None:
    """Write which trees of a consensus have each of its nodes.

    bits : (n_nodes, ceil(n_trees / 8)) uint8.
    """
    np.save(folder / AGREEMENT, bits)


def save_calibration(calibration: Calibration, folder: Path) -> None:
    """Write a calibration."""
    risk, learned = calibration.risk, calibration.relearning
    arrays = {
        "node": calibration.node,
        "start": calibration.start,
        "score": calibration.score,
        "cut": calibration.cut,
        **({} if risk is None else {"threshold": risk.threshold, "total": risk.total}),
        "parent": calibration.parent,
        "share": calibration.share,
        **({} if learned is None else {"weight": learned.weight, "bias": learned.bias}),
    }
    facts = {
        "terms": calibration.terms.model_dump(exclude_unset=True),
        "temperature": calibration.temperature,
        "by_edges": calibration.by_edges,
        "risk": None if risk is None else {"worst": risk.worst, "n_rows": risk.n_rows},
        "relearning": None if learned is None else learned.temperature,
        "following": None if calibration.following is None else asdict(calibration.following),
        "cost": calibration.cost,
        "by_size": calibration.by_size,
    }
    _save(arrays, folder / CALIBRATION, {_FACTS: json.dumps(facts)})


def load_calibration(path: Path) -> Calibration:
    """The calibration that `save_calibration` wrote."""
    entries, arrays = _mapped(path)
    facts = json.loads(entries["__metadata__"][_FACTS])
    own = {name: np.array(array) for name, array in arrays.items()}
    risk, learned = facts["risk"], facts.get("relearning")
    following, cost = facts.get("following"), facts.get("cost")
    return Calibration(
        CalibrationTerms.model_validate(facts["terms"]),
        facts["temperature"],
        own["node"],
        own["start"],
        own["score"],
        own["cut"],
        facts["by_edges"],
        None if risk is None else RiskCurve(own["threshold"], own["total"], **risk),
        # Calibrations of earlier versions share no thresholds, teach nothing, know no shares.
        own.get("parent", np.zeros(0, dtype=np.int64)),
        None
        if learned is None
        else Relearning(own["weight"], own["bias"], learned, facts["temperature"]),
        own.get("share", np.zeros(0)),
        None if following is None else Following(**following),
        None if cost is None else tuple(cost),
        # Bounded sets of earlier versions grow by their probabilities alone.
        facts.get("by_size", False),
    )


def load_agreement(path: Path, node: int, n_trees: int) -> npt.NDArray[np.bool_]:
    """(n_trees,) which trees have a node; reads that row alone."""
    bits = np.load(path, mmap_mode="r")
    return np.unpackbits(bits[node], count=n_trees).astype(bool)


def save_state(state: Arrays, folder: Path) -> None:
    """Write the arrays that a later job needs to grow from this one."""
    _save(state, folder / STATE)


def save_ids(ids: Sequence[str], folder: Path) -> None:
    """Write the ids of points."""
    import pyarrow as pa

    save_arrow(pa.table({"id": pa.array(ids, pa.large_string())}), folder / IDS, batch_rows=None)


def load_ids(path: Path) -> pa.Array:
    """(n_points,) the ids that `save_ids` wrote, mapped."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all().column("id").combine_chunks()


def save_points(columns: Arrays, folder: Path) -> None:
    """Write the method's columns of points."""
    _save(columns, folder / POINTS)


def save_arrays(arrays: Arrays, folder: Path) -> Path:
    """The file for the arrays of a piece."""
    path = folder / PIECE
    _save(arrays, path)
    return path


def save_named(arrays: Arrays, path: Path) -> None:
    """Write arrays to `path`; a reader sees the whole file or none."""
    new = path.with_name(path.name + ".new")
    _save(arrays, new)
    new.replace(path)


def load_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, read into memory."""
    from safetensors.numpy import load_file

    return dict(load_file(path))


def mapped_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file that `save_named` wrote, mapped read-only: only what is used is read."""
    return _mapped(path)[1]


def _mapped(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The entries of a safetensors file of ours, and its arrays, mapped."""
    with path.open("rb") as file:
        n_header = int.from_bytes(file.read(8), "little")
        entries = json.loads(file.read(n_header))
    content = np.memmap(path, dtype=np.uint8, mode="r")[8 + n_header :]
    arrays = {
        name: content[slice(*entry["data_offsets"])]
        .view(DTYPES[entry["dtype"]])
        .reshape(entry["shape"])
        for name, entry in entries.items()
        if name != "__metadata__"
    }
    return entries, arrays


def save_positions(positions: Array, folder: Path) -> None:
    """Write a map, (n_points, 2)."""
    _save_npy(positions, folder / POSITIONS)


def save_heatmap(drawn: Heatmap, folder: Path) -> None:
    """Write a heatmap: its values, and its axes as the API answers them."""
    _save_npy(drawn.values, folder / HEATMAP)
    columns = None if drawn.columns is None else {**drawn.columns, "merges": drawn.merges.tolist()}
    axes = {"rows": drawn.rows, "columns": columns}
    (folder / AXES).write_text(json.dumps(axes, allow_nan=False))


def save_transformed(rows: Array, folder: Path, ids: Sequence[str] | None = None) -> None:
    """Write rows that a model transformed, (n_rows, n_features); with ids as a table of two
    columns: `id`, and `features`, a vector for each row."""
    import pyarrow as pa

    if ids is None:
        _save_npy(rows, folder / TRANSFORMED)
        return
    flat = pa.array(np.ascontiguousarray(rows).reshape(-1))
    vectors = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    table = pa.table({"id": pa.array(ids, pa.large_string()), "features": vectors})
    save_arrow(table, folder / TRANSFORMED_WITH_IDS)


def save_embedded(vectors: Array, folder: Path, ids: Any, texts: Any) -> None:
    """Write the vectors of texts or images, (n, width), beside their ids and texts, Arrow's columns
    or None."""
    import pyarrow as pa

    if texts is None:
        save_transformed(vectors, folder, None if ids is None else ids.to_pylist())
        return
    flat = pa.array(np.ascontiguousarray(vectors).reshape(-1))
    columns = {} if ids is None else {"id": ids}
    columns |= {
        "text": texts,
        "features": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
    }
    name = EMBEDDED_TEXTS if ids is None else EMBEDDED_TEXTS_WITH_IDS
    save_arrow(pa.table(columns), folder / name)


def _save_npy(array: Array, path: Path) -> None:
    with path.open("wb") as file:
        # Given an open file, numpy loses the reason why it cannot be written.
        np.save(SimpleNamespace(write=file.write), array)


def _save(arrays: Arrays, path: Path, metadata: dict[str, str] | None = None) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    try:
        save_file(whole, path, metadata)
    except SafetensorError as error:
        # Raised as an error of the file system: a full disk is transient, a fault of ours is not.
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
