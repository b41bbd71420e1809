"""Temporal mixture of von Mises-Fisher distributions: clusters whose means move and weights change.

Rows have time stamps; each distinct stamp is a period, or time is cut into `n_periods` equal bins.
A cluster's mean is drawn from vMF(mean of the period before, C0), so the larger `c0` is, the slower
it moves; by default means turn by about 15 degrees a period, and `c0: "auto"` estimates it
(`time.step_concentration`). Its concentration is constant. Weights
are the softmax of Gaussian random walks. Inference is coordinate ascent of the lower bound, which
never falls (`time.temporal`, `time.temporal`); a run starts from stationary clusters or from
clusters followed from one period to both ends, whichever is better.

Rows go to their likeliest cluster by the posterior predictive of their own period; clusters are
ordered by size. The model has each cluster's path: `psi` and `gamma` (periods, K, ...) with its
means and how certain they are, `weights` (periods, K), and `drift` (periods - 1, K), the degrees by
which its mean turns from one period to the next; the latter two are also in its facts, up to 20,000
numbers each. `from_first` (periods, K) holds the degrees from the first mean and, where features
have names, `told` the features that distinguish the cluster in each period
(`mixture.result`). The tree's column `drift` is the angle between first and last
mean. New rows belong to the period of their stamp: between two distinct stamps to the earlier,
before the first to the first; after the last, and without stamps, means are extrapolated by the
steps of the walk. Likelihoods, held-out rows, in-sample rows and names are as in `bvmf`.

Source: Gopal, "Large-scale Structured Learning" (2014), section 5.5. Deviations: as in `bvmf`;
z_ti ~ Cat(softmax(eta_t)), since the printed Dirichlet is not indexed by time; the first means have
their own concentration, which is estimated, where the thesis uses C0, which puts slow clusters all
in one place. Cost: an iteration takes as long as one of `vmf`, and about ten passes over T K D
numbers. Memory: a copy of the rows, 8 N K bytes for the logits, about ten times T K D numbers.

Measured: CPU time as N^0.6 D^0.0 K^0.6, from 10,000 x 32 and 8 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, cast

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from models.answers.beside_tree import ClusterPaths, TopFeatures
from models.arrays import Array, Arrays, Float, Int, Mask, Matrix
from models.clusters.choosing import MOST_CLUSTERS, Choice, Count, check_count
from models.clusters.counts import check_held_out, held_out, term_names
from models.clusters.placing import bytes_of_logits
from models.inputs.checks import require_distinct
from models.inputs.data import Data
from models.method import Fitted, Input, Model, Paper, Run, Shapes
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.mixture.method import (
    FEATURE_NAMES,
    FEATURES,
    NAMES,
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
from models.methods.sphere.mixture.mixture import Mixture, pooled_kappa
from models.methods.sphere.mixture.passes import SHARES, Passes, direction
from models.methods.sphere.mixture.result import (
    IDENTICAL_ROWS,
    INDEX,
    WEIGHT,
    bounding_warnings,
    cap_warnings,
    end_warnings,
    feature_names,
    ordered,
    partition_result,
    prior_warnings,
    top_features_by_period,
)
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import EACH, Climb, Restarts, bytes_beside
from models.methods.sphere.time.periods import (
    MOST_PERIODS,
    Periods,
    TimedRows,
    empty_period_warnings,
    log_predictive_in_time,
    stamps_of,
)
from models.methods.sphere.time.step_concentration import (
    MOST_C0,
    MOST_ROUNDS,
    with_estimated_steps,
)
from models.methods.sphere.time.temporal import Temporal, TemporalPosterior
from models.numerics import sphere
from models.numerics.sphere import unit
from models.parameters import MaxIter, Params, Seed
from models.running import budget
from models.running.budget import Cost
from models.running.progress import subprogress

USUAL_TURN = 15.0
"""Approximate degrees by which means turn in a period if `c0` is not set."""

UNSETTLED = (
    f"'c0' was still changing after {MOST_ROUNDS} rounds of estimation; give the value in "
    "'metrics' as 'c0' to go on from it."
)

MOST_FACTS = 20_000
"""The most numbers of a path that facts hold; the arrays of a model hold all."""


class TVMFParams(Params):
    n_clusters: int = Field(8, ge=1, le=MOST_CLUSTERS, description="Number of clusters.")
    n_periods: int | None = Field(
        None,
        ge=1,
        le=MOST_PERIODS,
        description=(
            "Number of equal bins that time is cut into. Default: each distinct time stamp is a "
            "period."
        ),
    )
    c0: Annotated[float, Field(ge=0, le=MOST_C0)] | Literal["auto"] | None = Field(
        None,
        description=(
            "Concentration of a cluster's mean around that of the period before: the larger, the "
            "slower clusters move. Default: means turn by about 15 degrees a period; auto: it is "
            "estimated from the rows."
        ),
    )
    inference: VariationalInference = "variational-sampling"
    empirical_bayes: bool = Field(
        True,
        description=(
            "Whether the other priors are estimated; 'weight_sd' and 'kappa_sigma' are the "
            "starting values."
        ),
    )
    first_c0: float = Field(
        1.0,
        ge=0,
        le=1e6,
        description=(
            "Concentration of the clusters' means in the first period around the direction of all "
            "rows; used without 'empirical_bayes'."
        ),
    )
    weight_sd: float = Field(
        0.3,
        ge=0.01,
        le=10,
        description="Standard deviation of the change of a cluster's log weight in a period.",
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


class TVMF(SphereMethod[TVMFParams]):
    """See the module's docstring."""

    id = "tvmf"
    title = "Temporal mixture of von Mises-Fisher distributions"
    family = "sphere"
    paper = Paper("Von Mises-Fisher Clustering Models", 2014, "ICML")
    Params = TVMFParams
    cost = Cost(2e-6, k="n_clusters", times=("n_init",), start=2.0)
    inputs = {
        "features": FEATURES,
        "timestamps": Input(
            fit_only=True,
            one_per="row",
            description=(
                "One stamp per row, in any order: integers, numbers, or times of ISO 8601. New "
                "rows without stamps belong to the period after the last."
            ),
        ),
        "feature_names": FEATURE_NAMES,
        "names": NAMES,
    }
    advice = "Ask for fewer clusters or periods, or use a sample of the points."
    example = {"n_clusters": 3, "n_init": 1}

    def _bytes(self, shapes: Shapes, params: TVMFParams) -> int:
        n_points, n_features = shapes["features"]
        sums = min(1 << 27, 8 * SHARES * params.n_clusters * n_features)
        paths = _bytes_of_paths(params, params.n_periods or 1, n_features)
        return bytes_of_logits(shapes, params.n_clusters) + 64 * n_points + sums + paths

    def _check(self, data: Data, params: TVMFParams) -> None:
        points, count = UnitRows.of(data), Count(n_clusters=params.n_clusters)
        stamps, dated = stamps_of(data, points.shape[0])
        periods = Periods.of(stamps, dated, params.n_periods)
        _check_room(points, periods.n, params)
        check_held_out(cast(Matrix, points.values), count, params.held_out)
        check_count(data, count)
        term_names(data, points.shape[1])
        points.require_unit()
        require_distinct(points.values, params.n_clusters)

    def _fit(self, data: Data, params: TVMFParams, run: Run) -> Fitted:
        run.progress(0.0, "reading")
        points = UnitRows.of(data)
        n_points, n_features = points.shape
        stamps, dated = stamps_of(data, n_points)
        periods = Periods.of(stamps, dated, params.n_periods)
        timed = TimedRows.of(points, periods.period(stamps), periods.n)
        out = held_out(n_points, params.held_out, run.rng)[timed.order]
        counted = (~out).astype(np.float64)
        with Passes(timed.points, run.threads) as passes:
            m = float(np.log(params.kappa_median))
            around = direction(timed.points, counted)
            temporal = Temporal(
                [passes.over(part) for part in timed.parts()],
                np.split(counted, timed.start[1:-1]),
                "grid" if params.inference == "variational-sampling" else "bound",
                Priors(1.0, around, params.first_c0, m, params.kappa_sigma),
                params.c0 if isinstance(params.c0, float) else usual_c0(n_features),
                params.weight_sd,
                params.empirical_bayes,
                params.max_kappa,
                params.max_iter,
                params.tol,
            )
            restarts = Restarts(
                passes,
                counted,
                params.n_init,
                int(run.rng.integers(2**31)),
                run.checkpoint,
                n_means=periods.n * params.n_clusters,
            )
            estimating = params.c0 == "auto"
            within = subprogress(run.progress, 0.05, 0.6 if estimating else 0.9)
            best = restarts.best(temporal, params.n_clusters, within)
            settled = True
            if estimating:
                within = subprogress(run.progress, 0.6, 0.9)
                best, settled = with_estimated_steps(temporal, best, within)
        run.progress(0.9, "assigning points")
        warnings = () if settled else (UNSETTLED,)
        return _fitted(data, timed, periods, best, out, params, run.threads, warnings)

    def _posterior(self, model: Model, data: Data) -> tuple[Float, Float]:
        points, periods = new_rows(data, model.arrays["psi"].shape[2]), Periods.of_model(model)
        n_points = points.shape[0]
        period = np.full(n_points, periods.n)
        if "timestamps" in data:
            period = periods.period(stamps_of(data, n_points, periods.dated)[0])
        timed = TimedRows.of(points, period, int(period.max(initial=0)) + 1)
        return log_predictive_in_time(timed, model.arrays, float(model.facts["c0"]))

    def paths(self, model: Model) -> ClusterPaths | None:
        return _paths(model)


def usual_c0(n_features: int) -> float:
    """The `c0` for which the mean cosine with the previous mean is that of `USUAL_TURN`."""
    return float(sphere.concentration(n_features, np.cos(np.deg2rad(USUAL_TURN))))


def _check_room(points: UnitRows, n_periods: int, params: TVMFParams) -> None:
    """Raises UsageError if memory lacks room for a copy of the rows and the paths of all
    periods."""
    n_points, n_features = points.shape
    own = (
        points.values.nnz * 12
        if isinstance(points.values, sp.csr_array)
        else n_points * (n_features * points.kind.itemsize)
    )
    paths = _bytes_of_paths(params, n_periods, n_features)
    budget.require(TVMF.id, own + 8 * n_points * params.n_clusters + paths, TVMF.advice)


def _bytes_of_paths(params: TVMFParams, n_periods: int, n_features: int) -> int:
    n_values = n_periods * params.n_clusters * n_features
    return EACH * n_values + bytes_beside(params.n_init, n_values)


def _paths(model: Model) -> ClusterPaths | None:
    arrays, facts = model.arrays, model.facts
    if "from_first" not in arrays:
        # Models of earlier versions do not store these angles.
        return None
    periods = Periods.of_model(model)
    labels, ends = periods.labels(), None
    if periods.binned:
        edges = Periods(periods.marks, False, periods.dated).labels()
        labels, ends = edges[:-1], edges[1:]
    features = None
    if INDEX in arrays:
        features = TopFeatures(arrays[INDEX], arrays[WEIGHT], feature_names(arrays))
    return ClusterPaths(
        labels=labels,
        ends=ends,
        dated=periods.dated,
        n_rows=facts["rows"],
        weight=arrays["weights"],
        features=features,
        **{
            name: arrays[name]
            for name in ("drift", "from_first", "gamma", "kappa", "kappa_low", "kappa_high")
        },
    )


def _fitted(
    data: Data,
    timed: TimedRows,
    periods: Periods,
    best: Climb[TemporalPosterior],
    out: Mask,
    params: TVMFParams,
    threads: int,
    warnings: tuple[str, ...],
) -> Fitted:
    posterior = best.estimate
    logits, evidence = log_predictive_in_time(timed, _arrays(posterior), posterior.c0, threads)
    cluster, order = ordered(logits, posterior.psi[0])
    posterior = posterior.reordered(order)
    arrays, kappas, priors = _arrays(posterior), posterior.kappas, posterior.priors
    n_rows = np.diff(timed.start)
    shares = arrays["weights"] * (n_rows / n_rows.sum())[:, None]
    log_weights = np.log(shares.sum(axis=0))
    # The mean over time, weighted by the rows that the cluster has in each period.
    means = unit(np.einsum("tk,tkd->kd", shares, posterior.psi))
    root = pooled_kappa(Mixture(log_weights, means, kappas.mean), params.max_kappa)
    ends = arrays["weights"][[0, -1], :, None] * posterior.psi[[0, -1]]
    turned = np.append(_angle(*unit(ends.sum(axis=1))), _angle(posterior.psi[0], posterior.psi[-1]))
    # `out` is ordered by period, the result like the rows.
    own = np.repeat(np.arange(periods.n), n_rows)
    fitted_rows = np.bincount(own[~out], minlength=periods.n)
    rows_out = np.empty_like(out)
    rows_out[timed.order] = out
    facts: dict[str, Any] = {
        "inference": params.inference,
        "c0": posterior.c0,
        **periods.facts(),
        "rows": n_rows.tolist(),
    }
    for name in ("weights", "drift"):
        if arrays[name].size <= MOST_FACTS:
            facts[name] = np.round(arrays[name], 6).tolist()
    result = partition_result(
        data,
        cluster,
        logits,
        evidence,
        rows_out,
        params.level,
        means=means,
        log_weights=log_weights,
        nodes={
            **{name: np.append(root, column) for name, column in kappas.intervals.items()},
            "drift": turned,
        },
        arrays={**arrays, **periods.arrays(), **_distinctive_features(data, arrays)},
        facts=facts,
        metrics={
            "objective": best.objective[-1],
            "n_iter": float(len(best.objective)),
            "n_periods": float(periods.n),
            "kappa_min": float(kappas.mean.min()),
            "kappa_max": float(kappas.mean.max()),
            "c0": posterior.c0,
            "first_c0": priors.c0,
            "weight_sd": posterior.walk.sd,
            "kappa_median": float(np.exp(priors.m)),
            "kappa_sigma": priors.sigma,
        },
        choice=Choice.given(params.n_clusters),
        warnings=(*_warnings(posterior, best, periods, fitted_rows, params), *warnings),
    )
    return replace(result, curves={**result.curves, "objective": [*enumerate(best.objective, 1)]})


def _arrays(posterior: TemporalPosterior) -> dict[str, Array]:
    """The arrays of a model, except the arrays of `Periods` and of features."""
    kappas = posterior.kappas
    return {
        "psi": posterior.psi,
        "gamma": posterior.gamma,
        "weights": posterior.walk.weights,
        "drift": _angle(posterior.psi[:-1], posterior.psi[1:]),
        "from_first": _angle(posterior.psi, posterior.psi[:1]),
        **kappas.model_arrays,
        "mu0": posterior.priors.mu0,
    }


def _distinctive_features(data: Data, arrays: Arrays) -> dict[str, Array]:
    """The features that distinguish clusters in each period, where features have names."""
    names = term_names(data, arrays["psi"].shape[2])
    if names is None:
        return {}
    return top_features_by_period(arrays["psi"], arrays["weights"], names)


def _angle(one: Float, other: Float) -> Float:
    """Degrees between unit vectors along the last axis; accurate also for small angles."""
    half = 0.5 * np.linalg.norm(one - other, axis=-1)
    return np.asarray(np.rad2deg(2.0 * np.arcsin(np.minimum(half, 1.0))))


def _warnings(
    posterior: TemporalPosterior,
    best: Climb[TemporalPosterior],
    periods: Periods,
    fitted_rows: Int,
    params: TVMFParams,
) -> tuple[str, ...]:
    n_clusters, n_features = posterior.psi.shape[1:]
    return (
        *empty_period_warnings(periods, fitted_rows),
        *end_warnings(best.ended, params.max_iter),
        *bounding_warnings(params.inference, n_features),
        *cap_warnings(posterior.kappas.high, params.max_kappa, IDENTICAL_ROWS),
        *prior_warnings(params.empirical_bayes, n_clusters),
    )
