"""The base of methods that learn a transformation from known clusters, and find new ones in it."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from models.answers.beside_tree import FeatureStretches
from models.arrays import Array, Arrays, Float, Matrix
from models.clusters.choosing import Choice, check_count, highest, lowest
from models.clusters.counts import term_names
from models.clusters.placing import empty_cluster_warnings, normalize, placed
from models.errors import UsageError
from models.inputs.checks import require_columns, require_rows, require_squares, require_width
from models.inputs.data import Data, require_finite
from models.method import Fitted, Method, Model, Predictions, Run, Shapes
from models.methods.labelled.discovery.finding import Discovery, find
from models.methods.labelled.discovery.mixture import Clusterer, Mixture, clustered
from models.methods.labelled.discovery.shapes import Covariance, covariance_of
from models.methods.labelled.supervision.inputs import (
    INPUTS,
    SOME_OF,
    DiscoveryParams,
    KnownClusters,
    Labels,
    read_labels,
)
from models.methods.labelled.supervision.transformation import (
    Preparation,
    Transformation,
    prepare,
    spreads,
)
from models.parameters import Choice as Chosen
from models.running.progress import Progress, subprogress
from models.tree.build import from_partition
from models.tree.tree import Tree

P = TypeVar("P", bound=DiscoveryParams)


@dataclass(frozen=True, slots=True)
class Learned:
    """matrix : (r, p) L, by which prepared rows are multiplied.

    covariance : of the clusters of transformed rows. because : why, where it was chosen.
    metrics, curves, warnings : as in `Fitted`.
    """

    matrix: Float
    covariance: Covariance = "spherical"
    because: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, list[tuple[int, float]]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """points : (n_rows, p) prepared rows. labels : of all rows."""

    points: Array
    labels: Labels

    @property
    def known(self) -> KnownClusters:
        rows = np.flatnonzero(self.labels.code >= 0)
        return KnownClusters(self.points[rows], self.labels.code[rows], self.labels.n_clusters)

    @property
    def free(self) -> Array:
        """The rows that are not labelled."""
        return self.points[self.labels.free]


class LabelledMethod(Method[P]):
    """A subclass says how it learns."""

    inputs = INPUTS
    some_of = SOME_OF
    outputs = ("tree", "model", "logits", "transformation")
    placing = "its most probable cluster"
    advice = "Use a sample of the rows, or cut them to fewer columns ('n_components')."

    @abstractmethod
    def _learn(self, prepared: Prepared, params: P, run: Run, progress: Progress) -> Learned:
        """Hook: the transformation."""

    def _prepare(self, features: Matrix, params: P) -> tuple[Preparation, Array, tuple[str, ...]]:
        """Hook: the preparation, the prepared rows, warnings."""
        return prepare(features, params.n_components, params.seed)

    def _clusterer(self, params: P) -> Clusterer:
        """Hook: how transformed rows are clustered."""
        return params.clusterer

    def _clustered(
        self,
        prepared: Prepared,
        learned: Learned,
        n_new: int,
        params: P,
        run: Run,
        progress: Progress,
    ) -> tuple[Learned, Discovery]:
        """Hook: the new clusters, and the transformation that they were found under, which may be
        another than the learned one."""
        discovery = find(
            _folded(prepared.points, learned),
            prepared.labels.code,
            n_new,
            clusterer=self._clusterer(params),
            may_join=params.may_join,
            n_init=params.n_init,
            rng=run.rng,
            progress=progress,
            threads=run.threads,
            covariance=learned.covariance,
        )
        return learned, discovery

    def _memory(self, shapes: Shapes, params: P) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_rows, n_columns = shapes["features"]
        return 8 * n_rows * (3 * min(n_columns, 1000) + 4 * (params.most + 20)) + 48 * n_columns**2

    def _check(self, data: Data, params: P) -> None:
        features = data.matrix("features")
        require_columns(features)
        require_rows(features, 2)
        require_finite(features, "features")
        require_squares(features)
        term_names(data, features.shape[1])
        labels = read_labels(data, features.shape[0])
        if params.choose is not None:
            check_count(Data({"features": features}), params)
        if labels.free.size < params.fewest:
            raise UsageError(
                f"Parameter {params.count_parameter!r} is {params.fewest}, but only "
                f"{labels.free.size} row(s) are not labelled.",
                code="too-few-points",
                parameter=params.count_parameter,
            )

    def _fit(self, data: Data, params: P, run: Run) -> Fitted:
        features = data.matrix("features")
        labels = read_labels(data, features.shape[0])
        run.progress(0.02, "preparing")
        preparation, points, notes = self._prepare(features, params)
        prepared = Prepared(points, labels)
        learned = self._learn(prepared, params, run, subprogress(run.progress, 0.05, 0.6))
        if not learned.matrix.size:
            raise UsageError(
                "The learned transformation is 0, so that all rows fall together; use a smaller "
                "'gamma'.",
                code="wrong-parameter",
                parameter="gamma",
            )
        choice, learned, discovery = self._discover(prepared, learned, params, run)
        n_new = discovery.logits.shape[1] - labels.n_clusters
        names = [*labels.names, *(f"new {number + 1}" for number in range(n_new))]
        transformation = Transformation.of(preparation, learned.matrix)
        mixture = discovery.mixture
        return Fitted(
            tree=from_partition(discovery.cluster, len(names), names=names),
            model=Model(
                {
                    **transformation.arrays,
                    "spread": spreads(features),
                    **_stored_names(term_names(data, features.shape[1])),
                    "means": mixture.means,
                    "weights": mixture.weights,
                    "variance": np.array([mixture.variance]),
                    **({} if mixture.factors is None else {"factors": mixture.factors}),
                },
                {
                    "kind": mixture.kind,
                    "n_known": labels.n_clusters,
                    "covariance": covariance_of(mixture),
                },
            ),
            logits=discovery.logits,
            features=_folded(points, learned),
            metrics={
                "n_components": float(learned.matrix.shape[0]),
                "log_likelihood": discovery.log_likelihood,
                "log_likelihood_mean": float(discovery.log_likelihoods.mean()),
                "bic": discovery.bic,
                **choice.metrics,
                **learned.metrics,
            },
            curves={**choice.curves, **learned.curves},
            chosen={"covariance": Chosen(covariance_of(mixture), learned.because)}
            if learned.because
            else {},
            warnings=(
                *notes,
                *labels.warnings,
                *learned.warnings,
                *choice.warnings,
                *discovery.warnings,
                *empty_cluster_warnings(discovery.cluster, len(names)),
            ),
        )

    def _discover(
        self, prepared: Prepared, learned: Learned, params: P, run: Run
    ) -> tuple[Choice, Learned, Discovery]:
        """The new clusters with their transformation, and how their number was chosen."""
        free = prepared.labels.free
        numbers = (
            [params.n_clusters]
            if params.choose is None
            else range(params.min_clusters, min(params.max_clusters, free.size - 1) + 1)
        )
        results = []
        for place, number in enumerate(numbers):
            begin, end = (0.6 + 0.38 * (place + step) / len(numbers) for step in (0, 1))
            progress = subprogress(run.progress, begin, end)
            results.append(self._clustered(prepared, learned, number, params, run, progress))
        if params.choose is None:
            return Choice.given(params.n_clusters), *results[0]
        if params.choose == "bic":
            choice = lowest("bic", numbers, [discovery.bic for _, discovery in results])
        else:
            seen = [
                clustered(_folded(prepared.free, under), self._clusterer(params))
                for under, _ in results
            ]
            values = [
                _silhouette(rows, discovery.cluster[free])
                for rows, (_, discovery) in zip(seen, results, strict=True)
            ]
            choice = highest("silhouette", numbers, values)
        return choice, *results[list(numbers).index(choice.n_clusters)]

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        logits = self._logits(model, data)
        return placed(tree, logits.argmax(axis=1), logits)

    def _logits(self, model: Model, data: Data) -> Float:
        rows = clustered(_transformed(model, data), model.facts["kind"])
        arrays: Mapping[str, Any] = model.arrays
        mixture = Mixture(
            model.facts["kind"],
            arrays["means"],
            arrays["weights"],
            float(arrays["variance"][0]),
            arrays.get("factors"),
            model.facts.get("covariance") == "full",
        )
        logits = mixture.log_joint(rows)
        normalize(logits)
        return logits

    def _transform(self, model: Model, data: Data) -> Array:
        single = data.matrix("features").dtype == np.float32
        with np.errstate(over="ignore", invalid="ignore"):
            rows = _transformed(model, data)
            return rows.astype(np.float32) if single else rows

    def stretches(self, model: Model) -> FeatureStretches:
        transformation = Transformation.of_arrays(model.arrays)
        return FeatureStretches(
            stretch=transformation.stretch,
            spread=np.asarray(model.arrays["spread"]),
            n_components=transformation.projection.shape[1],
            names=_read_names(model.arrays),
        )


def _transformed(model: Model, data: Data) -> Array:
    """(n_rows, r) float64."""
    features = data.matrix("features")
    require_width(features, model.arrays["projection"].shape[0])
    require_finite(features, "features")
    return Transformation.of_arrays(model.arrays).apply(features)


def _stored_names(names: list[str] | None) -> dict[str, Array]:
    """Names as an array of a model; nothing without them."""
    if names is None:
        return {}
    return {"feature_names": np.frombuffer(json.dumps(names).encode(), dtype=np.uint8).copy()}


def _read_names(arrays: Arrays) -> list[str] | None:
    stored = arrays.get("feature_names")
    if stored is None:
        return None
    names: list[str] = json.loads(stored.tobytes())
    return names


def _folded(points: Array, learned: Learned) -> Array:
    """(n_rows, r)."""
    return np.asarray(points @ learned.matrix.T.astype(points.dtype))


def _silhouette(points: Array, cluster: Array) -> float:
    """The mean silhouette, of at most 2,000 rows of them; -1 for a single cluster."""
    from sklearn.metrics import silhouette_score

    if np.unique(cluster).size < 2:
        return -1.0
    rows = np.linspace(0, cluster.size - 1, min(cluster.size, 2000)).astype(np.int64)
    if np.unique(cluster[rows]).size < 2:
        return -1.0
    return float(silhouette_score(points[rows], cluster[rows]))
