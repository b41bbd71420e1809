"""Temporal mixture of von Mises-Fisher distributions: clusters whose means move and weights change.

Rows have time stamps; each distinct stamp is a period, or time is cut into `n_periods` equal bins.
A cluster's mean is drawn from vMF(mean of the period before, C0), so the larger `c0` is, the slower
it moves; by default means turn by about 15 degrees a period. Its concentration stays. Weights are
softmax of Gaussian walks. Coordinate ascent of the lower bound, which never falls
(`time.temporal`, `.weight_paths`); a run starts from clusters that stand still or from such
as are followed from one period to both ends, whichever is better.

Rows go to their likeliest cluster by the posterior predictive of their own period; clusters are
ordered by size. The model has the path of each: `psi` and `gamma` (periods, K, ...) with means and
how sure they are, `weights` (periods, K), `drift` (periods - 1, K), the degrees that its mean turns
from one period to the next; the latter two also in its facts, up to 20,000 numbers each.
`from_first` (periods, K) are the degrees from the first mean, and where features have names `told`
are those that tell the cluster in each period (`mixture.result`). The tree's column `drift` is
the angle between first and last mean. New rows with stamps belong to the period
of theirs: between two distinct ones the earlier, before the first the first; after the last, and
without stamps, means are looked ahead by the walk's steps. Likelihoods, rows held out, in-sample or
not, names as by `bvmf`.

Source: Gopal, "Large-scale Structured Learning" (2014), section 5.5. Deviations: those of `bvmf`;
z_ti ~ Cat(softmax(eta_t)), since the printed Dirichlet is not indexed by time; the first means have
a concentration of their own, estimated, where the print takes C0, which for slow clusters puts all
in one place. Cost: an iteration as of `vmf`, and some ten passes over T K D numbers. Memory: the
rows once more, 8 N K bytes for the logits, T K D numbers about ten times.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from pydantic import Field

from models import memory
from models.arrays import Arrays, Float, Int, Mask, Matrix
from models.checks import require_distinct, require_width
from models.clusters.choosing import MOST_CLUSTERS, Choice, Count, check_count
from models.clusters.counts import check_held_out, held_out, term_names
from models.clusters.placing import bytes_of_logits, placed
from models.data import Data
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.sphere.bayes.predictive import log_predictive_in_time
from models.methods.sphere.bayes.priors import Priors
from models.methods.sphere.mixture.mixture import Mixture, together
from models.methods.sphere.mixture.parameters import (
    HeldOut,
    KappaMedian,
    KappaSigma,
    Level,
    MaxIter,
    MaxKappa,
    NInit,
    Tol,
)
from models.methods.sphere.mixture.passes import SHARES, Passes, direction
from models.methods.sphere.mixture.result import (
    Inside,
    answer,
    judged,
    ordered,
    said_of_bounding,
    said_of_caps,
    said_of_end,
    telling,
)
from models.methods.sphere.mixture.rows import TimedRows, UnitRows
from models.methods.sphere.mixture.runs import EACH, Restarts, bytes_beside
from models.methods.sphere.time.periods import (
    MOST_PERIODS,
    Periods,
    said_of_empty_periods,
    stamps_of,
)
from models.methods.sphere.time.temporal import Ascent, Paths, Temporal
from models.numerics import bessel
from models.numerics.sphere import unit
from models.parameters import Params, Seed
from models.progress import subprogress
from models.tree.tree import Tree

USUAL_TURN = 15.0
"""Degrees that means turn in a period, about, where `c0` is not given."""

MOST_FACTS = 20_000
"""Numbers of a path that facts hold; a model's arrays have all."""


class TVMFParams(Params):
    n_clusters: int = Field(8, ge=1, le=MOST_CLUSTERS, description="Number of clusters.")
    n_periods: int | None = Field(
        None,
        ge=1,
        le=MOST_PERIODS,
        description=(
            "Equal bins that time is cut into; without it each distinct time stamp is a period."
        ),
    )
    c0: float | None = Field(
        None,
        ge=0,
        le=1e9,
        description=(
            "Concentration of a cluster's mean around that of the period before: the larger, the "
            "slower clusters move. Without it means turn by about 15 degrees a period."
        ),
    )
    inference: Literal["variational-sampling", "variational-bounding"] = Field(
        "variational-sampling",
        description=(
            "How the posterior is found: 'variational-sampling' with the exact distribution of "
            "each concentration given the rest, 'variational-bounding' with a log-normal one and "
            "a bound."
        ),
    )
    empirical_bayes: bool = Field(
        True,
        description=(
            "Whether the priors but 'c0' are estimated; 'weight_sd' and 'kappa_sigma' are where "
            "that starts."
        ),
    )
    first_c0: float = Field(
        1.0,
        ge=0,
        le=1e6,
        description=(
            "Concentration of the clusters' means in the first period around the direction of all "
            "rows; without 'empirical_bayes'."
        ),
    )
    weight_sd: float = Field(
        0.3,
        ge=0.01,
        le=10,
        description="Standard deviation of the step that a cluster's log weight takes in a period.",
    )
    kappa_median: KappaMedian = 100.0
    kappa_sigma: KappaSigma = 1.0
    max_kappa: MaxKappa = 1e6
    held_out: HeldOut = 0.0
    level: Level = 0.95
    n_init: NInit = 5
    max_iter: MaxIter = 200
    tol: Tol = 1e-4
    seed: Seed = 0


class TVMF(Method[TVMFParams]):
    """See the module's docstring."""

    title = "Temporal mixture of von Mises-Fisher distributions"
    paper = Paper("Von Mises-Fisher Clustering Models", 2014, "ICML")
    Params = TVMFParams
    inputs = {
        "features": Input(sparse=True, by_rows=True, description="One row of length 1 per point."),
        "timestamps": Input(
            fit_only=True,
            description=(
                "One stamp per row, in any order: integers, numbers, or times of ISO 8601. New "
                "rows without are of the period after the last."
            ),
        ),
        "feature_names": Input(
            required=False,
            description="One name per column; clusters are named by the features that tell them.",
        ),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    advice = "Ask for fewer clusters or periods, or use a sample of the points."
    resumes = True
    example = {"n_clusters": 3, "n_init": 2}

    def _memory(self, shapes: Shapes, params: TVMFParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
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
            way = Temporal(
                [passes.over(part) for part in timed.parts()],
                np.split(counted, timed.start[1:-1]),
                "grid" if params.inference == "variational-sampling" else "bound",
                Priors(1.0, around, params.first_c0, m, params.kappa_sigma),
                usual_c0(n_features) if params.c0 is None else params.c0,
                params.weight_sd,
                params.empirical_bayes,
                params.max_kappa,
                params.max_iter,
                params.tol,
            )
            seed = int(run.rng.integers(2**31))
            restarts = Restarts(passes, counted, params.n_init, seed, run.checkpoint)
            restarts.n_means = periods.n * params.n_clusters
            best = restarts.best(way, params.n_clusters, subprogress(run.progress, 0.05, 0.9))
        run.progress(0.9, "assigning points")
        return _fitted(data, timed, periods, best, out, params, run.threads)

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the largest posterior, with it as probability; in or out of the sample."""
        logits, evidence = _new_rows(model, data)
        return judged(placed(tree, logits.argmax(axis=1), logits), model, evidence)

    def _logits(self, model: Model, data: Data) -> Float:
        return _new_rows(model, data)[0]


def verdicts(model: Model, data: Data) -> dict[str, Float]:
    """Of new rows their log-likelihood and whether they are in-sample (`Inside.columns`)."""
    return Inside.kept(model.arrays, model.facts).columns(_new_rows(model, data)[1])


def usual_c0(n_features: int) -> float:
    """Of which the mean cosine with the mean before is that of `USUAL_TURN`."""
    return float(bessel.concentration(n_features, np.cos(np.deg2rad(USUAL_TURN))))


def _check_room(points: UnitRows, n_periods: int, params: TVMFParams) -> None:
    """With the rows once more, and as many periods as there are distinct stamps."""
    n_points, n_features = points.shape
    own = (
        points.values.nnz * 12
        if isinstance(points.values, sp.csr_array)
        else n_points * (n_features * points.kind.itemsize)
    )
    paths = _bytes_of_paths(params, n_periods, n_features)
    memory.require(TVMF.id, own + 8 * n_points * params.n_clusters + paths, TVMF.advice)


def _bytes_of_paths(params: TVMFParams, n_periods: int, n_features: int) -> int:
    n_values = n_periods * params.n_clusters * n_features
    return EACH * n_values + bytes_beside(params.n_init, n_values)


def _new_rows(model: Model, data: Data) -> tuple[Float, Float]:
    """Log posterior and log-likelihood of new rows. UsageError for rows that are not unit."""
    points, periods = UnitRows.of(data), Periods.kept(model.arrays, model.facts)
    n_points = points.shape[0]
    require_width(points.values, model.arrays["psi"].shape[2])
    points.require_unit()
    period = np.full(n_points, periods.n)
    if "timestamps" in data:
        period = periods.period(stamps_of(data, n_points, periods.dated)[0])
    timed = TimedRows.of(points, period, int(period.max(initial=0)) + 1)
    return log_predictive_in_time(timed, model.arrays, float(model.facts["c0"]))


def _fitted(
    data: Data,
    timed: TimedRows,
    periods: Periods,
    best: Ascent,
    out: Mask,
    params: TVMFParams,
    threads: int,
) -> Fitted:
    found = best.posterior
    logits, evidence = log_predictive_in_time(timed, _arrays(found), found.c0, threads)
    cluster, order = ordered(logits, found.psi[0])
    posterior = found.reordered(order)
    arrays, kappas, priors = _arrays(posterior), posterior.kappas, posterior.priors
    n_rows = np.diff(timed.start)
    shares = arrays["weights"] * (n_rows / n_rows.sum())[:, None]
    log_weights = np.log(shares.sum(axis=0))
    # Over time, each period's mean by how many rows of the cluster it has.
    middle = np.einsum("tk,tkd->kd", shares, posterior.psi)
    means = unit(middle)
    whole = together(Mixture(log_weights, means, kappas.mean), params.max_kappa)
    ends = arrays["weights"][[0, -1], :, None] * posterior.psi[[0, -1]]
    turned = np.append(_angle(*unit(ends.sum(axis=1))), _angle(posterior.psi[0], posterior.psi[-1]))
    nodes = kappas.intervals
    # `out` is in the order of periods, the answer in that of the rows.
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
    return answer(
        data,
        cluster,
        logits,
        evidence,
        rows_out,
        params.level,
        means=means,
        log_weights=log_weights,
        nodes={**{name: np.append(whole, one) for name, one in nodes.items()}, "drift": turned},
        arrays={**arrays, **periods.arrays(), **_told(data, arrays)},
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
        warnings=_said(posterior, best, periods, fitted_rows, params),
    )


def _arrays(posterior: Paths) -> dict[str, npt.NDArray[Any]]:
    """What a model keeps."""
    kappas = posterior.kappas
    return {
        "psi": posterior.psi,
        "gamma": posterior.gamma,
        "weights": posterior.walk.weights,
        "drift": _angle(posterior.psi[:-1], posterior.psi[1:]),
        "from_first": _angle(posterior.psi, posterior.psi[:1]),
        **kappas.served,
        "mu0": posterior.priors.mu0,
    }


def _told(data: Data, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """What tells the clusters in each period, where features have names."""
    names = term_names(data, arrays["psi"].shape[2])
    return {} if names is None else telling(arrays["psi"], arrays["weights"], names)


def _angle(one: Float, other: Float) -> Float:
    """Degrees between unit vectors along the last axis; right for small ones."""
    half = 0.5 * np.linalg.norm(one - other, axis=-1)
    return np.asarray(np.rad2deg(2.0 * np.arcsin(np.minimum(half, 1.0))))


def _said(
    posterior: Paths, best: Ascent, periods: Periods, fitted_rows: Int, params: TVMFParams
) -> tuple[str, ...]:
    n_clusters, n_features = posterior.psi.shape[1:]
    alike = "the points of a cluster are all but identical, so likelihoods hang on that bound"
    found = (
        *said_of_empty_periods(periods, fitted_rows),
        *said_of_end(best.ended, params.max_iter),
        *said_of_bounding(params.inference, n_features),
        *said_of_caps(posterior.kappas.high, params.max_kappa, alike),
    )
    if not params.empirical_bayes or n_clusters > 1:
        return found
    return (
        *found,
        "One cluster tells nothing of how clusters differ, so the priors were not estimated.",
    )
