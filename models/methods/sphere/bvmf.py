"""Bayesian mixture of von Mises-Fisher distributions: clusters of directions that share strength.

pi ~ Dirichlet(alpha), mu_k ~ vMF(mu0, C0), kappa_k ~ log-normal(m, sigma^2), each row drawn from
its cluster's vMF. The posterior is computed in one of three ways: `variational-sampling`,
coordinate ascent with the mean-field optimum of each kappa (expectations by a grid in log kappa
instead of draws, so the bound stays a lower bound and never falls); `variational-bounding`, a
log-normal kappa and an upper bound of the Bessel function, which shrinks kappa in few dimensions;
`gibbs`, collapsed Gibbs sampling, exact in the long run (`bayes.variational`,
`bayes.concentrations`, `gibbs.gibbs`). Empirical Bayes sets every prior parameter.

Calibration, measured with known priors, 400 rows in 4 clusters and D from 3 to 200
(`bench.calibration`): `gibbs` is calibrated, with either form of `weights` and of `kappa`; its 95%
intervals contain kappa 86 to 95 times in 100. `variational-sampling` is nearly calibrated for well
separated clusters (81 to 96); where one row in six could belong to another cluster, its standard
deviations are 2 to 3 times too small, its intervals contain kappa 35 to 76 times, and in many
dimensions small clusters lose rows to large ones (log weight 0.6 too low at D = 200).
`variational-bounding` moreover makes kappa too small by the factor (D - 2) / (D - r^2), r being a
cluster's mean resultant length: half at D = 3, 14% at D = 10, 3% at D = 50, so below D = 50 its
intervals seldom contain kappa.

By default each cluster has its own concentration, as in the thesis; with `kappa: "shared"` all
clusters share one, in every form, as in `vmf` by default. For a shared concentration empirical
Bayes sets m to E[log kappa] and leaves sigma as given, since one draw carries no information on its
spread and the bound is highest at the least sigma. Own concentrations raise the likelihood, also
that of new rows, if wide and narrow clusters lie side by side, while a shared one recovers known
classes better on most sets of texts and embeddings tried (`bench.sphere`).

The number of clusters is given or inferred: with weights 'stick-breaking' pi follows a Dirichlet
process of concentration alpha, truncated to at most `n_clusters` clusters. The variational forms
(`bayes.priors`) merge clusters to escape optima with too many (`bayes.merging`), Gibbs sampling
(`gibbs.dirichlet_process`) has split and merge moves; every second run starts with fewer clusters:
half, a quarter, and so on. The result contains only clusters that are the likeliest one of some
row; the others are empty and absent from tree, model and logits. Strongly overlapping clusters are
merged into fewer, and rows that no such mixture describes are split into many. A chain also gives
the posterior of their number, as the curve `n_clusters_probability`, and its 95% credible interval
`n_clusters_low` to `n_clusters_high`; these count outlying rows that have clusters of their own.
Its result is the likeliest partition with the most frequent number, without clusters that, on
average over sweeps, are the likeliest of no row.

By batches ('batch_size'), for data larger than memory, both variational inferences are stochastic
(`mixture.stochastic`, which says when a run ends): rows in a random order, read in runs, update the
posterior after each batch; a last pass measures the bound by which runs are compared. The curve
`objective_estimate_by_epoch` holds estimates of it, made while the posterior still moved.

Rows are placed by the posterior predictive: the logits are log p(k | x), a row's log-likelihood is
log p(x) with means integrated out exactly and concentrations by quadrature
(`bayes.concentrations`). The tree has kappa's posterior mean and 95% interval. The order of
clusters, held-out rows, in-sample rows and names are as in `vmf`.

Source: Gopal, "Large-scale Structured Learning" (2014), section 5.3; Gopal and Yang, "Von
Mises-Fisher Clustering Models" (2014). Deviations: the inverse Bessel ratio and log I_v are exact;
the integral in equation 5.8 is corrected; the delta method of 5.10, which gives no bound, is
replaced by quadrature; the mean of q(mu_k) is A_D(gamma_k) psi_k, the entropy of q(kappa) is added.
Cost: an iteration takes as long as one of `vmf` and a few ms; for a Gibbs sweep see `gibbs.gibbs`.
Memory: as for `vmf`; a chain that infers the number of clusters also keeps the clusters of every
row in at most 500 sweeps.

Measured: CPU time as N^0.7 D^0.0 K^0.9, from 3,000 x 32 and 8 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
from pydantic import Field

from models.arrays import Float, Int, Mask, Matrix
from models.clusters.choosing import MOST_CLUSTERS, Choice, Count, check_count
from models.clusters.counts import check_held_out, held_out, term_names
from models.clusters.placing import bytes_of_logits
from models.errors import UsageError
from models.inputs.checks import require_distinct
from models.inputs.data import Data
from models.method import Fitted, Model, Paper, Run, Shapes
from models.methods.sphere.bayes.concentrations import predict
from models.methods.sphere.bayes.merging import Merging, occupied, with_credible_number
from models.methods.sphere.bayes.priors import Dirichlet, Priors, ProportionsKind, Sticks
from models.methods.sphere.bayes.variational import Posterior, StochasticVariational, Variational
from models.methods.sphere.gibbs.dirichlet_process import (
    MOST_KEPT,
    DirichletProcess,
    ProcessChain,
)
from models.methods.sphere.gibbs.gibbs import Gibbs
from models.methods.sphere.mixture import pass_crew, pass_gpu
from models.methods.sphere.mixture.method import (
    BatchSize,
    ConfidenceLevel,
    Delay,
    Forgetting,
    HeldOutForThreshold,
    KappaMedian,
    KappaSigma,
    MaxKappa,
    PassDevice,
    SphereMethod,
    Tol,
    new_rows,
)
from models.methods.sphere.mixture.mixture import Mixture, Spread, pooled_kappa
from models.methods.sphere.mixture.passes import SHARES, Passes, direction
from models.methods.sphere.mixture.result import (
    IDENTICAL_ROWS,
    bounding_warnings,
    cap_warnings,
    end_warnings,
    ordered,
    partition_result,
    prior_warnings,
)
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Climb, Restarts, bytes_beside
from models.methods.sphere.mixture.stochastic import (
    SampledRestarts,
    Steps,
    by_epoch,
    bytes_of_batches,
)
from models.parameters import MaxIter, Params, Seed
from models.running.progress import Progress, subprogress


class BVMFParams(Params):
    n_clusters: int = Field(
        8,
        ge=1,
        le=MOST_CLUSTERS,
        description="Number of clusters; with weights 'stick-breaking' the largest number.",
    )
    weights: Literal["dirichlet", "stick-breaking"] = Field(
        "dirichlet",
        description=(
            "Prior of the clusters' weights: 'dirichlet' for 'n_clusters' clusters, or "
            "'stick-breaking', a Dirichlet process that infers their number."
        ),
    )
    inference: Literal["variational-sampling", "variational-bounding", "gibbs"] = Field(
        "variational-sampling",
        description=(
            "How the posterior is computed: 'variational-sampling' with the exact distribution of "
            "each concentration given the rest, 'variational-bounding' with a log-normal one and "
            "a bound, 'gibbs' by collapsed Gibbs sampling."
        ),
    )
    kappa: Spread = Field(
        "own",
        description=(
            "Whether all clusters share one concentration or have their own. Own ones make rows "
            "likelier; a shared one recovers known classes better on most data sets tried. With "
            "'shared', 'kappa_sigma' is not estimated."
        ),
    )
    empirical_bayes: bool = Field(
        True,
        description=(
            "Whether the priors are estimated; 'alpha' and 'kappa_sigma' are the starting values."
        ),
    )
    alpha: float = Field(
        1.0,
        ge=1e-3,
        le=1e3,
        description=(
            "Parameter of the weights' prior: each cluster's in the Dirichlet distribution, or the "
            "process's concentration; larger values give more clusters."
        ),
    )
    c0: float = Field(
        1.0,
        ge=0,
        le=1e6,
        description=(
            "Concentration of the clusters' means around the direction of all rows; used without "
            "'empirical_bayes'."
        ),
    )
    kappa_median: KappaMedian = 100.0
    kappa_sigma: KappaSigma = 1.0
    max_kappa: MaxKappa = 1e6
    burn_in: int = Field(
        300,
        ge=0,
        le=1_000_000,
        description="Sweeps of Gibbs sampling that are discarded at the start.",
    )
    n_samples: int = Field(
        200, ge=1, le=1_000_000, description="Sweeps of Gibbs sampling that are kept."
    )
    held_out: HeldOutForThreshold = 0.0
    level: ConfidenceLevel = 0.95
    n_init: int = Field(
        5,
        ge=1,
        le=1000,
        description=(
            "Number of runs from different seeds; the highest bound is kept or, of Gibbs chains, "
            "the highest mean joint density."
        ),
    )
    max_iter: MaxIter = 200
    tol: Tol = 1e-4
    batch_size: BatchSize = None
    delay: Delay = 10.0
    forgetting: Forgetting = 0.7
    device: PassDevice = "cpu"
    seed: Seed = 0


class BVMF(SphereMethod[BVMFParams]):
    """See the module's docstring."""

    id = "bvmf"
    title = "Bayesian mixture of von Mises-Fisher distributions"
    family = "sphere"
    paper = Paper("Von Mises-Fisher Clustering Models", 2014, "ICML")
    Params = BVMFParams
    example = {"n_clusters": 3, "n_init": 2}

    def _bytes(self, shapes: Shapes, params: BVMFParams) -> int:
        n_points, n_features = shapes["features"]
        sums = min(1 << 27, 8 * SHARES * params.n_clusters * n_features)
        chain = _bytes_of_chain(n_points, params)
        runs = chain + bytes_beside(params.n_init, params.n_clusters * n_features, chain)
        runs += bytes_of_batches(shapes, params.batch_size)
        return bytes_of_logits(shapes, params.n_clusters) + 48 * n_points + sums + runs

    def _check(self, data: Data, params: BVMFParams) -> None:
        points, count = UnitRows.of(data), Count(n_clusters=params.n_clusters)
        pass_gpu.require(params.device, points)
        check_held_out(cast(Matrix, points.values), count, params.held_out)
        check_count(data, count)
        term_names(data, points.shape[1])
        points.require_unit()
        require_distinct(points.values, params.n_clusters)
        _check_combination(data, params)

    def _fit(self, data: Data, params: BVMFParams, run: Run) -> Fitted:
        run.progress(0.0, "reading")
        points = UnitRows.of(data).held()
        out = held_out(points.shape[0], params.held_out, run.rng)
        within = subprogress(run.progress, 0.05, 0.9)
        with pass_crew.passes(points, run.threads, params.device, run.crew) as passes:
            counted = (~out).astype(np.float64)
            restarts = Restarts(
                passes,
                counted,
                params.n_init,
                int(run.rng.integers(2**31)),
                run.checkpoint,
                state=_bytes_of_chain(points.shape[0], params),
                halving=params.weights == "stick-breaking",
            )
            if params.inference == "gibbs":
                inferred = _sampled(restarts, params, within, run.progress)
            else:
                inferred = _climbed(restarts, params, within, run.rng)
        run.progress(0.9, "assigning points")
        return _fitted(data, points, inferred, out, params, run.threads)

    def _posterior(self, model: Model, data: Data) -> tuple[Float, Float]:
        return predict(new_rows(data, model.arrays["psi"].shape[1]), model.arrays, 1)


def _check_combination(data: Data, params: BVMFParams) -> None:
    """Raises UsageError for parameters that contradict each other or the inputs."""
    if params.batch_size is not None and params.inference == "gibbs":
        raise UsageError(
            "Parameter 'batch_size' is set, but 'inference' = 'gibbs' draws every row in turn: "
            "leave out 'batch_size', or use 'variational-sampling' or 'variational-bounding'.",
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
    if params.weights == "stick-breaking" and "names" in data:
        raise UsageError(
            "Input 'names' holds one name for each cluster, but with 'weights' = 'stick-breaking' "
            "their number is yet to be inferred; leave out 'names', or use 'dirichlet'.",
            code="wrong-input",
            role="names",
        )


def _bytes_of_chain(n_points: int, params: BVMFParams) -> int:
    """Bytes of a chain, of the best of the others and of its posterior; 0 without chains."""
    if params.inference != "gibbs":
        return 0
    n_bytes = 8 * params.n_samples * params.n_clusters
    if params.weights == "stick-breaking":
        label = np.min_scalar_type(params.n_clusters).itemsize
        n_sweeps = min(params.n_samples, MOST_KEPT)
        n_bytes += 4 * n_sweeps * n_points * label + 24 * params.n_clusters**2
    return n_bytes


@dataclass(frozen=True, slots=True)
class _Inferred:
    """The outcome of an inference.

    objective : that of the best run. climb : that run; None for a chain. numbers : (n_sweeps,)
        numbers of clusters, for a chain that infers their number.
    """

    posterior: Posterior
    objective: float
    climb: Climb[Posterior] | None = None
    numbers: Int | None = None


def _sampled(
    restarts: Restarts, params: BVMFParams, within: Progress, progress: Progress
) -> _Inferred:
    """The outcome of 'inference' = 'gibbs'. within : the progress of the runs."""
    passes, counted = restarts.passes, restarts.counted
    common = (
        passes,
        counted,
        _priors(passes, counted, params),
        params.empirical_bayes,
        params.max_kappa,
        params.burn_in,
        params.n_samples,
        params.kappa,
    )
    if params.weights == "dirichlet":
        sampler = Gibbs(*common)
    else:
        sampler = DirichletProcess(*common, most=params.n_clusters)
    chain = restarts.best(sampler, sampler.n_seeds(params.n_clusters), within)
    posterior = sampler.posterior(chain, subprogress(progress, 0.9, 0.9))
    numbers = chain.numbers if isinstance(chain, ProcessChain) else None
    return _Inferred(posterior, chain.objective[-1], numbers=numbers)


_WEIGHTS: dict[str, tuple[type[Variational], ProportionsKind]] = {
    "dirichlet": (Variational, Dirichlet),
    "stick-breaking": (Merging, Sticks),
}


def _climbed(
    restarts: Restarts, params: BVMFParams, within: Progress, rng: np.random.Generator
) -> _Inferred:
    """The outcome of a variational inference. within : the progress of the runs."""
    kind, proportions = _WEIGHTS[params.weights]
    variational = kind(
        restarts.passes,
        restarts.counted,
        "grid" if params.inference == "variational-sampling" else "bound",
        _priors(restarts.passes, restarts.counted, params),
        params.empirical_bayes,
        params.max_kappa,
        params.max_iter,
        params.tol,
        proportions,
        params.kappa,
    )
    if params.batch_size is not None:
        steps = Steps(params.batch_size, params.delay, params.forgetting)
        variational = StochasticVariational.of(variational, steps)
        restarts = SampledRestarts(restarts, params.n_clusters, rng)
    best = restarts.best(variational, params.n_clusters, within)
    return _Inferred(best.estimate, best.objective[-1], climb=best)


def _priors(passes: Passes, counted: Float, params: BVMFParams) -> Priors:
    """The priors as given, with the direction of all fitted rows as mu0."""
    m = float(np.log(params.kappa_median))
    return Priors(params.alpha, direction(passes.points, counted), params.c0, m, params.kappa_sigma)


def _fitted(
    data: Data,
    points: UnitRows,
    inferred: _Inferred,
    out: Mask,
    params: BVMFParams,
    threads: int,
) -> Fitted:
    posterior, metrics = inferred.posterior, {"objective": inferred.objective}
    choice = Choice.given(params.n_clusters)
    if params.weights == "stick-breaking":
        logits = predict(points, posterior.model_arrays(), threads)[0]
        posterior, choice = occupied(
            posterior, logits.argmax(axis=1), inferred.objective, params.n_clusters
        )
    if inferred.numbers is not None:
        choice, ends = with_credible_number(choice, inferred.numbers, params.n_clusters)
        metrics.update(ends)
    if inferred.climb is not None:
        metrics["n_iter"] = float(len(inferred.climb.objective))
    warnings = _warnings(posterior, inferred.climb, params)
    logits, evidence = predict(points, posterior.model_arrays(), threads)
    cluster, order = ordered(logits, posterior.psi)
    posterior = posterior.selected(order)
    arrays, priors = posterior.model_arrays(), posterior.priors
    kappas = posterior.kappas.per_cluster(len(order))
    mixture = Mixture(arrays["log_weights"], posterior.psi, kappas.mean)
    root = pooled_kappa(mixture, params.max_kappa)
    result = partition_result(
        data,
        cluster,
        logits,
        evidence,
        out,
        params.level,
        means=posterior.means,
        log_weights=arrays["log_weights"],
        nodes={name: np.append(root, column) for name, column in kappas.intervals.items()},
        arrays=arrays,
        facts={"inference": params.inference, "kappa": params.kappa},
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
        warnings=warnings,
    )
    if params.batch_size is None or inferred.climb is None:
        return result
    return replace(result, curves={**result.curves, **by_epoch(inferred.climb)})


def _warnings(
    posterior: Posterior, best: Climb[Posterior] | None, params: BVMFParams
) -> tuple[str, ...]:
    """best : the run that is kept; None for a chain."""
    by_batches = params.batch_size is not None
    warnings = [
        *end_warnings(best is None or best.ended, params.max_iter, by_batches),
        *bounding_warnings(params.inference, posterior.n_features),
        *cap_warnings(posterior.kappas.high, params.max_kappa, IDENTICAL_ROWS),
        *prior_warnings(params.empirical_bayes, params.n_clusters),
    ]
    if params.empirical_bayes and posterior.priors.c0 >= params.max_kappa:
        warnings.append(
            f"The concentration of the clusters' means, C0, reached 'max_kappa' = "
            f"{params.max_kappa:g}: the clusters' means are nearly the same."
        )
    if by_batches and params.weights == "stick-breaking":
        warnings.append(
            "With 'batch_size' clusters are not merged, so there may be more than without it."
        )
    return tuple(warnings)
