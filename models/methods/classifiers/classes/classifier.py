"""What all classifiers share: their inputs, the classes of the rows, and answers from scores.

A method of the family trains vectors of weights, one for each class or node (`_train`); the rest is
here.

`intervals` gives 95% intervals of predictions, from normal posteriors of the weights. The score of
a class at a row x has the mean mu.x and the variance x^T Psi x, classes independently of each
other. The interval of a probability is that of its log odds, carried over: the log odds are normal
to first order in the scores (the delta method), so the interval reflects how uncertain all classes'
weights are, not the best one's alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logsumexp

from models.arrays import Array, Arrays, Float, Int, Matrix, row_blocks
from models.errors import UsageError
from models.inputs.checks import blocks, require_columns, require_squares, require_width
from models.inputs.data import Data, require_finite
from models.method import Fitted, Method, Model, PredictionOptions, Predictions, Run, Shapes
from models.methods.classifiers.classes.answers import BLOCK, Link, Rule, Scorer, answers, scores
from models.methods.classifiers.classes.coordinates import (
    Center,
    Coordinates,
    coordinates_of,
    hardest,
    unheard,
)
from models.methods.classifiers.classes.cut_offs import BY_FOLDS
from models.methods.classifiers.classes.inputs import FLAT_INPUTS, ClassifierParams
from models.methods.classifiers.classes.problem import (
    Arrangement,
    Problem,
    arrangement_of,
    design_bytes,
    design_of,
    require_features,
)
from models.methods.classifiers.classes.structure import ClassGraph, ClassTree, PathSums
from models.methods.classifiers.classes.validation import (
    CANDIDATES,
    Tuning,
    folds,
    tally,
    tuning_of,
)
from models.running import budget
from models.running.progress import Alone, Piece, Progress, subprogress
from models.running.threads import limited
from models.tree.tree import Tree, sizes

DEVIATIONS = 1.959963984540054
"""Standard deviations of a normal distribution within which 95% lie."""


def intervals(features: Matrix, scorer: Scorer, covariance: Array, rule: Rule) -> Arrays:
    """Columns of rows: the 95% intervals of the best class's score and probability.

    covariance : as in `Trained`; its columns are the features, with the intercept last where there
        is one. A full one is of the weights of the scorer.

    O(N D K), with full covariances O(N D^2 K).
    """
    columns = {
        name: np.empty(features.shape[0])
        for name in ("score_low", "score_high", "probability_low", "probability_high")
    }
    weights = scorer.dense
    width = max(weights.shape)
    for rows in row_blocks(features.shape[0], width, BLOCK):
        part = features[rows]
        score = scorer.linear(part, weights)
        variance = score_variances(part, covariance, scorer.center)
        own = np.arange(score.shape[0]), score.argmax(axis=1)
        reach = DEVIATIONS * np.sqrt(variance[own])
        columns["score_low"][rows] = score[own] - reach
        columns["score_high"][rows] = score[own] + reach
        odds, odds_variance = log_odds(rule.slope * score, rule.slope**2 * variance, rule)
        reach = DEVIATIONS * np.sqrt(odds_variance)
        columns["probability_low"][rows] = expit(odds - reach)
        columns["probability_high"][rows] = expit(odds + reach)
    return columns


def score_variances(features: Matrix, covariance: Array, center: Center | None = None) -> Float:
    """(n_rows, n_classes) x^T Psi x, with the constant 1 in x where Psi has one column more.

    center : what x is measured from, where Psi is a full matrix.
    """
    n_rows, n_features = features.shape
    if covariance.ndim == 2:
        return scores(features * features, covariance)
    if center is not None:
        design = center.centered(features)
    else:
        constant = np.ones((n_rows, covariance.shape[1] - n_features))
        dense = features.toarray() if isinstance(features, sp.csr_array) else features
        design = np.concatenate([dense, constant], axis=1, dtype=np.float64)
    variance = np.empty((n_rows, covariance.shape[0]))
    for class_, own in enumerate(covariance):
        variance[:, class_] = np.einsum("ij,ij->i", design @ own.astype(np.float64), design)
    # Covariances are rounded to single precision.
    return np.maximum(variance, 0.0)


def log_odds(score: Float, variance: Float, rule: Rule) -> tuple[Float, Float]:
    """(n_rows,) mean and variance of the log odds of the best class's probability.

    score, variance : (n_rows, n_classes) of independent normal scores.
    """
    best = score.argmax(axis=1)[:, None]
    own = np.take_along_axis(score, best, axis=1)[:, 0]
    own_variance = np.take_along_axis(variance, best, axis=1)[:, 0]
    if rule.link == "logistic":
        if not rule.one_each:
            return own, own_variance
        # Probabilities are then shares of the sum: a softmax of log-probabilities.
        variance = variance * expit(-score) ** 2
        score = -np.logaddexp(0.0, -score)
        own = np.take_along_axis(score, best, axis=1)[:, 0]
        own_variance = np.take_along_axis(variance, best, axis=1)[:, 0]
    others = score.copy()
    np.put_along_axis(others, best, -np.inf, axis=1)
    total = logsumexp(others, axis=1)
    share = np.exp(others - total[:, None])
    return own - total, own_variance + (share**2 * variance).sum(axis=1)


VALIDATED = 0.8
"""The part of the progress at which the folds are done."""

SMALLEST = 2.0**-110
"""Weights of this size are kept to the last digit in single precision."""

BEST_BYTES = 100
"""Memory for each of a row's best classes, from scores to the file of predictions."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained classifier.

    weights : (n_classes, n_columns), columns as in `Problem.design`; or as in `Scorer`.
    tree : over the classes, if rows are to be decided down it; weights then belong to its nodes.
    covariance : of the weights' normal posterior, where the method has one: (n_classes, n_columns)
        variances of independent weights of the columns as they came, or (n_classes, n_columns,
        n_columns).
    converged : whether the method's criterion is met.
    metrics, curves, warnings : as in `Fitted`.
    """

    weights: Array | PathSums
    link: Link
    covariance: Array | None = None
    tree: ClassTree | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    converged: bool = True

    def scorer(self, one_each: bool, coordinates: Coordinates | None = None) -> Scorer:
        """From features to scores, with weights as they are stored.

        coordinates : of the columns of weights, where features are the columns as they came;
            weights are then in double precision.
        """
        if isinstance(self.weights, PathSums):
            return Scorer(self.weights, one_each)
        if coordinates is not None:
            plain = coordinates.plain(self.weights)
            return Scorer(plain, one_each, self.tree, coordinates.center)
        return Scorer(_single(self.weights), one_each, self.tree)


def _single(weights: Array) -> Array:
    """Weights in single precision; as they came where a column's have no room in it."""
    largest = np.abs(weights).max(axis=tuple(range(weights.ndim - 1)), initial=0.0)
    largest = largest[largest > 0.0]
    if ((largest < SMALLEST) | (largest > 1.0 / SMALLEST)).any():
        return weights
    return weights.astype(np.float32)


P = TypeVar("P", bound=ClassifierParams)


class Classifier(Method[P]):
    """Base of the family's methods."""

    inputs = FLAT_INPUTS
    outputs = ("tree", "model")
    placing = "the leaf of its best class"
    classifies = True
    distances = False
    several_labels = True
    """Whether a row may have several labels, or none of the classes."""
    proven: bool = False
    """Whether weights that are not shown to be near the optimum are refused where a column is the
    reason."""
    hurry: tuple[float, int] | None = None
    """The least `tol` and the most `max_iter` of trainings that only choose among others."""

    @abstractmethod
    def _train(self, problem: Problem, params: P, run: Run) -> Trained:
        """Hook: the weights of the classes."""

    def _trained(self, problem: Problem, params: P, run: Run) -> Trained:
        """`_train` with its threads and its part of the progress."""

        within = replace(run, progress=subprogress(run.progress, 0.02, 0.95))
        with limited(run.threads):
            return self._train(problem, params, within)

    def _hurried(self, params: P) -> P:
        """The parameters of trainings that only choose among others."""
        if self.hurry is None:
            return params
        tol, max_iter = self.hurry
        own = params.model_dump(include={"tol", "max_iter"})
        hurried = {"tol": max(own["tol"], tol), "max_iter": min(own["max_iter"], max_iter)}
        return params.model_copy(update=hurried)

    def _piece_of(self, problem: Problem, params: P, piece: Piece) -> Arrays:
        """Hook: a piece of a training that is cut into pieces."""
        raise NotImplementedError(f"{self.id} cuts its training into no pieces")

    def _memory(self, shapes: Shapes, params: P) -> int:
        """Before the classes and the number of stored values are known; see `_require`."""
        if len(shapes.get("features", ())) != 2:
            return 0
        n_rows, n_features = shapes["features"]
        return 32 * n_rows + 16 * n_features

    def _require(self, n_bytes: int) -> None:
        """Refuse a training that takes more memory than there is."""
        budget.require(self.id, n_bytes, self.advice)

    def _check(self, data: Data, params: P) -> None:
        features = data.matrix("features")
        require_columns(features)
        require_features(features)
        require_squares(features)

    def _fit(self, data: Data, params: P, run: Run) -> Fitted:
        run.progress(0.0, "reading classes")
        features = data.matrix("features")
        arrangement = arrangement_of(data, params.empty_classes == "leave-out")
        if not self._takes_several(params):
            self._require_one_each(arrangement)
        self._require(design_bytes(features, params.intercept))
        problem, warnings = _problem_of(data, features, arrangement, params.intercept)
        settled, tuning = self._tuned(problem, params, run)
        if tuning.tallies:
            run = replace(run, progress=subprogress(run.progress, VALIDATED, 1.0))
        trained = self._trained(problem, settled, run)
        run.progress(0.97, "building the tree")
        weight = getattr(settled, "C", None)
        small = () if weight is None else unheard(problem.as_given, features.shape[1], weight)
        coordinates = problem.coordinates
        scorer = trained.scorer(problem.one_each, coordinates)
        arrays: dict[str, Array] = {**scorer.arrays(), "node": arrangement.node}
        if tuning.calibration.thresholds:
            arrays["thresholds"] = np.array(tuning.calibration.thresholds)
        covariance = trained.covariance
        if covariance is not None:
            if coordinates is not None and covariance.ndim == 3:
                across = coordinates.plain(covariance).swapaxes(1, 2)
                covariance = coordinates.plain(across)
            arrays["covariance"] = covariance
        hard = None if trained.converged else hardest(problem.as_given, features.shape[1])
        if hard is not None and self.proven and problem.uneven:
            raise UsageError(
                f"No weights were shown to be as near the optimum as 'tol'. {hard[1]}",
                code="wrong-input",
                role="features",
                column=hard[0],
            )
        return Fitted(
            tree=_tree_of(arrangement, problem.one_each, features, scorer),
            model=Model(
                arrays=arrays,
                facts={
                    "names": arrangement.names,
                    "n_features": int(features.shape[1]),
                    "link": trained.link,
                    "one_each": problem.one_each,
                    "slope": tuning.calibration.slope,
                    "cut": list(tuning.calibration.cut),
                    "n_best": tuning.calibration.n_best,
                    "at_least_one": bool((np.diff(problem.start) > 0).all()),
                },
            ),
            metrics={
                "n_classes": float(problem.n_classes),
                **trained.metrics,
                **tuning.metrics,
            },
            curves={**trained.curves, **tuning.curves},
            warnings=(
                *arrangement.warnings,
                *warnings,
                *tuning.warnings,
                *trained.warnings,
                *small,
                *(() if hard is None else hard[1:]),
            ),
        )

    def seconds(self, shapes: Shapes, params: Mapping[str, Any]) -> float | None:
        """As of `Method`, for each fold of a choice of `C` or a calibration, and for the result."""
        once, chosen = super().seconds(shapes, params), params.get("C") == "auto"
        by_folds = params["calibrate"] or params["cut_off"] in BY_FOLDS
        if once is None or not (chosen or by_folds):
            return once
        return once * (1 + int(params["n_folds"]) * (len(CANDIDATES) if chosen else 1))

    def _tuned(self, problem: Problem, params: P, run: Run) -> tuple[P, Tuning]:
        """The parameters with a number for `C`, and what else held-out rows tell."""
        weight = getattr(params, "C", None)
        by_folds = params.cut_off in BY_FOLDS and not problem.one_each
        if weight != "auto" and not (params.calibrate or by_folds):
            return params, Tuning()
        values = CANDIDATES if weight == "auto" else (weight,)
        pieces: list[Piece] = [
            {"C": value, "fold": fold} for value in values for fold in range(params.n_folds)
        ]
        tallies: list[Arrays] = [{}] * len(pieces)
        for number, arrays in run.crew.compute(pieces):
            tallies[number] = arrays
        tuning = tuning_of(values, tallies, params.criterion, params.cut_off)
        if weight != "auto":
            return params, tuning
        return params.model_copy(update={"C": tuning.C}), tuning

    def _piece(
        self, data: Data, params: P, piece: Piece, progress: Progress, threads: int
    ) -> Arrays:
        """What one fold tells of one value of C; or a piece of the training itself."""

        arrangement = arrangement_of(data, params.empty_classes == "leave-out")
        problem, _ = _problem_of(data, data.matrix("features"), arrangement, params.intercept)
        if "fold" not in piece:
            with limited(threads):
                return self._piece_of(problem, params, piece)
        seed = getattr(params, "seed", 0)
        out = folds(problem, params.n_folds, np.random.default_rng(seed)) == piece["fold"]
        if piece["C"] is not None:
            params = params.model_copy(update={"C": float(piece["C"])})
        params = self._hurried(params)
        own = subprogress(progress, 0.0, VALIDATED)
        part = problem.part(~out)

        def compute(piece: Piece, within: Progress) -> Arrays:
            return self._piece_of(part, params, piece)

        alone = Run(np.random.default_rng(seed), own, threads, Alone(compute))
        trained = self._trained(part, params, alone)
        progress(VALIDATED, "validating")
        # Where all rows of several labels are held out, the training knows of none.
        link: Link = trained.link if problem.one_each else "logistic"
        scorer, one_each = trained.scorer(problem.one_each), problem.one_each
        return tally(problem.part(out), scorer, link, one_each, params.cut_off)

    def _classify(
        self, model: Model, tree: Tree, data: Data, options: PredictionOptions
    ) -> Predictions:
        """The best classes of each row; paths lead to the leaf of the best.

        Where the weights have a posterior, with the columns of `intervals`.
        """
        features, facts = data.matrix("features"), model.facts
        require_width(features, facts["n_features"])
        require_finite(features, "features")
        require_squares(features)
        n_best = features.shape[0] * min(options.top_k, len(facts["names"]))
        advice = "Ask for a smaller 'top_k', or place fewer rows at a time."
        budget.require(self.id, BEST_BYTES * n_best, advice)
        scorer = Scorer.of_model(model.arrays, facts["one_each"])
        rule = Rule(
            facts["link"],
            facts["one_each"],
            facts["slope"],
            tuple(facts["cut"]),
            int(facts.get("n_best", 0)),
            model.arrays.get("thresholds"),
            bool(facts.get("at_least_one", False)),
        )
        predictions = answers(
            (scorer(rows) for _, rows in blocks(features, max(tree.n_leaves, scorer.width))),
            features.shape[0],
            tree,
            np.asarray(model.arrays["node"]),
            list(facts["names"]),
            rule,
            options,
        )
        if "covariance" not in model.arrays:
            return predictions
        covariance = np.asarray(model.arrays["covariance"])
        return replace(predictions, columns=intervals(features, scorer, covariance, rule))

    def _takes_several(self, params: P) -> bool:
        """Hook: whether a row may have several labels with these parameters."""
        return self.several_labels

    def _require_one_each(self, arrangement: Arrangement) -> None:
        times = np.diff(arrangement.start)
        odd = np.flatnonzero((times != 1) & ~arrangement.unlabelled)
        if odd.size:
            row = int(odd[0])
            raise UsageError(
                f"Input 'labels' has {times[row]} labels at row {row} (counted from 0); method "
                f"{self.id!r} takes one for each row. Methods for several are 'rr-svm', 'rr-lr', "
                "'hblr' with 'likelihood' logistic, 'bsvm' and 'blr'.",
                code="wrong-input",
                role="labels",
                row=row,
            )


def _problem_of(
    data: Data, features: Matrix, arrangement: Arrangement, intercept: bool
) -> tuple[Problem, tuple[str, ...]]:
    """The labelled rows with the structure over their classes, and warnings."""
    warnings = []
    tree = graph = None
    edges = data.values.get("graph")
    if isinstance(edges, np.ndarray):
        graph, n_others = ClassGraph.of_edges(edges, arrangement.names)
        if n_others:
            warnings.append(
                f"{n_others} label(s) of the graph have no example: they pass on weights and are "
                "never predicted."
            )
    else:
        tree = ClassTree.over(arrangement.tree.parent.astype(np.int64), arrangement.node)
    start = arrangement.start
    if arrangement.unlabelled.any():
        labelled = np.flatnonzero(~arrangement.unlabelled)
        features = features[labelled]
        start = np.append(start[labelled], start[-1])
        warnings.append(
            f"{int(arrangement.unlabelled.sum())} row(s) are not labelled and were left out of the "
            "training; they lie at the leaf of their best class."
        )
    design = design_of(features, intercept)
    n_classes = len(arrangement.names)
    problem = Problem(design, start, arrangement.code, n_classes, tree, graph)
    precision = np.finfo(features.dtype if features.dtype.kind == "f" else np.float64).eps
    coordinates, lost = coordinates_of(design, features.shape[1], float(precision))
    if coordinates is not None:
        turned = coordinates.turned(design)
        problem = replace(problem, design=turned, coordinates=coordinates, given=design)
    return problem, (*warnings, *lost)


def _tree_of(arrangement: Arrangement, one_each: bool, features: Matrix, scorer: Scorer) -> Tree:
    """The hierarchy with the rows at the leaves of their classes.

    A row of several classes lies at the leaf of the first, one without at that of its best class.
    Where rows have several or are not labelled, the column `rows` counts those with a class under
    the node.
    """
    times = np.diff(arrangement.start)
    node = np.empty(times.size, dtype=np.int64)
    some = times > 0
    node[some] = arrangement.node[arrangement.code[arrangement.start[:-1][some]]]
    none = np.flatnonzero(~some)
    for block in row_blocks(none.size, scorer.width, BLOCK):
        best = scorer(features[none[block]]).best
        node[none[block]] = arrangement.node[best]
    leaf = node.astype(np.int32)
    counted = one_each and not arrangement.unlabelled.any()
    extra = {} if counted else {"rows": _rows_under(arrangement)}
    return replace(
        arrangement.tree,
        leaf_of_point=leaf,
        size=sizes(arrangement.tree.parent, leaf),
        extra=extra,
    )


def _rows_under(arrangement: Arrangement) -> Int:
    """(n_nodes,) rows with a class under each node, each counted once. O(labels x depth)."""
    n_nodes = arrangement.tree.n_nodes
    rows = np.zeros(n_nodes, dtype=np.int64)
    parent = arrangement.tree.parent.astype(np.int64)
    depth = arrangement.tree.depth
    row = np.repeat(np.arange(arrangement.start.size - 1), np.diff(arrangement.start))
    pairs = np.unique(row * n_nodes + arrangement.node[arrangement.code])
    # From the deepest level up, so that pairs that meet in a node are counted there once.
    for level in range(arrangement.tree.max_depth, -1, -1):
        row, node = np.divmod(pairs, n_nodes)
        here = depth[node] == level
        rows += np.bincount(node[here], minlength=n_nodes)
        moved = np.where(here, row * n_nodes + parent[node], pairs)
        pairs = np.unique(moved) if level else moved
    return rows
