"""Spectral clustering: k-means on the leading eigenvectors of an affinity graph.

The graph joins each point to its nearest neighbours ('knn': half an edge for each of the two points
that is among the other's nearest), or all points by exp(-gamma d^2) ('rbf'), or it is a given
matrix of similarities. Distances are Euclidean, or of all pairs by 'hamming', 'jaccard' or, of
items, Gower's (`models.graphs.measured`). Its eigenvectors solve the relaxed normalized cut
(`models.graphs.spectra`). The coordinates of a point, fitted or new, are the mean of the
eigenvectors over the fitted points weighted by its affinity to them (`means.affinity`); with the
input 'similarity', a new point comes with its similarities to all fitted points. k-means runs on
the coordinates and makes the soft assignment there, as `kmeans` does.

The number of clusters is given, or chosen: by the largest 'eigengap' lambda_k - lambda_k+1, or by
the highest mean silhouette in the coordinates.

Source: Shi and Malik, "Normalized Cuts and Image Segmentation" (2000); von Luxburg, "A Tutorial on
Spectral Clustering" (2007), sections 7 and 8.3; coordinates by Coifman and Lafon, "Diffusion maps"
(2006). scikit-learn finds the neighbours, and ARPACK through SciPy the eigenvectors; for more than
two features without a factorization, which would take long.

Cost: 'knn' O(N^2 D) time, less in few dimensions, and O(N k) memory; 'rbf' and a dense similarity
O(N^2 D) time and 8 N^2 bytes, and so another metric than Euclidean. The model keeps the fitted
points.

Measured: CPU time as N^1.4 D^0.1 K^0.1, from 3,000 x 32 and 8 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from models.arrays import Float, Int
from models.clusters.choosing import Choice, Count, check_count, highest, silhouettes
from models.clusters.kmeans import KMeansEffort, best_run, nearest, spherical, unconverged_warnings
from models.clusters.placing import empty_cluster_warnings, placed
from models.errors import UsageError
from models.graphs.measured import (
    ITEMS_INPUT,
    Measured,
    bytes_of_measured,
    check_metric,
    distances_to,
    kept,
    measured,
    measured_features,
)
from models.graphs.spectra import Spectrum
from models.inputs.checks import (
    as_floats,
    count_distinct,
    refuse_clusters,
    require_columns,
    require_distinct,
    require_rows,
    require_squares,
)
from models.inputs.data import Data, require_finite
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.partitions.means.affinity import (
    AffinityGraph,
    check_similarity,
    coordinates,
    coordinates_at,
    of_distances,
    of_features,
    of_similarity,
)
from models.numerics.distances import DistanceMetric, presence_warnings
from models.numerics.gower import ROLE as ITEMS
from models.parameters import Seed, Weights
from models.running.budget import Cost
from models.running.progress import progress_parts, subprogress
from models.running.threads import limited
from models.tree.build import from_partition
from models.tree.tree import Tree

MOST_POINTS = 200_000
"""The number of points at which finding neighbours takes most of an hour."""

LEAST_EIGENVALUE = 1e-8


class SpectralParams(Count):
    choose: Literal["eigengap", "silhouette"] | None = Field(
        None,
        description=(
            "Choose the number of clusters between 'min_clusters' and 'max_clusters': the largest "
            "'eigengap' of the graph, or the highest mean 'silhouette' of the coordinates."
        ),
    )
    affinity: Literal["knn", "rbf"] = Field(
        "knn",
        description=(
            "Graph of the features: 'knn' joins nearest neighbours, 'rbf' all points by "
            "exp(-gamma d^2). Ignored with the input 'similarity'."
        ),
    )
    metric: Literal["euclidean", "hamming", "jaccard", "gower"] = Field(
        "euclidean",
        description=(
            "Distance between points; 'jaccard' takes values other than 0 as present. It applies "
            "to the input 'features' and must stay 'euclidean' with 'similarity'; 'items' are "
            "compared by 'gower', which applies to them alone."
        ),
    )
    weights: Weights = None
    n_neighbors: int = Field(
        10, ge=2, le=1000, description="Neighbours of a point in the graph, itself among them."
    )
    gamma: float | None = Field(
        None,
        gt=0,
        le=1e12,
        description=(
            "Gamma of 'rbf'; default: 1 / (2 s^2), s the mean distance of points to their "
            "'n_neighbors' nearest."
        ),
    )
    n_init: int = Field(
        10, ge=1, le=1000, description="Number of k-means runs; the best run is kept."
    )
    max_iter: int = Field(
        300, ge=1, le=100_000, description="Largest number of iterations of a k-means run."
    )
    seed: Seed = 0

    @property
    def distance(self) -> DistanceMetric:
        """The metric of features."""
        return "euclidean" if self.metric == "gower" else self.metric


class Spectral(Method[SpectralParams]):
    """See the module's docstring."""

    title = "Spectral clustering"
    paper = Paper("Normalized Cuts and Image Segmentation", 2000, "IEEE Transactions PAMI 22(8)")
    Params = SpectralParams
    cost = Cost(1e-8, rows=2, columns=0.3)
    inputs = {
        "features": Input(required=False, description="One row per point."),
        "similarity": Input(
            required=False,
            sparse=True,
            description=(
                "Square symmetric matrix of similarities, none negative; on prediction one row "
                "per new point, one column per fitted one."
            ),
        ),
        ITEMS: ITEMS_INPUT,
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    one_of = ("features", "similarity", ITEMS)
    outputs = ("tree", "model", "logits")
    placing = "the cluster whose centre is nearest to the row's coordinates on the graph"
    advice = (
        "Use affinity 'knn' or a sparse similarity, fit a sample of the points and predict the "
        "rest, or use 'minibatch-kmeans'."
    )
    example = {"n_clusters": 3, "n_init": 2}

    def _memory(self, shapes: Shapes, params: SpectralParams) -> int:
        role = next((role for role in self.one_of if role in shapes), "similarity")
        n_points = shapes.get(role, (0,))[0]
        if role != "similarity" and n_points > MOST_POINTS:
            raise UsageError(
                f"Method 'spectral' compares all pairs of {n_points:,} points; it takes at most "
                f"{MOST_POINTS:,}. {self.advice}",
                code="too-large",
                role=role,
            )
        # It is not known whether a similarity is sparse before it is read.
        full = 2 * 8 * n_points**2 if role != "similarity" and params.affinity == "rbf" else 0
        if role == ITEMS or (role == "features" and params.distance != "euclidean"):
            n_columns = shapes[role][1] if len(shapes.get(role, ())) > 1 else 0
            full += bytes_of_measured(n_points, n_columns)
        return full + 3 * 8 * n_points * params.most

    def _check(self, data: Data, params: SpectralParams) -> None:
        check_count(data, params)
        role = next(role for role in self.one_of if role in data)
        check_metric(role, params.metric, params.weights)
        pairs = _pairs(data, params)
        if pairs is not None:
            count = params.count_parameter
            if pairs.n_points < params.fewest:
                refuse_clusters(params.fewest, pairs.n_points, "point(s)", count, role)
            n_distinct = count_distinct(pairs.points, params.fewest)
            if n_distinct < params.fewest:
                refuse_clusters(params.fewest, n_distinct, "distinct point(s)", count, role)
            return
        if "similarity" in data:
            if params.metric != "euclidean":
                raise UsageError(
                    "Parameter 'metric' applies to the input 'features'; leave it out when "
                    "'similarity' is given.",
                    code="wrong-parameter",
                    parameter="metric",
                )
            values = data.matrix("similarity")
            if values.shape[0] < params.fewest:
                refuse_clusters(
                    params.fewest, values.shape[0], "point(s)", params.count_parameter, "similarity"
                )
            check_similarity(values, self.advice)
            return
        features = data.dense("features")
        require_columns(features)
        require_rows(features, params.fewest, params.count_parameter)
        require_finite(features, "features")
        require_squares(features)
        require_distinct(features, params.fewest, params.count_parameter)

    def _fit(self, data: Data, params: SpectralParams, run: Run) -> Fitted:

        run.progress(0.05, "joining points")
        pairs = _pairs(data, params)
        with limited(run.threads):
            if pairs is None:
                graph = _graph(data, params)
            else:
                graph = of_distances(
                    pairs.square(subprogress(run.progress, 0.05, 0.25)),
                    ITEMS if ITEMS in data else "features",
                    params.affinity,
                    params.n_neighbors,
                    params.gamma,
                )
            run.progress(0.3, "finding eigenvectors")
            spectrum = Spectrum(graph.affinity)
            _require_parts(spectrum, params)
            n_points = len(spectrum.parts)
            number = min(params.most + (params.choose is not None), n_points)
            values, vectors = spectrum.leading(number, run.rng, planar=graph.planar)
            choice = Choice.given(params.n_clusters)
            if params.choose is not None:
                choice = _chosen(graph, spectrum, values, vectors, params, run)
            n_clusters = choice.n_clusters
            vectors = np.ascontiguousarray(vectors[:, :n_clusters])
            places = graph.coordinates(vectors)
        effort = KMeansEffort(params.n_init, params.max_iter)
        best = best_run(places, n_clusters, effort, run.rng, subprogress(run.progress, 0.7, 0.9))
        run.progress(0.9, "assigning points")
        partition = spherical(places, best.centers)
        model = Model({**partition.arrays, **graph.kept, "vectors": vectors}, graph.facts)
        notes: tuple[str, ...] = () if pairs is None else pairs.warnings
        if pairs is not None and graph.role == "features":
            notes += presence_warnings(pairs.points, params.distance)
        return Fitted(
            tree=from_partition(
                partition.cluster, n_clusters, names=data.leaf_names(n_clusters, "cluster")
            ),
            model=model if pairs is None else pairs.with_points(model),
            logits=partition.logits,
            metrics={
                "n_iter": float(best.n_iter),
                "variance": partition.variance,
                **choice.metrics,
            },
            curves=choice.curves,
            warnings=(
                *notes,
                *graph.warnings,
                *_graph_warnings(spectrum, values[:n_clusters]),
                *choice.warnings,
                *unconverged_warnings(best.ended, params.max_iter),
                *partition.warnings,
                *empty_cluster_warnings(partition.cluster, n_clusters),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest centre of the coordinates; its probability as by `kmeans`."""
        cluster, logits, notes = self._placed(model, data)
        found = placed(tree, cluster, logits)
        return replace(found, warnings=(*found.warnings, *notes)) if notes else found

    def _logits(self, model: Model, data: Data) -> Float:
        return self._placed(model, data)[1]

    def _placed(self, model: Model, data: Data) -> tuple[Int, Float, tuple[str, ...]]:
        pairs = kept(model)
        if pairs is None:
            return *nearest(model, coordinates(model.arrays, model.facts, data)), ()
        distances, notes = distances_to(pairs, data, self.id)
        places = coordinates_at(distances, model.arrays, model.facts)
        return *nearest(model, places), notes


def _pairs(data: Data, params: SpectralParams) -> Measured | None:
    """The points that are compared by pairs; None for Euclidean features and for similarities."""
    if "features" in data and params.distance != "euclidean":
        return measured_features(data, params.distance)
    return measured(data, params.distance, params.weights) if ITEMS in data else None


def _graph(data: Data, params: SpectralParams) -> AffinityGraph:
    if "similarity" in data:
        return of_similarity(data.matrix("similarity"))
    features = as_floats(data.dense("features"))
    assert isinstance(features, np.ndarray)
    return of_features(features, params.affinity, params.n_neighbors, params.gamma)


def _chosen(
    graph: AffinityGraph,
    spectrum: Spectrum,
    values: Float,
    vectors: Float,
    params: SpectralParams,
    run: Run,
) -> Choice:
    """The number of clusters by a criterion, at least the number of components of the graph."""
    fewest = max(params.min_clusters, spectrum.n_parts)
    most = min(params.max_clusters, len(vectors) - 1)
    if fewest > most:
        refuse_clusters(fewest, len(vectors), "points", "min_clusters", graph.role)
    numbers = tuple(range(fewest, most + 1))
    notes: tuple[str, ...] = ()
    if most < params.max_clusters:
        notes = (
            f"There are {len(vectors)} points, so the number of clusters was chosen up to {most}, "
            f"not 'max_clusters' = {params.max_clusters}.",
        )
    if params.choose == "eigengap":
        gaps = [float(values[number - 1] - values[number]) for number in numbers]
        return highest("eigengap", numbers, gaps, None, notes)
    measured = []
    effort = KMeansEffort(params.n_init, params.max_iter)
    coordinates_of_all = graph.coordinates(vectors)
    for part, number in progress_parts(subprogress(run.progress, 0.5, 0.7), 1.0, numbers):
        places = np.ascontiguousarray(coordinates_of_all[:, :number])
        cluster = best_run(places, number, effort, run.rng, subprogress(part, 0.0, 0.5)).cluster
        measured += silhouettes(places, [cluster], run.rng, subprogress(part, 0.5, 1.0))
    means, errors = [each.mean for each in measured], [each.error for each in measured]
    return highest("silhouette", numbers, means, errors, notes)


def _require_parts(spectrum: Spectrum, params: SpectralParams) -> None:
    """Raises UsageError if the graph has more components than the largest number of clusters."""
    if spectrum.n_parts <= params.most:
        return
    size = np.bincount(spectrum.parts)
    least = int(size.argmin())
    row = int(np.flatnonzero(spectrum.parts == least)[0])
    parameter = "n_clusters" if params.choose is None else "max_clusters"
    raise UsageError(
        f"The affinity graph falls into {spectrum.n_parts} parts that nothing joins, but "
        f"{parameter!r} is {params.most}; the smallest has {size[least]} point(s), the first in "
        f"row {row} (counted from 0). Raise {parameter!r} or 'n_neighbors', lower 'gamma', or "
        "leave out such points.",
        code="disconnected-graph",
        parameter=parameter,
        row=row,
    )


def _graph_warnings(spectrum: Spectrum, values: Float) -> tuple[str, ...]:
    """Warnings if the graph is not connected, or has less structure than clusters."""
    warnings = []
    if spectrum.n_parts > 1:
        warnings.append(
            f"The affinity graph falls into {spectrum.n_parts} parts that nothing joins."
        )
    positive = int((values > LEAST_EIGENVALUE).sum())
    if positive < len(values):
        warnings.append(
            f"Only {positive} of {len(values)} eigenvalues of the affinity graph are positive: "
            "the graph has no structure for more clusters than that."
        )
    return tuple(warnings)
