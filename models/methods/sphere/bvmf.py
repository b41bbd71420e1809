"""Bayesian mixture of von Mises-Fisher distributions: clusters of directions that share strength.

pi ~ Dirichlet(alpha), mu_k ~ vMF(mu0, C0), kappa_k ~ log-normal(m, sigma^2), each row drawn from
its cluster's vMF. Three ways to the posterior: `variational-sampling`, coordinate ascent with the
mean-field optimum of each kappa (its expectations by a grid in log kappa instead of draws, so the
lower bound stays one and never falls); `variational-bounding`, a log-normal kappa and an upper
bound of the Bessel function, which shrinks kappa in few dimensions; `gibbs`, collapsed Gibbs
sampling, exact in the long run (`models.vmf.variational`, `.concentrations`, `.gibbs`). Empirical
Bayes sets every prior parameter.

How far to trust them, priors known, 400 rows in 4 clusters, D from 3 to 200 (`bench.calibration`):
`gibbs` is calibrated, its 95% intervals hold kappa 86 to 95 times in 100. `variational-sampling` is
nearly so where clusters are apart (81 to 96); where one row in six could be another cluster's, its
standard deviations are 2 to 3 times too small, its intervals hold kappa 35 to 76 times, and in many
dimensions small clusters lose rows to large ones (log weight 0.6 too low at D = 200).
`variational-bounding` besides makes kappa too small by the factor (D - 2) / (D - r^2), r being a
cluster's mean resultant length: half at D = 3, 14% at D = 10, 3% at D = 50, so below D = 50 its
intervals seldom hold it.

Each cluster has a concentration of its own, which raises likelihood, of new rows too, by wide
clusters beside narrow ones; on most sets of texts and embeddings tried, known classes come back
better with one for all, as `vmf` has it (`bench.sphere`).

The number of clusters is given, or found: with weights 'stick-breaking' pi follows a Dirichlet
process of concentration alpha, of which `n_clusters` clusters are looked at (`models.vmf.sticks`),
and merges take the ascent out of optima with too many (`models.vmf.merging`); every second run
begins with fewer: half, a quarter, and so on. Only clusters that
are the likeliest one of some row are served; all others are empty, and neither tree, model nor
logits have them. Clusters that overlap much are found as fewer, rows of no such mixture as many.

By batches ('batch_size'), for data larger than memory, both variational inferences are stochastic
(`models.vmf.stochastic`, which says when a run ends): rows in a random order, read in runs, update
the posterior after each batch; a last pass measures the bound that runs are compared by. The curve
`objective_estimate_by_epoch` has estimates of it, each by a posterior that moved on.

What is served is the posterior predictive: the logits are log p(k | x), a row's log-likelihood is
log p(x) with means integrated out exactly and concentrations by quadrature
(`models.vmf.predictive`). The tree has kappa's posterior mean and 95% interval. Clusters, held-out
rows, in-sample or not, names: as by `vmf`.

Source: Gopal, "Large-scale Structured Learning" (2014), section 5.3; Gopal and Yang, "Von
Mises-Fisher Clustering Models" (2014). Deviations: the inverse Bessel ratio and log I_v are exact;
equation 5.8 has its integral put right; 5.10's delta method, which is no bound, is a quadrature;
q(mu_k)'s mean is A_D(gamma_k) psi_k, the entropy of q(kappa) is added. Cost: an iteration as of
`vmf` and some ms; a sweep of Gibbs as `models.vmf.gibbs` says. Memory as of `vmf`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal, cast

import numpy as np
from pydantic import Field

from models.contract import (
    Fitted,
    Input,
    Method,
    Model,
    Paper,
    Params,
    Predictions,
    Run,
    Shapes,
)
from models.data import Data, Matrix
from models.errors import UsageError
from models.partitions.choosing import MOST_CLUSTERS, Choice, Count, check_count, share
from models.partitions.counts import Mask, check_held_out, held_out, term_names
from models.partitions.placing import bytes_of_logits, placed
from models.partitions.points import Float, require_distinct, require_width
from models.tree.tree import Tree
from models.vmf import device, served
from models.vmf.batches import bytes_of_batches
from models.vmf.by_batches import SampledRestarts, by_epoch, stochastic
from models.vmf.found import check_found, occupied
from models.vmf.gibbs import Gibbs
from models.vmf.inside import Inside
from models.vmf.merging import Merging
from models.vmf.mixture import Mixture, together
from models.vmf.parameters import (
    BatchSize,
    Delay,
    Device,
    Forgetting,
    HeldOut,
    KappaMedian,
    KappaSigma,
    Level,
    MaxIter,
    MaxKappa,
    Seed,
    Tol,
)
from models.vmf.passes import SHARES, Passes, direction
from models.vmf.points import UnitRows
from models.vmf.priors import Priors
from models.vmf.proportions import Dirichlet, Weighing
from models.vmf.runs import Restarts
from models.vmf.serving import answer, ordered
from models.vmf.sticks import Sticks
from models.vmf.stochastic import Steps
from models.vmf.variational import Ascent, Posterior, Variational


class BVMFParams(Params):
    n_clusters: int = Field(
        8,
        ge=1,
        le=MOST_CLUSTERS,
        description="Number of clusters; the most there may be, with weights 'stick-breaking'.",
    )
    weights: Literal["dirichlet", "stick-breaking"] = Field(
        "dirichlet",
        description=(
            "Prior of the clusters' weights: 'dirichlet' for 'n_clusters' clusters, or "
            "'stick-breaking', a Dirichlet process by which their number is found."
        ),
    )
    inference: Literal["variational-sampling", "variational-bounding", "gibbs"] = Field(
        "variational-sampling",
        description=(
            "How the posterior is found: 'variational-sampling' with the exact distribution of "
            "each concentration given the rest, 'variational-bounding' with a log-normal one and "
            "a bound, 'gibbs' by collapsed Gibbs sampling."
        ),
    )
    empirical_bayes: bool = Field(
        True,
        description=(
            "Whether the priors are estimated; 'alpha' and 'kappa_sigma' are where that starts."
        ),
    )
    alpha: float = Field(
        1.0,
        ge=1e-3,
        le=1e3,
        description=(
            "Of the weights' prior: each cluster's parameter of the Dirichlet distribution, or "
            "the Dirichlet process's concentration, the more the more clusters."
        ),
    )
    c0: float = Field(
        1.0,
        ge=0,
        le=1e6,
        description=(
            "Concentration of the clusters' means around the direction of all rows; without "
            "'empirical_bayes'."
        ),
    )
    kappa_median: KappaMedian = 100.0
    kappa_sigma: KappaSigma = 1.0
    max_kappa: MaxKappa = 1e6
    burn_in: int = Field(
        300, ge=0, le=1_000_000, description="Sweeps of Gibbs sampling that are thrown away."
    )
    n_samples: int = Field(
        200, ge=1, le=1_000_000, description="Sweeps of Gibbs sampling that are kept."
    )
    held_out: HeldOut = 0.0
    level: Level = 0.95
    n_init: int = Field(
        5,
        ge=1,
        le=1000,
        description=(
            "Number of runs from different seeds; the one with the highest bound, or of Gibbs "
            "chains the highest mean joint density, serves."
        ),
    )
    max_iter: MaxIter = 200
    tol: Tol = 1e-4
    batch_size: BatchSize = None
    delay: Delay = 10.0
    forgetting: Forgetting = 0.7
    device: Device = "cpu"
    seed: Seed = 0


_WEIGHTS: dict[str, tuple[type[Variational], Weighing]] = {
    "dirichlet": (Variational, Dirichlet),
    "stick-breaking": (Merging, Sticks),
}


class BVMF(Method[BVMFParams]):
    """See the module's docstring."""

    id: ClassVar = "bvmf"
    title: ClassVar = "Bayesian mixture of von Mises-Fisher distributions"
    family: ClassVar = "sphere"
    paper: ClassVar = Paper("Von Mises-Fisher Clustering Models", 2014, "ICML")
    Params: ClassVar = BVMFParams
    inputs: ClassVar = {
        "features": Input(sparse=True, by_rows=True, description="One row of length 1 per point."),
        "feature_names": Input(
            required=False,
            description="One name per column; clusters are named by the features that tell them.",
        ),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs: ClassVar = ("tree", "model", "logits")
    advice: ClassVar = "Ask for fewer clusters, or use a sample of the points."
    resumes: ClassVar = True
    example: ClassVar = {"n_clusters": 3, "n_init": 2}

    def _memory(self, shapes: Shapes, params: BVMFParams) -> int:
        if "features" not in shapes:
            return 0
        n_points, n_features = shapes["features"]
        sums = min(1 << 27, 8 * SHARES * params.n_clusters * n_features)
        kept = 8 * params.n_samples * params.n_clusters if params.inference == "gibbs" else 0
        kept += bytes_of_batches(shapes, params.batch_size)
        return bytes_of_logits(shapes, params.n_clusters) + 48 * n_points + sums + kept

    def _check(self, data: Data, params: BVMFParams) -> None:
        points, count = UnitRows.of(data), Count(n_clusters=params.n_clusters)
        device.require(params.device, points)
        if params.batch_size is not None and params.inference == "gibbs":
            raise UsageError(
                "Parameter 'batch_size' is given, but 'inference' = 'gibbs' draws every row in "
                "turn: leave out 'batch_size', or use 'variational-sampling' or "
                "'variational-bounding'.",
                code="wrong-parameter",
                parameter="batch_size",
            )
        if params.device == "cuda" and params.inference == "gibbs":
            raise UsageError(
                "Parameter 'device' is 'cuda', but 'inference' = 'gibbs' draws one row after "
                "another, on the processor: use 'device': 'cpu', or another inference.",
                code="wrong-parameter",
                parameter="device",
            )
        check_held_out(cast(Matrix, points.values), count, params.held_out)
        check_count(data, count)
        term_names(data, points.shape[1])
        points.require_unit()
        require_distinct(points.values, params.n_clusters)
        if params.weights == "stick-breaking":
            check_found(data)
            if params.inference == "gibbs":
                raise UsageError(
                    "Parameter 'inference' is 'gibbs', which samples a given number of clusters; "
                    "with 'weights' = 'stick-breaking' it must be 'variational-sampling' or "
                    "'variational-bounding'.",
                    code="wrong-parameter",
                    parameter="inference",
                )

    def _fit(self, data: Data, params: BVMFParams, run: Run) -> Fitted:
        run.progress(0.0, "reading")
        points = UnitRows.of(data).held()
        out = held_out(points.shape[0], params.held_out, run.rng)
        within = share(run.progress, 0.05, 0.9)
        with device.passes(points, run.threads, params.device) as passes:
            counted = (~out).astype(np.float64)
            seed = int(run.rng.integers(2**31))
            restarts = Restarts(passes, counted, params.n_init, seed, run.checkpoint)
            restarts.halving = params.weights == "stick-breaking"
            priors = _priors(passes, counted, params)
            best: Ascent | None = None
            if params.inference == "gibbs":
                sampler = _gibbs(passes, counted, priors, params)
                chain = restarts.best(sampler, params.n_clusters, within)
                posterior, objective = chain.posterior(), chain.objective[-1]
            else:
                way = _variational(passes, counted, priors, params)
                if params.batch_size is not None:
                    steps = Steps(params.batch_size, params.delay, params.forgetting)
                    way = stochastic(way, steps)
                    restarts = SampledRestarts(restarts, params.n_clusters, run.rng)
                best = restarts.best(way, params.n_clusters, within)
                posterior, objective = best.posterior, best.objective[-1]
        run.progress(0.9, "assigning points")
        choice = Choice.given(params.n_clusters)
        if params.weights == "stick-breaking":
            likeliest = served.placed(points, served.kept(posterior), run.threads)[0].argmax(axis=1)
            posterior, choice = occupied(posterior, likeliest, objective, params.n_clusters)
        metrics = {"objective": objective}
        if best is not None:
            metrics["n_iter"] = float(len(best.objective))
        notes = served.said_of(
            posterior,
            best,
            max_iter=params.max_iter,
            by_batches=params.batch_size is not None,
            inference=params.inference,
            max_kappa=params.max_kappa,
            empirical=params.empirical_bayes,
            n_clusters=params.n_clusters,
        )
        if params.batch_size is not None and params.weights == "stick-breaking":
            notes.append(
                "With 'batch_size' clusters are not merged, so there may be more than without it."
            )
        found = _fitted(data, points, posterior, out, params, metrics, choice, notes, run.threads)
        if params.batch_size is None or best is None:
            return found
        return replace(found, curves={**found.curves, **by_epoch(best.objective)})

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the largest posterior, with it as probability."""
        logits = self._logits(model, data)
        return placed(tree, logits.argmax(axis=1), logits)

    def _logits(self, model: Model, data: Data) -> Float:
        return _new_rows(model, data)[0]


def verdicts(model: Model, data: Data) -> dict[str, Float]:
    """Of new rows their log-likelihood and whether they are in-sample (`Inside.columns`)."""
    return Inside.kept(model.arrays, model.facts).columns(_new_rows(model, data)[1])


def _new_rows(model: Model, data: Data) -> tuple[Float, Float]:
    """Log posterior and log-likelihood of new rows. UsageError for rows that are not unit."""
    points = UnitRows.of(data)
    require_width(points.values, model.arrays["psi"].shape[1])
    points.require_unit()
    return served.placed(points, model.arrays, 1)


def _priors(passes: Passes, counted: Float, params: BVMFParams) -> Priors:
    """As given, around the direction of all rows that count."""
    m = float(np.log(params.kappa_median))
    return Priors(params.alpha, direction(passes.points, counted), params.c0, m, params.kappa_sigma)


def _gibbs(passes: Passes, counted: Float, priors: Priors, params: BVMFParams) -> Gibbs:
    return Gibbs(
        passes,
        counted,
        priors,
        params.empirical_bayes,
        params.max_kappa,
        params.burn_in,
        params.n_samples,
    )


def _variational(passes: Passes, counted: Float, priors: Priors, params: BVMFParams) -> Variational:
    kind, weighing = _WEIGHTS[params.weights]
    return kind(
        passes,
        counted,
        "grid" if params.inference == "variational-sampling" else "bound",
        priors,
        params.empirical_bayes,
        params.max_kappa,
        params.max_iter,
        params.tol,
        weighing,
    )


def _fitted(
    data: Data,
    points: UnitRows,
    found: Posterior,
    out: Mask,
    params: BVMFParams,
    metrics: dict[str, float],
    choice: Choice,
    notes: list[str],
    threads: int,
) -> Fitted:
    logits, evidence = served.placed(points, served.kept(found), threads)
    cluster, order = ordered(logits, found.psi)
    posterior = found.kept(order)
    arrays, kappas, priors = served.kept(posterior), posterior.kappas, posterior.priors
    whole = together(Mixture(arrays["log_weights"], posterior.psi, kappas.mean), params.max_kappa)
    nodes = kappas.intervals
    return answer(
        data,
        cluster,
        logits,
        evidence,
        out,
        params.level,
        means=posterior.means,
        log_weights=arrays["log_weights"],
        nodes={name: np.append(whole, column) for name, column in nodes.items()},
        arrays=arrays,
        facts={"inference": params.inference},
        metrics={
            **metrics,
            "kappa_min": float(kappas.mean.min()),
            "kappa_max": float(kappas.mean.max()),
            "alpha": priors.alpha,
            "c0": priors.c0,
            "kappa_median": float(np.exp(priors.m)),
            "kappa_sigma": priors.sigma,
        },
        choice=choice,
        warnings=notes,
    )
