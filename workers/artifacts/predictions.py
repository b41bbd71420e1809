"""Predictions as files: where rows were placed, by the child; the API maps them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Mask
from models.calibration.calibration import NodeAnswers
from models.method import ClassAnswers, Predictions
from models.tree.cluster_names import cluster_names
from models.tree.cut import Clusters, cluster_of_node
from models.tree.noise import LABEL, NAME, noise_of
from models.tree.tree import Tree
from workers.artifacts.results import PREDICTIONS
from workers.formats.table_writers import save_arrow

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
    def of(cls, tree: Tree, answers: NodeAnswers) -> CalibratedAnswers:
        reached, code = np.unique(answers.node, return_inverse=True)
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


def save_predictions(
    predictions: Predictions,
    folder: Path,
    node_names: npt.NDArray[Any] | None = None,
    clusters: PlacedClusters | None = None,
    answers: CalibratedAnswers | None = None,
    ids: Sequence[str] | None = None,
) -> None:
    """Write predictions: the ids of rows if they have any, leaf, path, probabilities, the method's
    own columns, labels, clusters, answers of a calibration.

    node_names : (n_nodes,) `Tree.name`, for the labels of rows: the name of the leaf, or for
        classifiers of the last node of the path, where a class is called as its labels call it.
        None: no labels.
    """
    import pyarrow as pa

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
    if predictions.classes is not None:
        last = predictions.node[predictions.start[1:] - 1]
        columns["node"] = pa.array(last, pa.int64())
        if node_names is not None:
            labels = node_names.copy()
            labels[predictions.classes.node] = predictions.classes.name
            reached, code = np.unique(last, return_inverse=True)
            columns["label"] = _texts(labels[reached].tolist(), code)
        columns |= _class_columns(predictions.classes)
    elif node_names is not None:
        reached, code = np.unique(predictions.leaf, return_inverse=True)
        columns["label"] = _texts(node_names[reached].tolist(), code)
    if clusters is not None:
        above, n_clusters = clusters.above, len(clusters.name)
        columns["cluster"] = pa.array(clusters.cluster, mask=above)
        columns["cluster_node"] = pa.array(clusters.node, mask=clusters.node < 0)
        number = np.where(clusters.cluster < 0, n_clusters, clusters.cluster)
        number = np.where(above, n_clusters + 1, number)
        columns["cluster_name"] = _texts([*clusters.name, NAME, None], number)
    if answers is not None:
        columns |= answers.columns()
    save_arrow(pa.table(columns), folder / PREDICTIONS)


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
