"""Bayesian mixture of von Mises-Fisher distributions: clusters of directions that share strength.

pi ~ Dirichlet(alpha), mu_k ~ vMF(mu0, C0), kappa_k ~ log-normal(m, sigma^2), each row drawn from
its cluster's vMF. Three ways to the posterior: `variational-sampling`, coordinate ascent with the
mean-field optimum of each kappa (its expectations by a grid in log kappa instead of draws, so the
lower bound stays one and never falls); `variational-bounding`, a log-normal kappa and an upper
bound of the Bessel function, which shrinks kappa in few dimensions; `gibbs`, collapsed Gibbs
sampling, exact in the long run (`bayes.variational`, `.concentrations`, `.gibbs`). Empirical
Bayes sets every prior parameter.

How far to trust them, priors known, 400 rows in 4 clusters, D from 3 to 200 (`bench.calibration`):
`gibbs` is calibrated (so it is with either form of `weights` and of `kappa`), its 95% intervals
hold kappa 86 to 95 times in 100. `variational-sampling` is nearly so where clusters are apart (81
to 96); where one row in six could be another cluster's, its standard deviations are 2 to 3 times
too small, its intervals hold kappa 35 to 76 times, and in many dimensions small clusters lose rows
to large ones (log weight 0.6 too low at D = 200).
`variational-bounding` besides makes kappa too small by the factor (D - 2) / (D - r^2), r being a
cluster's mean resultant length: half at D = 3, 14% at D = 10, 3% at D = 50, so below D = 50 its
intervals seldom hold it.

Each cluster has a concentration of its own, the thesis's model; with `kappa: "shared"` there is one
for all, in every form, as `vmf` has it by default. Of one number empirical Bayes sets m, at E[log
kappa]; sigma stays as given, since a single draw says nothing of the spread it came from and the
bound is highest at the least sigma there is. Own ones raise likelihood, of new rows too, by wide
clusters beside narrow ones, while known classes come back better with one for all on most sets of
texts and embeddings tried (`bench.sphere`).

The number of clusters is given, or found: with weights 'stick-breaking' pi follows a Dirichlet
process of concentration alpha, of which `n_clusters` clusters are looked at. The variational forms
(`bayes.proportions`) have merges that take the ascent out of optima with too many
(`bayes.merging`), Gibbs sampling (`gibbs.dirichlet_process`) has moves that split and merge; every
second run begins with fewer: half, a quarter, and so on. Only clusters that are the likeliest one
of some row are served; all others are empty, and neither tree, model nor logits have them. Clusters
that overlap much are found as fewer, rows of no such mixture as many. A chain tells the posterior
of their number too, as the curve `n_clusters_probability` and its 95% credible interval
`n_clusters_low` to `n_clusters_high`, which count rows that lie far out and have clusters of their
own; served is the likeliest partition of the commonest number, but for clusters that, on average
over sweeps, are the likeliest of no row.

By batches ('batch_size'), for data larger than memory, both variational inferences are stochastic
(`em.batches`, which says when a run ends): rows in a random order, read in runs, update
the posterior after each batch; a last pass measures the bound that runs are compared by. The curve
`objective_estimate_by_epoch` has estimates of it, each by a posterior that moved on.

What is served is the posterior predictive: the logits are log p(k | x), a row's log-likelihood is
log p(x) with means integrated out exactly and concentrations by quadrature
(`bayes.predictive`). The tree has kappa's posterior mean and 95% interval. Clusters, held-out
rows, in-sample or not, names: as by `vmf`.

Source: Gopal, "Large-scale Structured Learning" (2014), section 5.3; Gopal and Yang, "Von
Mises-Fisher Clustering Models" (2014). Deviations: the inverse Bessel ratio and log I_v are exact;
equation 5.8 has its integral put right; 5.10's delta method, which is no bound, is a quadrature;
q(mu_k)'s mean is A_D(gamma_k) psi_k, the entropy of q(kappa) is added. Cost: an iteration as of
`vmf` and some ms; a sweep of Gibbs as `gibbs.gibbs` says. Memory as of `vmf`, and of a chain
whose number of clusters is found the clusters of every row in the sweeps kept, 500 at most.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from models.arrays import Float, Mask, Matrix
from models.checks import require_distinct, require_width
from models.clusters.choosing import Choice, Count, check_count
from models.clusters.counts import check_held_out, held_out, term_names
from models.clusters.placing import bytes_of_logits, placed
from models.data import Data
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.methods.sphere.bayes.bayesian import (
    BVMFParams,
    bytes_of_chains,
    check_asked,
    gibbs,
    occupied,
    variational,
    visited,
)
from models.methods.sphere.bayes.variational import Ascent, Posterior
from models.methods.sphere.em.batches import Steps, bytes_of_batches
from models.methods.sphere.em.stepwise import SampledRestarts, by_epoch, stochastic
from models.methods.sphere.gibbs.chain import Chain
from models.methods.sphere.gibbs.dirichlet_process import ProcessChain
from models.methods.sphere.mixture import pass_gpu, result
from models.methods.sphere.mixture.mixture import Mixture, together
from models.methods.sphere.mixture.passes import SHARES
from models.methods.sphere.mixture.result import Inside, answer, judged, ordered
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Restarts, bytes_beside
from models.progress import subprogress
from models.tree.tree import Tree


class BVMF(Method[BVMFParams]):
    """See the module's docstring."""

    title = "Bayesian mixture of von Mises-Fisher distributions"
    paper = Paper("Von Mises-Fisher Clustering Models", 2014, "ICML")
    Params = BVMFParams
    inputs = {
        "features": Input(sparse=True, by_rows=True, description="One row of length 1 per point."),
        "feature_names": Input(
            required=False,
            description="One name per column; clusters are named by the features that tell them.",
        ),
        "names": Input(
            required=False, description="One name per cluster, from the largest to the smallest."
        ),
    }
    outputs = ("tree", "model", "logits")
    advice = "Ask for fewer clusters, or use a sample of the points."
    resumes = True
    example = {"n_clusters": 3, "n_init": 2}

    def _memory(self, shapes: Shapes, params: BVMFParams) -> int:
        if "features" not in shapes:
            return 0
        n_points, n_features = shapes["features"]
        sums = min(1 << 27, 8 * SHARES * params.n_clusters * n_features)
        chain = bytes_of_chains(n_points, params)
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
        check_asked(data, params)

    def _fit(self, data: Data, params: BVMFParams, run: Run) -> Fitted:
        run.progress(0.0, "reading")
        points = UnitRows.of(data).held()
        out = held_out(points.shape[0], params.held_out, run.rng)
        within = subprogress(run.progress, 0.05, 0.9)
        with pass_gpu.passes(points, run.threads, params.device) as passes:
            counted = (~out).astype(np.float64)
            seed = int(run.rng.integers(2**31))
            restarts = Restarts(passes, counted, params.n_init, seed, run.checkpoint)
            restarts.halving = params.weights == "stick-breaking"
            restarts.keeps = bytes_of_chains(points.shape[0], params)
            best: Ascent | None = None
            chain: Chain | None = None
            if params.inference == "gibbs":
                sampler = gibbs(passes, counted, params)
                chain = restarts.best(sampler, sampler.n_seeds(params.n_clusters), within)
                posterior = sampler.posterior(chain, subprogress(run.progress, 0.9, 0.9))
                objective = chain.objective[-1]
            else:
                way = variational(passes, counted, params)
                if params.batch_size is not None:
                    steps = Steps(params.batch_size, params.delay, params.forgetting)
                    way = stochastic(way, steps)
                    restarts = SampledRestarts(restarts, params.n_clusters, run.rng)
                best = restarts.best(way, params.n_clusters, within)
                posterior, objective = best.posterior, best.objective[-1]
        run.progress(0.9, "assigning points")
        choice = Choice.given(params.n_clusters)
        if params.weights == "stick-breaking":
            likeliest = result.placed(points, result.kept(posterior), run.threads)[0].argmax(axis=1)
            posterior, choice = occupied(posterior, likeliest, objective, params.n_clusters)
        metrics = {"objective": objective}
        if isinstance(chain, ProcessChain):
            choice, ends = visited(choice, chain.numbers, params.n_clusters)
            metrics.update(ends)
        if best is not None:
            metrics["n_iter"] = float(len(best.objective))
        notes = result.said_of(
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
        """Leaf of the largest posterior, with it as probability; in or out of the sample."""
        logits, evidence = _new_rows(model, data)
        return judged(placed(tree, logits.argmax(axis=1), logits), model, evidence)

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
    return result.placed(points, model.arrays, 1)


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
    logits, evidence = result.placed(points, result.kept(found), threads)
    cluster, order = ordered(logits, found.psi)
    posterior = found.kept(order)
    arrays, priors = result.kept(posterior), posterior.priors
    kappas = posterior.kappas.each(len(order))
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
        warnings=notes,
    )
