"""Hierarchical mixture of von Mises-Fisher distributions: clusters at the leaves of a hierarchy.

The hierarchy is a given tree, whose leaves are the clusters, or the complete one of `height` and
`branching`. The root's mean is drawn from vMF(mu0, C0), any other node's from vMF(mu_parent,
kappa_parent), every kappa from a log-normal(m, sigma^2), each row from the vMF of its leaf. So
nearby leaves of the hierarchy are alike and share strength. Inference is coordinate ascent of the
lower bound (`nested.hierarchical`), which never falls. A run starts top-down: spherical k-means
divides the rows of each node, or in every second run k-means++ seeds instead, among its children.

The tree has the hierarchy's shape, with rows at the leaves and the posterior mean and 95% interval
of kappa at every node: for a leaf how close its rows lie to its mean, for an inner node how close
the means of its children do. Siblings of a complete hierarchy are ordered by size, largest first;
siblings of an input tree stay. The logits are log p(leaf | x) by the posterior predictive;
likelihoods, held-out rows and in-sample rows are as in `bvmf`. Where features have names, nodes are
named by the features that distinguish them from their parents.

Source: Gopal, "Large-scale Structured Learning" (2014), section 5.4. Deviations: as in `bvmf`;
the thesis leaves open the kappa of an inner node, whose log density is (number of children) log
C_D(k) + k sum_c E[mu_c].E[mu] plus that of its log-normal prior, and the parent term of the root,
C0 mu0. The prior of the root is not estimated: one root does not show how roots spread. Cost: an
iteration takes as long as one of `vmf` with a cluster for each leaf, and a few passes over the
means of the T nodes, T D each. Memory: as for `vmf`, and about ten times T D numbers.

Measured: CPU time as N^0.5 D^0.0, from 5,000 x 32 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from models.arrays import Arrays, Float, Int, Mask, Matrix
from models.clusters.counts import NAMED_BY, held_out, term_names
from models.clusters.placing import empty_cluster_warnings, permute
from models.inputs.checks import count_distinct
from models.inputs.data import Data
from models.method import Fitted, Input, Model, Paper, Predictions, Run, Shapes
from models.methods.sphere.bayes.concentrations import log_predictive
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.mixture import pass_crew
from models.methods.sphere.mixture.method import (
    FEATURES,
    ConfidenceLevel,
    HeldOutForThreshold,
    KappaMedian,
    KappaSigma,
    MaxKappa,
    NInitByBound,
    SphereMethod,
    Tol,
    VariationalInference,
    new_rows,
)
from models.methods.sphere.mixture.passes import SHARES, direction
from models.methods.sphere.mixture.result import (
    bounding_warnings,
    cap_warnings,
    end_warnings,
    placed_below,
    top_features_below,
    tree_result,
)
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import EACH, Climb, Restarts, bytes_beside
from models.methods.sphere.nested.hierarchical import Hierarchical, HierarchyPosterior
from models.methods.sphere.nested.hierarchy import RequestedHierarchy
from models.parameters import MaxIter, Params, Seed
from models.running import budget
from models.running.budget import Cost
from models.running.progress import subprogress
from models.tree.build import from_parents
from models.tree.parents import under
from models.tree.tree import Tree


class HVMFParams(Params):
    height: int = Field(
        2,
        ge=1,
        le=16,
        description="Edges from the root to each leaf. Ignored where a hierarchy is given.",
    )
    branching: int = Field(
        3,
        ge=2,
        le=1000,
        description="Children of each node that is not a leaf. Ignored where a hierarchy is given.",
    )
    inference: VariationalInference = "variational-sampling"
    empirical_bayes: bool = Field(
        True,
        description=(
            "Whether the priors of weights and concentrations are estimated; 'alpha' and "
            "'kappa_sigma' are the starting values."
        ),
    )
    alpha: float = Field(
        1.0, ge=1e-3, le=1e3, description="Dirichlet prior of the leaves' weights."
    )
    c0: float = Field(
        1.0,
        ge=0,
        le=1e6,
        description="Concentration of the root's mean around the direction of all rows.",
    )
    kappa_median: KappaMedian = 100.0
    kappa_sigma: KappaSigma = 1.0
    max_kappa: MaxKappa = 1e6
    held_out: HeldOutForThreshold = 0.0
    level: ConfidenceLevel = 0.95
    n_init: NInitByBound = 5
    max_iter: MaxIter = 200
    tol: Tol = 1e-4
    seed: Seed = 0


class HVMF(SphereMethod[HVMFParams]):
    """See the module's docstring."""

    id = "hvmf"
    title = "Hierarchical mixture of von Mises-Fisher distributions"
    family = "sphere"
    paper = Paper("Von Mises-Fisher Clustering Models", 2014, "ICML")
    Params = HVMFParams
    cost = Cost(1e-5, times=("n_init",), start=0.5)
    inputs = {
        "features": FEATURES,
        "hierarchy": Input(
            required=False,
            fit_only=True,
            description=(
                "A tree whose leaves are the clusters, in place of 'height' and 'branching'. Its "
                "points, if any, are ignored."
            ),
        ),
        "feature_names": Input(
            required=False,
            description="One name per column; nodes are named by their most distinctive features.",
        ),
        "names": Input(
            required=False,
            description=(
                "One name per leaf, from left to right; among siblings that 'height' and "
                "'branching' describe, the largest comes first."
            ),
        ),
    }
    placing = "the leaf with the largest posterior"
    advice = "Ask for fewer leaves, or use a sample of the points."
    example = {"height": 1, "n_init": 2}

    def _bytes(self, shapes: Shapes, params: HVMFParams) -> int:
        # More leaves than points are refused below, with a clearer message.
        n_leaves = min(params.branching**params.height, shapes["features"][0])
        return _bytes(shapes, params.n_init, n_leaves, 2 * n_leaves)

    def _check(self, data: Data, params: HVMFParams) -> None:
        points, requested = UnitRows.of(data), _requested(data, params)
        n_points = points.shape[0]
        requested.require_rows(n_points)
        n_fitted = n_points - round(params.held_out * n_points)
        requested.require_rows(n_fitted, "point(s) left by 'held_out'")
        if requested.tree is not None:
            n_nodes = requested.tree.n_nodes
            needed = _bytes(data.shapes(), params.n_init, requested.n_leaves, n_nodes)
            budget.require(self.id, needed, self.advice)
        data.leaf_names(requested.n_leaves, "leaf of the hierarchy")
        term_names(data, points.shape[1])
        points.require_unit()
        requested.require_rows(
            count_distinct(points.values, requested.n_leaves), "distinct point(s)"
        )

    def _fit(self, data: Data, params: HVMFParams, run: Run) -> Fitted:
        from models.methods.sphere.nested.hierarchy import first_means

        run.progress(0.0, "reading")
        points, hierarchy = UnitRows.of(data).held(), _requested(data, params).hierarchy()
        out = held_out(points.shape[0], params.held_out, run.rng)
        counted = (~out).astype(np.float64)
        m = float(np.log(params.kappa_median))
        around = direction(points, counted)
        with pass_crew.passes(points, run.threads, "cpu", run.crew) as passes:
            hierarchical = Hierarchical(
                hierarchy,
                passes,
                counted,
                "grid" if params.inference == "variational-sampling" else "bound",
                Priors(params.alpha, around, params.c0, m, params.kappa_sigma),
                params.empirical_bayes,
                params.max_kappa,
                params.max_iter,
                params.tol,
            )

            def means(rows: Matrix, number: int, rng: np.random.Generator) -> Float:
                return first_means(rows, hierarchy, number, rng)

            restarts = Restarts(
                passes,
                counted,
                params.n_init,
                int(run.rng.integers(2**31)),
                run.checkpoint,
                means=means,
                n_means=hierarchy.n_nodes,
            )
            within = subprogress(run.progress, 0.05, 0.9)
            best = restarts.best(hierarchical, hierarchy.leaves.size, within)
        run.progress(0.9, "assigning points")
        return _fitted(data, points, best, out, params, run.threads)

    def _posterior(self, model: Model, data: Data) -> tuple[Float, Float]:
        return _placed(new_rows(data, model.arrays["psi"].shape[1]), model.arrays, 1)

    def _at_leaves(self, tree: Tree, logits: Float) -> Predictions:
        """The likeliest leaf; the probability of a node is that of all leaves below it."""
        return placed_below(tree, logits)


def _placed(points: UnitRows, arrays: Arrays, threads: int) -> tuple[Float, Float]:
    leaf = arrays["leaf"]
    return log_predictive(
        points,
        arrays["log_weights"],
        arrays["psi"][leaf],
        arrays["gamma"][leaf],
        arrays["log_mean"][leaf],
        arrays["log_sd"][leaf],
        threads,
    )


def _requested(data: Data, params: HVMFParams) -> RequestedHierarchy:
    return RequestedHierarchy.of(data, params.height, params.branching)


def _bytes(shapes: Shapes, n_init: int, n_leaves: int, n_nodes: int) -> int:
    n_points, n_features = shapes["features"]
    sums = min(1 << 27, 8 * SHARES * n_leaves * n_features)
    runs = EACH * n_nodes * n_features + bytes_beside(n_init, n_nodes * n_features)
    return 8 * n_points * n_leaves + 48 * n_points + sums + runs


def _fitted(
    data: Data,
    points: UnitRows,
    best: Climb[HierarchyPosterior],
    out: Mask,
    params: HVMFParams,
    threads: int,
) -> Fitted:
    logits, evidence = _placed(points, _arrays(best.estimate), threads)
    posterior = _ordered(best.estimate, logits)
    hierarchy, kappas, priors = posterior.hierarchy, posterior.kappas, posterior.priors
    cluster = logits.argmax(axis=1)
    names, requested = term_names(data, points.shape[1]), _requested(data, params)
    top, by_features = None, [""] * hierarchy.n_nodes
    if names is not None:
        top = top_features_below(posterior.psi, hierarchy.parent, names)
        by_features[1:] = [
            ", ".join(feature["term"] for feature in features[:NAMED_BY]) for features in top[1:]
        ]
    tree = from_parents(
        hierarchy.parent,
        requested.heights(),
        requested.names(hierarchy, data.names(), [name or None for name in by_features]),
        hierarchy.leaves[cluster],
        monotone=requested.monotone,
        extra={"weight": posterior.shares, **kappas.intervals},
    )
    leaf_kappa = kappas.mean[hierarchy.leaves]
    return tree_result(
        tree,
        logits,
        evidence,
        out,
        params.level,
        arrays=_arrays(posterior),
        facts={"inference": params.inference, **({} if top is None else {"top_terms": top})},
        metrics={
            "objective": best.objective[-1],
            "n_iter": float(len(best.objective)),
            "kappa_min": float(leaf_kappa.min()),
            "kappa_max": float(leaf_kappa.max()),
            "alpha": priors.alpha,
            "c0": priors.c0,
            "kappa_median": float(np.exp(priors.m)),
            "kappa_sigma": priors.sigma,
        },
        warnings=(
            *_warnings(posterior, best, params),
            *empty_cluster_warnings(cluster, hierarchy.leaves.size, "leaf cluster"),
        ),
        curves={"objective": [*enumerate(best.objective, 1)]},
    )


def _ordered(posterior: HierarchyPosterior, logits: Float) -> HierarchyPosterior:
    """The fit with larger siblings first where siblings can be swapped, columns of logits alike."""
    tree = posterior.hierarchy
    size = np.zeros(tree.n_nodes, dtype=np.int64)
    size[tree.leaves] = np.bincount(logits.argmax(axis=1), minlength=tree.leaves.size)
    order = tree.sorted(under(tree.parent, size), posterior.psi)
    after = order[tree.leaves]
    if (order != np.arange(order.size)).any():
        permute(logits, np.searchsorted(tree.leaves, after))
    return posterior.reordered(order)


def _arrays(posterior: HierarchyPosterior) -> dict[str, Float | Int]:
    """The arrays of a model: `log_weights` and `rho` for the leaves, the rest for all nodes."""
    kappas, rho = posterior.kappas, posterior.rho
    return {
        "leaf": posterior.hierarchy.leaves,
        "log_weights": np.log(rho / rho.sum()),
        "rho": rho,
        "psi": posterior.psi,
        "gamma": posterior.gamma,
        **kappas.model_arrays,
        "mu0": posterior.priors.mu0,
    }


def _warnings(
    posterior: HierarchyPosterior, best: Climb[HierarchyPosterior], params: HVMFParams
) -> tuple[str, ...]:
    high, hierarchy = posterior.kappas.high, posterior.hierarchy
    identical = "the points of a leaf are nearly identical, so likelihoods depend on that bound"
    close = "the means of their children are nearly the same"
    return (
        *end_warnings(best.ended, params.max_iter),
        *bounding_warnings(params.inference, posterior.psi.shape[1]),
        *cap_warnings(high[hierarchy.leaves], params.max_kappa, identical),
        *cap_warnings(high[hierarchy.inner], params.max_kappa, close, " of inner nodes"),
    )
