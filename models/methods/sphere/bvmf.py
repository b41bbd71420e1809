"""Bayesian mixture of von Mises-Fisher distributions: clusters of directions that share strength.

pi ~ Dirichlet(alpha), mu_k ~ vMF(mu0, C0), kappa_k ~ log-normal(m, sigma^2), each row drawn from
its cluster's vMF. Three ways to the posterior: `variational-sampling`, coordinate ascent with the
mean-field optimum of each kappa (its expectations by a grid in log kappa instead of draws, so the
lower bound stays one and never falls); `variational-bounding`, a log-normal kappa and an upper
bound of the Bessel function, which shrinks kappa in few dimensions; `gibbs`, collapsed Gibbs
sampling, exact in the long run (`models.vmf.variational`, `.concentrations`, `.gibbs`). Empirical
Bayes sets every prior parameter.

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

from typing import ClassVar, Literal, cast

import numpy as np
from pydantic import Field

from models.contract import (
    Arrays,
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
from models.partitions.choosing import MOST_CLUSTERS, Choice, Count, check_count, share
from models.partitions.counts import Mask, check_held_out, held_out, term_names
from models.partitions.placing import bytes_of_logits, placed
from models.partitions.points import Float, require_distinct, require_width
from models.tree.tree import Tree
from models.vmf.gibbs import Gibbs
from models.vmf.inside import Inside
from models.vmf.mixture import Mixture, together
from models.vmf.parameters import (
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
from models.vmf.predictive import log_predictive
from models.vmf.priors import Priors
from models.vmf.runs import Restarts
from models.vmf.said import said_of_bounding, said_of_caps, said_of_end
from models.vmf.serving import answer, ordered
from models.vmf.variational import Ascent, Posterior, Variational


class BVMFParams(Params):
    n_clusters: int = Field(8, ge=1, le=MOST_CLUSTERS, description="Number of clusters.")
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
        1.0, ge=1e-3, le=1e3, description="Dirichlet prior of the clusters' weights."
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
    seed: Seed = 0


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
        return bytes_of_logits(shapes, params.n_clusters) + 48 * n_points + sums + kept

    def _check(self, data: Data, params: BVMFParams) -> None:
        points, count = UnitRows.of(data), Count(n_clusters=params.n_clusters)
        check_held_out(cast(Matrix, points.values), count, params.held_out)
        check_count(data, count)
        term_names(data, points.shape[1])
        points.require_unit()
        require_distinct(points.values, params.n_clusters)

    def _fit(self, data: Data, params: BVMFParams, run: Run) -> Fitted:
        run.progress(0.0, "reading")
        points = UnitRows.of(data).held()
        out = held_out(points.shape[0], params.held_out, run.rng)
        within = share(run.progress, 0.05, 0.9)
        with Passes(points, run.threads) as passes:
            counted = (~out).astype(np.float64)
            seed = int(run.rng.integers(2**31))
            restarts = Restarts(passes, counted, params.n_init, seed, run.checkpoint)
            priors = _priors(passes, counted, params)
            best: Ascent | None = None
            if params.inference == "gibbs":
                sampler = _gibbs(passes, counted, priors, params)
                chain = restarts.best(sampler, params.n_clusters, within)
                posterior, objective = chain.posterior(), chain.objective[-1]
            else:
                way = _variational(passes, counted, priors, params)
                best = restarts.best(way, params.n_clusters, within)
                posterior, objective = best.posterior, best.objective[-1]
        run.progress(0.9, "assigning points")
        metrics = {"objective": objective}
        if best is not None:
            metrics["n_iter"] = float(len(best.objective))
        notes = _said(posterior, best, params)
        return _fitted(data, points, posterior, out, params, metrics, notes, run.threads)

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
    return _placed(points, model.arrays, 1)


def _placed(points: UnitRows, arrays: Arrays, threads: int) -> tuple[Float, Float]:
    return log_predictive(
        points,
        arrays["log_weights"],
        arrays["psi"],
        arrays["gamma"],
        arrays["log_mean"],
        arrays["log_sd"],
        threads,
    )


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
    return Variational(
        passes,
        counted,
        "grid" if params.inference == "variational-sampling" else "bound",
        priors,
        params.empirical_bayes,
        params.max_kappa,
        params.max_iter,
        params.tol,
    )


def _fitted(
    data: Data,
    points: UnitRows,
    found: Posterior,
    out: Mask,
    params: BVMFParams,
    metrics: dict[str, float],
    notes: list[str],
    threads: int,
) -> Fitted:
    logits, evidence = _placed(points, _arrays(found), threads)
    cluster, order = ordered(logits, found.psi)
    posterior = found.reordered(order)
    arrays, kappas, priors = _arrays(posterior), posterior.kappas, posterior.priors
    whole = together(Mixture(arrays["log_weights"], posterior.psi, kappas.mean), params.max_kappa)
    nodes = {"kappa": kappas.mean, "kappa_low": kappas.low, "kappa_high": kappas.high}
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
        choice=Choice.given(params.n_clusters),
        warnings=notes,
    )


def _arrays(posterior: Posterior) -> dict[str, Float]:
    """What a model keeps."""
    kappas = posterior.kappas
    return {
        "log_weights": np.log(posterior.rho / posterior.rho.sum()),
        "rho": posterior.rho,
        "psi": posterior.psi,
        "gamma": posterior.gamma,
        "kappa": kappas.mean,
        "kappa_low": kappas.low,
        "kappa_high": kappas.high,
        "log_mean": kappas.log_mean,
        "log_sd": kappas.log_sd,
        "mu0": posterior.priors.mu0,
    }


def _said(posterior: Posterior, best: Ascent | None, params: BVMFParams) -> list[str]:
    n_clusters, n_features = posterior.psi.shape
    why = "the points of a cluster are all but identical, so likelihoods hang on that bound"
    found = [
        *said_of_end(best is None or best.ended, params.max_iter),
        *said_of_bounding(params.inference, n_features),
        *said_of_caps(posterior.kappas.high, params.max_kappa, why),
    ]
    if params.empirical_bayes and n_clusters == 1:
        found.append(
            "One cluster tells nothing of how clusters differ, so the priors were not estimated."
        )
    if params.empirical_bayes and posterior.priors.c0 >= params.max_kappa:
        found.append(
            f"The concentration of the clusters' means, C0, reached 'max_kappa' = "
            f"{params.max_kappa:g}: the clusters' means are all but the same."
        )
    return found
