"""HDBSCAN: clusters of any shape and density; points outside all clusters are noise.

The mutual reachability distance of two points is their distance, but at least that of either to its
`min_samples`-th neighbour. Single linkage by these distances gives a tree. Where one side of a
split has fewer than `min_cluster_size` points, these fall out of the cluster instead; the remaining
splits form the condensed tree. The clusters are chosen from it: those that are stable over the
widest range of densities ('eom'), or its leaves ('leaf').

The result is the condensed tree from the root to the chosen clusters, which are its leaves, named
by their numbers from the largest to the smallest; noise lies in the leaf `noise` below the root.
With 'leaf' this is the whole condensed tree. Heights are the distances at which nodes split. Extra
columns of a node: `cluster`, its number or -1; `birth`, the density (1 / distance) at which it
split off; `stability`; `probability`, the mean strength with which its points belong to their
clusters; `outlier_score`, the mean of their outlier scores (GLOSH).

Source: Campello, Moulavi, Zimek and Sander, "Hierarchical Density Estimates for Data Clustering,
Visualization, and Outlier Detection" (2015); the library hdbscan, with exact spanning trees.

Cost: O(N^2 D) time and O(N D) memory; about O(N log N) time for up to `FEW_FEATURES` features. For
given distances, for 'cosine', 'correlation' and 'braycurtis', which no search tree supports, and
for few points with many features 26 N^2 bytes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.arrays import Array, Float, Int
from models.checks import refuse_clusters, require_points, require_squares
from models.clusters.placing import by_size, reorder
from models.data import Data, require_finite
from models.errors import UsageError
from models.method import Fitted, Input, Method, Paper, Run, Shapes
from models.numerics.distances import condensed as condensed_distances
from models.numerics.distances import flat, pairwise
from models.parameters import Params
from models.tree.build import from_parents
from models.tree.parents import under
from models.tree.tree import Tree
from models.tree.walk import contract_unary


@dataclass(frozen=True, slots=True)
class Condensed:
    """The condensed tree of n_points; clusters are numbered from the root, 0, parents first.

    above : (n_clusters,) parent of each cluster, -1 for the root.
    birth : (n_clusters,) density (1 / distance) at which it splits off; 0 for the root.
    cluster, fall : (n_points,) the last cluster that contains each point and the density at which
        the point falls out of it; infinite for a point at distance 0.
    """

    above: Int
    birth: Float
    cluster: Int
    fall: Float

    @classmethod
    def of(cls, rows: npt.NDArray[Any], n_points: int) -> Condensed:
        """From the library's rows (parent, child, lambda_val, child_size), points first."""
        whole = rows["child"] >= n_points
        clusters, points = rows[whole], rows[~whole]
        above = np.full(len(clusters) + 1, -1, dtype=np.int64)
        birth = np.zeros(len(clusters) + 1)
        above[clusters["child"] - n_points] = clusters["parent"] - n_points
        birth[clusters["child"] - n_points] = clusters["lambda_val"]
        cluster = np.zeros(n_points, dtype=np.int64)
        fall = np.zeros(n_points)
        cluster[points["child"]] = points["parent"] - n_points
        fall[points["child"]] = points["lambda_val"]
        return cls(above, birth, cluster, fall)

    @property
    def n_clusters(self) -> int:
        return int(self.above.size)

    def stability(self) -> Float:
        """(n_clusters,) sum over the points of the density to which they stay, minus its birth.

        Points stay until they fall out or the cluster splits. Infinite densities count as the
        largest finite one, so that sums stay finite.
        """
        most = max(_largest_finite(self.fall), _largest_finite(self.birth))
        birth, fall = np.minimum(self.birth, most), np.minimum(self.fall, most)
        inside = np.bincount(self.cluster, minlength=self.n_clusters)
        size = under(self.above.astype(np.int32), inside)
        total = np.bincount(self.cluster, fall, self.n_clusters)
        child = np.arange(1, self.n_clusters)
        total += np.bincount(self.above[child], birth[child] * size[child], self.n_clusters)
        return total - birth * size

    def split_distance(self) -> Float:
        """(n_clusters,) distance at which a cluster splits into clusters; 0 where it does not."""
        height = np.zeros(self.n_clusters)
        child = np.arange(1, self.n_clusters)
        height[self.above[child]] = 1.0 / self.birth[child]
        return height

    def chosen(self, label: Int) -> Int:
        """(n_labels,) the cluster that each label stands for: the lowest over all its points."""
        n_labels = int(label.max(initial=-1)) + 1
        depth = np.zeros(self.n_clusters, dtype=np.int64)
        for cluster in range(1, self.n_clusters):
            depth[cluster] = depth[self.above[cluster]] + 1
        lowest = np.full(n_labels, -1, dtype=np.int64)
        pairs = np.unique(np.stack([label, self.cluster])[:, label >= 0], axis=1)
        for number, cluster in pairs.T.tolist():
            ancestor = int(lowest[number])
            if ancestor < 0:
                ancestor = cluster
            while ancestor != cluster:
                if depth[ancestor] >= depth[cluster]:
                    ancestor = int(self.above[ancestor])
                else:
                    cluster = int(self.above[cluster])
            lowest[number] = cluster
        return lowest


def tree_of(condensed: Condensed, label: Int) -> Tree:
    """The tree with the chosen clusters as leaves, named by their labels, below their ancestors.

    label : (n_points,) chosen cluster of each point, -1 for noise, which lies in the leaf 'noise'
        under the root. Clusters of noise only, and splits with one remaining side, are left out.

    Heights are the distances at which a node splits; leaves have 0. Extra columns: `cluster`, the
    label of a chosen cluster, else -1; `birth`, the density (1 / distance) at which it splits off;
    `stability`.
    """
    node = condensed.chosen(label)
    retained = np.zeros(condensed.n_clusters, dtype=bool)
    retained[0] = True
    for cluster in node.tolist():
        while not retained[cluster]:
            retained[cluster] = True
            cluster = int(condensed.above[cluster])
    row_of = np.cumsum(retained) - 1
    rows = np.flatnonzero(retained)
    parent = np.where(rows == 0, -1, row_of[condensed.above[rows]])
    height = condensed.split_distance()[rows]
    height[np.bincount(parent[1:], minlength=rows.size) == 0] = 0.0
    most = _largest_finite(condensed.birth)
    birth, stability = np.minimum(condensed.birth, most)[rows], condensed.stability()[rows]
    place = row_of[node]
    leaf = place[label] if node.size else np.zeros_like(label)
    columns = [parent, height, birth, stability]
    if node.size and node[0] == 0:
        # The root is the only cluster: it becomes a leaf beside the noise.
        columns = [np.append(column, column[0]) for column in columns]
        columns[0][-1], columns[1][-1] = 0, 0.0
        place = np.array([rows.size])
        leaf = np.full_like(label, rows.size)
    n_rows = columns[0].size
    cluster, name = np.full(n_rows, -1), np.full(n_rows, None, dtype=object)
    cluster[place] = np.arange(node.size)
    name[place] = [str(number) for number in range(node.size)]
    if (label < 0).any():
        leaf[label < 0] = n_rows
        columns = [np.append(column, 0.0 if column.dtype.kind == "f" else 0) for column in columns]
        cluster, name = np.append(cluster, -1), np.append(name, "noise")
    parent, height, birth, stability = columns
    if not height[0] and parent.size > 1:
        # With one cluster or none the root does not split: its height is the least density's.
        least = condensed.fall.min()
        height[0] = 1.0 / least if least > 0 else 0.0
    extra = {"cluster": cluster, "birth": birth, "stability": stability}
    return contract_unary(from_parents(parent, height, name, leaf, extra=extra))


def _largest_finite(values: Float) -> float:
    return float(values[np.isfinite(values)].max(initial=0.0))


HdbscanMetric = Literal[
    "euclidean", "cityblock", "chebyshev", "canberra", "cosine", "correlation", "braycurtis"
]

BY_TREE = ("euclidean", "cityblock", "chebyshev", "canberra")
FEW_FEATURES = 10
"""Up to this many features, search trees find spanning trees faster than comparing all pairs."""
FEW_POINTS = 3_000
MANY_FEATURES = 200
"""Up to so many points with at least so many features, storing all distances is faster than
computing them by a search tree and again for the spanning tree; 234 MB at most."""

MOST_POINTS = 200_000
MOST_POINTS_FEW = 2_000_000


class HdbscanParams(Params):
    min_cluster_size: int = Field(5, ge=2, le=1_000_000, description="Smallest size of a cluster.")
    min_samples: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description=(
            "Which nearest neighbour's distance measures the density at a point; larger values "
            "give more noise. Default: 'min_cluster_size'."
        ),
    )
    metric: HdbscanMetric = Field(
        "euclidean",
        description=(
            "Distance between points, as SciPy's pdist defines it. It applies to the input "
            "'features' and must stay 'euclidean' with 'distances'."
        ),
    )
    cluster_selection_method: Literal["eom", "leaf"] = Field(
        "eom",
        description=(
            "Which clusters of the condensed tree are chosen: 'eom' the most stable "
            "clusters, 'leaf' the leaves of the tree, which are smaller and more even in size."
        ),
    )
    cluster_selection_epsilon: float = Field(
        0.0,
        ge=0,
        le=1e15,
        description="Clusters are not split at distances smaller than this.",
    )
    max_cluster_size: int | None = Field(
        None,
        ge=2,
        le=1_000_000_000,
        description="With 'eom': largest size of a cluster. Default: no limit.",
    )
    allow_single_cluster: bool = Field(
        False, description="Whether the root may be chosen as the only cluster."
    )


class Hdbscan(Method[HdbscanParams]):
    """See the module's docstring."""

    title = "HDBSCAN"
    paper = Paper(
        "Hierarchical Density Estimates for Data Clustering, Visualization, and Outlier Detection",
        2015,
        "ACM TKDD 10(1)",
    )
    Params = HdbscanParams
    inputs = {
        "features": Input(required=False, description="One row per point."),
        "distances": Input(
            required=False,
            description="Square symmetric matrix of distances between points, zero diagonal.",
        ),
    }
    one_of = ("features", "distances")
    advice = "The method 'scc', or 'hac' with connectivity 'knn', handles millions of points."

    def _memory(self, shapes: Shapes, params: HdbscanParams) -> int:
        role = next((role for role in self.one_of if len(shapes.get(role, ())) == 2), None)
        if role is None:
            return 0
        n_points, n_columns = shapes[role]
        by_tree = role == "features" and not _keeps_distances(params.metric, n_points, n_columns)
        few = by_tree and params.metric != "canberra" and n_columns <= FEW_FEATURES
        most = MOST_POINTS_FEW if few else MOST_POINTS
        if n_points > most:
            raise UsageError(
                f"Method 'hdbscan' accepts at most {most:,} points of {n_columns} features; there "
                f"are {n_points:,}. {self.advice}",
                code="too-large",
                role=role,
            )
        if by_tree:
            return n_points * (24 * n_columns + 600)
        return 26 * n_points * n_points

    def _check(self, data: Data, params: HdbscanParams) -> None:
        role = _role(data)
        values = require_points(data, role)
        n_points, n_columns = values.shape
        if role == "distances" and n_points != n_columns:
            raise UsageError(
                f"Input 'distances' has {n_points} rows and {n_columns} columns; it must be "
                "square.",
                code="wrong-shape",
                role=role,
            )
        if role == "distances" and params.metric != "euclidean":
            raise UsageError(
                "Parameter 'metric' applies to the input 'features'; leave it out when 'distances' "
                "are given.",
                code="wrong-parameter",
                parameter="metric",
            )
        if params.min_cluster_size > n_points:
            refuse_clusters(params.min_cluster_size, n_points, "point(s)", "min_cluster_size")
        if (params.min_samples or 0) >= n_points:
            refuse_clusters(params.min_samples or 0, n_points, "point(s)", "min_samples")
        require_finite(values, role)
        if role == "features":
            require_squares(values)

    def _fit(self, data: Data, params: HdbscanParams, run: Run) -> Fitted:
        import hdbscan

        role = _role(data)
        run.progress(0.05, "measuring distances")
        n_points, n_columns = data.dense(role).shape
        values, metric = _as_expected(data.dense(role), role, params)
        algorithm = "prims_balltree" if metric == "canberra" else "prims_kdtree"
        if metric not in BY_TREE:
            algorithm = "generic"
        elif metric != "canberra" and n_columns <= FEW_FEATURES:
            algorithm = "boruvka_kdtree"
        run.progress(0.1, "clustering")
        with warnings.catch_warnings():
            # About deprecated calls of scikit-learn and about infinite densities.
            warnings.simplefilter("ignore")
            clusterer = hdbscan.HDBSCAN(
                min_cluster_size=params.min_cluster_size,
                # The library would lower it to this number by itself.
                min_samples=min(params.min_samples or params.min_cluster_size, n_points - 1),
                metric=metric,
                algorithm=algorithm,
                approx_min_span_tree=False,
                core_dist_n_jobs=1,
                cluster_selection_method=params.cluster_selection_method,
                cluster_selection_epsilon=params.cluster_selection_epsilon,
                max_cluster_size=params.max_cluster_size or 0,
                allow_single_cluster=params.allow_single_cluster,
            ).fit(values)
            run.progress(0.9, "scoring outliers")
            outlier = np.nan_to_num(clusterer.outlier_scores_)
        label = _by_size(clusterer.labels_.astype(np.int64))
        rows = clusterer.condensed_tree_.to_numpy()
        tree = _with_points(
            tree_of(Condensed.of(rows, n_points), label), clusterer.probabilities_, outlier
        )
        noise = int((label < 0).sum())
        n_clusters = int(label.max(initial=-1)) + 1
        notes: tuple[str, ...] = ()
        if n_clusters == 0:
            notes = (
                "No cluster was found: all points are noise. Lower 'min_cluster_size' or "
                "'min_samples', or set 'allow_single_cluster'.",
            )
        return Fitted(
            tree=tree,
            metrics={"n_clusters": float(n_clusters), "n_noise": float(noise)},
            point_columns={"probability": clusterer.probabilities_, "outlier_score": outlier},
            warnings=notes,
        )


def _role(data: Data) -> str:
    return "features" if "features" in data else "distances"


def _keeps_distances(metric: HdbscanMetric, n_points: int, n_columns: int) -> bool:
    """Whether the distances of all pairs are stored: the result is the same."""
    few = n_points <= FEW_POINTS and n_columns >= MANY_FEATURES
    return metric not in BY_TREE or few


def _as_expected(values: Array, role: str, params: HdbscanParams) -> tuple[Array, str]:
    """Points or a square matrix of distances for the library, and the name of its metric."""
    from scipy.spatial.distance import squareform

    if role == "distances":
        return squareform(condensed_distances(values), checks=False), "precomputed"
    if params.metric in ("cosine", "correlation"):
        flat(values, params.metric)  # Refuses rows without a direction; the library would not.
    if params.metric == "braycurtis" or (
        params.metric in BY_TREE and _keeps_distances(params.metric, *values.shape)
    ):
        return squareform(pairwise(values, params.metric), checks=False), "precomputed"
    # A copy: the library needs a writable array.
    return np.array(values, dtype=np.float64, order="C"), params.metric


def _by_size(label: Int) -> Int:
    """Labels renumbered from the largest cluster on, ties ordered by their first points."""
    used, first, size = np.unique(label[label >= 0], return_index=True, return_counts=True)
    if not used.size:
        return label
    order = by_size(size, first[:, None].astype(np.float64))
    renumbered = label.copy()
    renumbered[label >= 0] = reorder(label[label >= 0], order)
    return renumbered


def _with_points(tree: Tree, probability: Float, outlier: Float) -> Tree:
    """The tree with columns for the mean probability and outlier score of each node's points."""
    columns = {"probability": probability, "outlier_score": outlier}
    means = {
        name: under(tree.parent, np.bincount(tree.leaf_of_point, value, tree.n_nodes)) / tree.size
        for name, value in columns.items()
    }
    return replace(tree, extra={**tree.extra, **means})
