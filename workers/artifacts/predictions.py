"""Predictions as files: where rows were placed, by the child; the API maps them back. Shares of
rows that were placed apart are kept in files, and written as one, some rows at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays, Int, Mask
from models.calibration.calibration import NodeAnswers
from models.method import ClassAnswers, Predictions
from models.tree.cluster_names import cluster_names
from models.tree.cut import Clusters, cluster_of_node
from models.tree.noise import LABEL, NAME, noise_of
from models.tree.tree import Tree
from workers.artifacts.results import PREDICTIONS, mapped_arrays, save_named
from workers.formats.table_writers import BATCH_ROWS

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class PlacedClusters:
    """The clusters of a cut that rows fall into.

    cluster : (n_rows,) -1 for noise. above : (n_rows,) whether a row's path ends above the cut, so
        that it has none.
    node : (n_rows,) the node of its cluster, or of the noise; -1 for none.
    name : (n_clusters,) the name of each cluster.
    """

    cluster: Int
    above: Mask
    node: Int
    name: list[str | None]

    @classmethod
    def of(cls, tree: Tree, cut: Clusters, predictions: Predictions) -> PlacedClusters:
        """O(n_nodes log depth + n_rows)."""
        last = predictions.node[predictions.start[1:] - 1]
        cluster, parts = cluster_of_node(tree, cut.nodes)[last], cut.cover
        part = cluster_of_node(tree, parts)[last]
        node = np.append(parts, -1)[part]
        if predictions.noise is not None:
            # Without a leaf of noise they are at leaves of others.
            homeless = predictions.noise & (cluster >= 0) & ~noise_of(tree)[predictions.leaf]
            cluster, node = np.where(homeless, LABEL, cluster), np.where(homeless, -1, node)
        return cls(cluster, part < 0, node, cluster_names(tree, cut.nodes))


@dataclass(frozen=True, slots=True)
class CalibratedAnswers:
    """The nodes that a calibration answers rows by, with their names.

    name : of `reached`, the nodes that some row is answered by. code : (n_answers,) which of them.
    """

    answers: NodeAnswers
    name: list[str | None]
    code: Int

    @classmethod
    def of(cls, tree: Tree, answers: NodeAnswers, reached: Int) -> CalibratedAnswers:
        """reached : the nodes that rows are answered by, ascending; of all shares of them."""
        code = np.searchsorted(reached, answers.node)
        return cls(answers, cluster_names(tree, reached), code.astype(np.int64))

    def columns(self) -> dict[str, pa.Array]:
        """The columns of predictions."""
        import pyarrow as pa

        own, start = self.answers, pa.array(self.answers.start, pa.int64())
        return {
            "nodes": pa.LargeListArray.from_arrays(start, pa.array(own.node, pa.int64())),
            "node_names": pa.LargeListArray.from_arrays(start, _texts(self.name, self.code)),
            "depth": pa.array(own.depth, pa.int64(), mask=own.depth < 0),
            "n_classes": pa.array(own.n_classes, pa.int64()),
            "mass": pa.array(np.minimum(own.mass, 1.0), pa.float64()),
            "promise": _texts([own.promise], np.zeros(own.depth.shape[0], dtype=np.int64)),
        }


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows with what is predicted of them. clusters : of a cut. answers : of a calibration."""

    predictions: Predictions
    clusters: PlacedClusters | None = None
    answers: CalibratedAnswers | None = None


class PlacedShares:
    """Shares of rows, added in any order, each kept in a file of `folder` and mapped when it is
    read.

    labelled : the nodes that labels of rows are called by, ascending. answered : the nodes that a
        calibration answers rows by.
    """

    def __init__(self, folder: Path, n_shares: int) -> None:
        self._paths = [folder / f"{number}.safetensors" for number in range(n_shares)]
        self._like: Predictions | None = None
        self._promise = ""
        self.labelled = self.answered = np.zeros(0, dtype=np.int64)

    def all_as(self, predictions: Predictions, answers: NodeAnswers | None) -> None:
        """Take names and columns, which all shares have in common, from one of them."""
        if self._like is None:
            self._like = predictions
            self._promise = "" if answers is None else answers.promise

    def add(self, number: int, arrays: Arrays) -> None:
        """arrays : as `arrays_of`."""
        save_named(arrays, self._paths[number])
        self.labelled = np.union1d(self.labelled, arrays["labelled"])
        if "answers.node" in arrays:
            self.answered = np.union1d(self.answered, arrays["answers.node"])

    def __iter__(self) -> Iterator[tuple[Predictions, NodeAnswers | None]]:
        """The shares in order."""
        assert self._like is not None
        for path in self._paths:
            arrays = mapped_arrays(path)
            answers = _under("answers.", arrays)
            yield (
                _predictions_of(arrays, self._like),
                NodeAnswers(**answers, promise=self._promise) if answers else None,
            )


def arrays_of(predictions: Predictions, answers: NodeAnswers | None = None) -> dict[str, Array]:
    """What is particular to a share of rows, as arrays of a piece."""
    found: dict[str, Any] = {
        "leaf": predictions.leaf,
        "start": predictions.start,
        "node": predictions.node,
        "probability": predictions.probability,
        "labelled": np.unique(nodes_of_labels(predictions)),
    }
    for name, column in predictions.columns.items():
        if column.dtype == object:
            texts, code = np.unique(column.astype(str), return_inverse=True)
            written = json.dumps(texts.tolist()).encode()
            found[f"texts.{name}"] = np.frombuffer(written, dtype=np.uint8)
            column = code.astype(np.int32)
        found[f"columns.{name}"] = column
    if predictions.classes is not None:
        found |= {f"classes.{name}": getattr(predictions.classes, name) for name in _OF_CLASSES}
    if predictions.noise is not None:
        found["noise"] = predictions.noise
    if answers is not None:
        found |= {f"answers.{name}": getattr(answers, name) for name in _OF_ANSWERS}
    return {name: np.asarray(value) for name, value in found.items()}


_OF_CLASSES = ("start", "code", "top", "score", "probability")
_OF_ANSWERS = ("start", "node", "depth", "n_classes", "mass")


def _predictions_of(arrays: Arrays, like: Predictions) -> Predictions:
    columns = {}
    for name in like.columns:
        column = arrays[f"columns.{name}"]
        if f"texts.{name}" in arrays:
            texts = json.loads(bytes(arrays[f"texts.{name}"]))
            column = np.array(texts, dtype=object)[column]
        columns[name] = column
    classes = like.classes
    return replace(
        like,
        leaf=arrays["leaf"],
        start=arrays["start"],
        node=arrays["node"],
        probability=arrays["probability"],
        columns=columns,
        classes=None if classes is None else replace(classes, **_under("classes.", arrays)),
        noise=arrays.get("noise"),
    )


def _under(prefix: str, arrays: Arrays) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def nodes_of_labels(predictions: Predictions) -> Int:
    """(n_rows,) the node that a row's label is called by: its leaf, or for classifiers the last
    one of its path, where a class is called as its labels call it."""
    if predictions.classes is None:
        return predictions.leaf
    return predictions.node[predictions.start[1:] - 1]


def save_predictions(
    predictions: Predictions,
    folder: Path,
    node_names: npt.NDArray[Any] | None = None,
    clusters: PlacedClusters | None = None,
    answers: CalibratedAnswers | None = None,
    ids: Sequence[str] | None = None,
) -> None:
    """As `save_placed`, of rows that were placed together."""
    labelled = np.unique(nodes_of_labels(predictions))
    save_placed([PlacedRows(predictions, clusters, answers)], labelled, folder, node_names, ids)


def save_placed(
    placed: Iterable[PlacedRows],
    labelled: Int,
    folder: Path,
    node_names: npt.NDArray[Any] | None = None,
    ids: Sequence[str] | None = None,
) -> None:
    """Write predictions: the ids of rows if they have any, leaf, path, probabilities, the method's
    own columns, labels, clusters, answers of a calibration.

    placed : all rows in order, one share of them at least. labelled : the nodes that their labels
        are called by, ascending.
    node_names : (n_nodes,) `Tree.name`, for the labels of rows. None: no labels.

    Raises OSError where the file cannot be written.
    """
    import pyarrow as pa

    first = 0
    with ExitStack() as open_files:
        sink = open_files.enter_context(pa.OSFile(str(folder / PREDICTIONS), "wb"))
        writer = None
        for share in placed:
            stop = first + int(share.predictions.leaf.shape[0])
            of_share = None if ids is None else ids[first:stop]
            table = pa.table(_columns(share, labelled, node_names, of_share))
            if writer is None:
                writer = open_files.enter_context(pa.ipc.new_file(sink, table.schema))
            writer.write_table(table, max_chunksize=BATCH_ROWS)
            first = stop


def _columns(
    placed: PlacedRows,
    labelled: Int,
    node_names: npt.NDArray[Any] | None,
    ids: Sequence[str] | None,
) -> dict[str, pa.Array]:
    """The columns of some rows, as `save_placed` has them."""
    import pyarrow as pa

    predictions, clusters = placed.predictions, placed.clusters
    start = pa.array(predictions.start, pa.int64())
    columns = {
        **({} if ids is None else {"id": pa.array(ids, pa.large_string())}),
        "leaf": pa.array(predictions.leaf, pa.int64()),
        "path": pa.LargeListArray.from_arrays(start, pa.array(predictions.node, pa.int64())),
        "probabilities": pa.LargeListArray.from_arrays(
            start, pa.array(predictions.probability, pa.float64())
        ),
        **{name: pa.array(column) for name, column in predictions.columns.items()},
    }
    at, labels = nodes_of_labels(predictions), node_names
    if predictions.classes is not None:
        columns["node"] = pa.array(at, pa.int64())
        if labels is not None:
            labels = labels.copy()
            labels[predictions.classes.node] = predictions.classes.name
    if labels is not None:
        columns["label"] = _texts(labels[labelled].tolist(), np.searchsorted(labelled, at))
    if predictions.classes is not None:
        columns |= _class_columns(predictions.classes)
    if clusters is not None:
        above, n_clusters = clusters.above, len(clusters.name)
        columns["cluster"] = pa.array(clusters.cluster, mask=above)
        columns["cluster_node"] = pa.array(clusters.node, mask=clusters.node < 0)
        number = np.where(clusters.cluster < 0, n_clusters, clusters.cluster)
        number = np.where(above, n_clusters + 1, number)
        columns["cluster_name"] = _texts([*clusters.name, NAME, None], number)
    if placed.answers is not None:
        columns |= placed.answers.columns()
    return columns


def _class_columns(classes: ClassAnswers) -> dict[str, pa.Array]:
    """The labels of each row, and its best classes if there are any."""
    import pyarrow as pa

    start = pa.array(classes.start, pa.int64())
    columns = {"labels": pa.LargeListArray.from_arrays(start, _texts(classes.name, classes.code))}
    n_rows, top_k = classes.top.shape
    if top_k:
        best = classes.top.ravel()
        members = {
            "label": _texts(classes.name, best),
            "node": pa.array(classes.node[best], pa.int64()),
            "score": pa.array(classes.score.ravel(), pa.float64()),
            "probability": pa.array(classes.probability.ravel(), pa.float64()),
        }
        columns["top"] = pa.LargeListArray.from_arrays(
            pa.array(np.arange(n_rows + 1) * top_k),
            pa.StructArray.from_arrays(list(members.values()), list(members)),
        )
    return columns


def _texts(names: list[str] | list[str | None], code: Int) -> pa.Array:
    """`names[code]`, each name stored once; null for a name that is None."""
    import pyarrow as pa

    missing = np.array([name is None for name in names], dtype=bool)[code]
    texts = pa.array([name or "" for name in names], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32), mask=missing), texts)
