"""Hierarchical Bayesian logistic regression: a prior down the hierarchy, learned from the data.

The weights of each node are drawn around its parent's weights, classes from the weights of the
leaves: by a softmax over all ('likelihood': `softmax`), or each class by a separate logistic
function (`logistic`; the only one for rows with several labels). How near children are to their
parent is a precision with a gamma prior: one for each family (`M1`), for each family and feature
(`M2`), or for each node (`M3`). The priors are set from the data: nothing is left to be tuned.
Without a hierarchy all classes are siblings.

- 'inference' `map`: the most probable weights given the expected precisions, for each weight the
  variance of Laplace's approximation, and the posterior of the precisions, in turn. It has no
  bound; the curve `log_posterior` is that of the weights after each sweep, for the precisions that
  they were found with.
- 'inference' `variational`: normal posteriors of the weights with full covariances at the leaves,
  under Bouchard's bound of the softmax, or Jaakkola and Jordan's of the logistic likelihood. The
  curve `bound` is the evidence lower bound after each half-step (covariances, means with the bound
  of the likelihood, precisions); it never falls.

Columns that lie far from 0 for their spread are turned with the intercept (`classes.coordinates`),
which changes neither the priors of 'M1' and 'M3' nor the posterior; with 'M2', whose precisions
belong to single features, columns beyond 1000 standard deviations are refused.

Both end when a sweep changes no expected precision by more than a share of 'tol', nor the weights
by more than 'tol' standard deviations, root mean square.

Predictions have `score_low` and `score_high`, the 95% interval of the best class's score, and
`probability_low` and `probability_high`, that of its probability to first order in the scores
(`classes.classifier`). They tell how sure the weights are, approximately: weights of different
nodes are taken as independent, with `map` also the weights of one node. Measured on 100 and 400
rows in 5 classes drawn from the model: intervals of `map` hold the true probability 86 to 95 times
in 100. The intervals of `variational` are too narrow: 79 to 83 times with the logistic likelihood,
52 to 79 with the softmax, whose bound moreover exaggerates how much classes differ; prefer
`map` for intervals.

Source: Gopal, "Large-scale Structured Learning" (2014), chapter 2 and appendix A; Bouchard,
"Efficient Bounds for the Softmax Function" (2007). Misprints mended by derivation: nu has a factor
1/2 before squares; 2.12 has the precisions of the children too; in `M1` and `M3` the rate of a
prior is the sum over features; 2.11 sums over all nodes; A.5, A.13. Deviations: the weights of all
nodes are found together, by Newton's method with the inner nodes eliminated, instead of level by
level; the rate of a feature's prior is the inverse of that feature's information; features that are
0 in every row are left out. With 'contract' inner nodes with one child are removed, as in the
thesis's counts.

Cost: `map` some tens of sweeps with some tens of products of features and weights each, O(N D K) or
for sparse features O(nnz K); memory about 6 N K and 20 D K values. `variational` O(K (N D^2 + D^3))
a sweep; memory about 22 N K and 2 K D^2 values, the features dense. The model holds D K variances,
or K D^2 covariances.

Measured: CPU time as N^0.4 D^0.5 K^0.4, from 2,000 x 32 and 16 classes to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from models.arrays import Array, Float, Mask
from models.errors import UsageError
from models.method import Paper, Run, Shapes
from models.methods.classifiers.bayes.inferences import (
    Alternation,
    Inference,
    PartialMap,
    Variational,
    alternated,
)
from models.methods.classifiers.bayes.likelihood import (
    LikelihoodKind,
    QuadraticBound,
    likelihood_of,
)
from models.methods.classifiers.bayes.newton import Design, block_values
from models.methods.classifiers.bayes.precisions import (
    Covariance,
    Precisions,
    shares_of,
    squares_of,
)
from models.methods.classifiers.classes.classifier import Classifier, Trained
from models.methods.classifiers.classes.coordinates import LEAST_HEARD, Coordinates
from models.methods.classifiers.classes.inputs import ClassifierParams
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassTree
from models.parameters import MaxIter
from models.running.progress import subprogress
from models.tree.parents import along

FURTHEST = 1e3
"""The most by which columns may lie from 0, in standard deviations, with 'covariance' M2."""


class HBLRParams(ClassifierParams):
    covariance: Covariance = Field(
        "M3",
        description="Which weights share a precision around their parent: 'M1' all weights of "
        "siblings, 'M2' the weights of siblings for one feature, 'M3' all weights of one node.",
    )
    inference: Literal["map", "variational"] = Field(
        "map",
        description="How the posterior is computed: 'map' by the most probable weights, or "
        "'variational' by a lower bound of the evidence, for up to some hundreds of features.",
    )
    likelihood: LikelihoodKind = Field(
        "softmax",
        description="How scores give classes: 'softmax', one class for each row, or 'logistic', "
        "each class for itself; rows with several labels need the latter.",
    )
    contract: bool = Field(
        True, description="Whether inner nodes with one child are removed from the hierarchy."
    )
    max_iter: MaxIter = 300
    tol: float = Field(
        1e-3,
        gt=0,
        le=1,
        description="Sweeps end when one changes the precisions by less than this share, and the "
        "weights by less than this times their posterior standard deviation.",
    )


class HBLR(Classifier[HBLRParams]):
    """See the module's docstring."""

    title = "Hierarchical Bayesian logistic regression"
    paper = Paper("Large-scale Structured Learning", 2014, "chapter 2")
    Params = HBLRParams
    resumes = True
    advice = (
        "Use 'inference' 'map', fewer features ('preprocess' with svd or pca), or fewer classes."
    )
    example = {"covariance": "M3"}

    def _takes_several(self, params: HBLRParams) -> bool:
        return params.likelihood == "logistic"

    def _memory(self, shapes: Shapes, params: HBLRParams) -> int:
        """For two classes and, with 'map', sparse features; `_train` knows how many there are."""
        if len(shapes.get("features", ())) != 2:
            return 0
        n_rows, n_features = shapes["features"]
        return _bytes_of(params, (n_rows, n_features + 1), 2, 3, n_rows)

    def _train(self, problem: Problem, params: HBLRParams, run: Run) -> Trained:
        assert problem.tree is not None
        tree = problem.tree.contracted() if params.contract else problem.tree
        design = problem.design
        needed = _bytes_of(params, design.shape, tree.n_classes, tree.n_nodes, int(design.size))
        self._require(needed)
        return _trained(problem, tree, params, run)


@dataclass(frozen=True, slots=True, eq=False)
class _Posterior:
    """The end of an inference.

    mean, covariance : as `weights` and `covariance` of `Trained`.
    sweeps : those that were made.
    """

    mean: Float
    covariance: Array
    precisions: Precisions
    sweeps: Alternation[Any]


def _trained(problem: Problem, tree: ClassTree, params: HBLRParams, run: Run) -> Trained:
    squares = squares_of(problem.as_given)
    by_feature = problem.coordinates if params.covariance == "M2" else None
    if by_feature is not None:
        # Its precisions belong to the columns as they came.
        _require_near(by_feature)
        problem = replace(problem, design=problem.as_given, given=None)
    seen = squares > 0
    if not seen.any():
        raise UsageError(
            "Input 'features' is 0 throughout, so nothing can be learned from it.",
            code="wrong-input",
            role="features",
        )
    warnings = []
    if not seen.all():
        columns = np.flatnonzero(seen)
        given = None if problem.given is None else problem.given[:, columns]
        problem = replace(problem, design=problem.design[:, columns], given=given)
        squares = squares[columns]
        warnings.append(
            f"{int((~seen).sum())} feature(s) are 0 in every row; their weights are 0, with the "
            "variance of their prior."
        )
    times = np.bincount(problem.code, minlength=problem.n_classes)
    share = shares_of(times, problem.n_rows)
    precisions = Precisions.of(params.covariance, tree, share, squares)
    by_map = params.inference == "map"
    infer, criterion = (_by_map, "log_posterior") if by_map else (_variational, "bound")
    posterior = infer(problem, tree, precisions, params, run)
    sweeps, mean = posterior.sweeps, posterior.precisions.mean
    settled = sweeps.settled(params.tol)
    if not settled:
        warnings.append(
            f"Not settled after {sweeps.n_sweeps} sweeps: the last one changed precisions or "
            f"weights by {sweeps.changes[-1]:.2g}; raise 'max_iter' or 'tol'."
        )
    largest = np.abs(posterior.mean).max(axis=0)
    if largest.max() > np.finfo(np.float32).max:
        column = int(np.flatnonzero(seen)[largest.argmax()])
        raise UsageError(
            f"Column {column} (counted from 0) of input 'features' has values so small that its "
            "weights overflow; scale the columns, for instance by the 'preprocess' step "
            "standardize.",
            code="wrong-input",
            role="features",
            column=column,
        )
    apart = float(np.asarray(problem.design @ posterior.mean.T).std(axis=0).max())
    if apart < LEAST_HEARD:
        warnings.append(
            f"Scores of rows differ by {apart:.2g} only, so that all rows get nearly the same "
            "probabilities: columns vary too little for their offsets, or tell nothing of the "
            "classes. Scale the columns, for instance by the 'preprocess' step standardize."
        )
    weights, covariance = _widened(posterior, tree, seen)
    if by_feature is not None:
        weights = by_feature.turned_weights(weights)
    return Trained(
        weights,
        params.likelihood,
        covariance,
        metrics={
            "n_iter": float(sweeps.n_sweeps),
            criterion: sweeps.curve[-1],
            "precision_min": float(mean.min()),
            "precision_median": float(np.median(mean)),
            "precision_max": float(mean.max()),
        },
        curves={criterion: list(enumerate(sweeps.curve, 1))},
        warnings=tuple(warnings),
        converged=settled,
    )


def _require_near(coordinates: Coordinates) -> None:
    """Raises UsageError for a column that is too far from 0 for weights of columns as they came."""
    column, mean, spread = coordinates.furthest
    if abs(mean) > FURTHEST * (spread if spread > 0.0 else 1.0):
        raise UsageError(
            f"Column {column} (counted from 0) of input 'features' varies by {spread:.2g} around "
            f"{mean:.6g}. With 'covariance' M2, whose precisions belong to the columns as they "
            "are, that cannot be solved: scale the columns, for instance by the 'preprocess' step "
            "standardize, or choose another 'covariance'.",
            code="wrong-input",
            role="features",
            column=column,
        )


def _widened(posterior: _Posterior, tree: ClassTree, seen: Mask) -> tuple[Float, Array]:
    """Means and covariances with the features that are 0 in every row.

    Nothing is learned about these: the weight of a leaf has mean 0 and the variances along its path
    from the root, with 'M2' the variances of the feature where they are largest.
    """
    if seen.all():
        return posterior.mean, posterior.covariance
    variance = (1.0 / posterior.precisions.of_nodes).max(axis=1)
    prior = along(tree.parent.astype(np.int32), variance)[tree.node]
    mean = np.zeros((tree.n_classes, seen.size))
    mean[:, seen] = posterior.mean
    columns, unseen = np.flatnonzero(seen), np.flatnonzero(~seen)
    if posterior.covariance.ndim == 2:
        variances = np.empty(mean.shape, posterior.covariance.dtype)
        variances[:, unseen] = prior[:, None]
        variances[:, columns] = posterior.covariance
        return mean, variances
    covariance = np.zeros((tree.n_classes, seen.size, seen.size), posterior.covariance.dtype)
    covariance[:, columns[:, None], columns] = posterior.covariance
    covariance[:, unseen, unseen] = prior[:, None]
    return mean, covariance


def _by_map(
    problem: Problem, tree: ClassTree, precisions: Precisions, params: HBLRParams, run: Run
) -> _Posterior:
    likelihood = likelihood_of(params.likelihood, problem.row, problem.code)
    design = Design(problem.design)
    given = None if problem.given is None else Design(problem.given)
    inference = PartialMap(design, likelihood, tree, precisions, given)
    sweeps = _swept(inference, params, run)
    state = sweeps.state
    assert state.variance is not None
    variance = state.variance[tree.node].astype(_storage(state.precisions))
    return _Posterior(state.mode.weights, variance, state.precisions, sweeps)


def _variational(
    problem: Problem, tree: ClassTree, precisions: Precisions, params: HBLRParams, run: Run
) -> _Posterior:
    values = problem.design
    design = Design(values.toarray() if isinstance(values, sp.csr_array) else values)
    bound = QuadraticBound.first(
        params.likelihood, problem.row, problem.code, problem.n_rows, problem.n_classes
    )
    inference = Variational(design, tree, bound, precisions)
    sweeps = _swept(inference, params, run)
    state = sweeps.state
    within = subprogress(run.progress, 0.95, 1.0)
    covariance = inference.covariances_of_leaves(state, _storage(state.precisions), within)
    return _Posterior(state.mean, covariance, state.precisions, sweeps)


def _storage(precisions: Precisions) -> type[np.floating[Any]]:
    """The type of variances in the model: single, unless the features are tiny."""
    return np.float32 if precisions.of_nodes.min() > 1e-35 else np.float64


S = TypeVar("S")


def _swept(inference: Inference[S], params: HBLRParams, run: Run) -> Alternation[S]:
    within = subprogress(run.progress, 0.0, 0.95)
    return alternated(inference, params.tol, params.max_iter, within, run.checkpoint)


def _bytes_of(
    params: HBLRParams, shape: tuple[int, ...], n_classes: int, n_nodes: int, n_values: int
) -> int:
    """Bytes of a fit. shape : of the design. n_values : stored ones of it."""
    n_rows, n_columns = shape
    by_weight = 12 * n_classes * n_columns + 6 * n_nodes * n_columns
    if params.inference == "map":
        blocks = block_values(n_classes, n_columns)
        return 8 * (6 * n_rows * n_classes + by_weight + blocks) + 32 * n_values
    # Single-precision covariances of the model, after the blocks of the sweeps.
    blocks = max(block_values(n_classes, n_columns), n_classes * n_columns**2 // 2)
    dense = 4 * n_rows * n_columns
    return 8 * (22 * n_rows * n_classes + by_weight + blocks + 4 * n_columns**2 + dense)
