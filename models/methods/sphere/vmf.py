"""Mixture of von Mises-Fisher distributions: clusters of directions, by EM.

Rows of length 1 are drawn from K distributions with density C_D(kappa) exp(kappa mu_k . x), with
one kappa for all clusters or one for each. A run starts from k-means++ seeds by cosine and climbs
by EM; the best of `n_init` runs is kept. `assignment: "hard"` assigns each row to its likeliest
cluster alone; with a shared kappa all clusters then have the same weight, which is spherical
k-means. The objective never falls, and the updates are exact: kappa is the inverse of the Bessel
ratio by Newton's method, not its closed-form approximation (`models.numerics.sphere`). The logits
are log p(k | x). Clusters are ordered by size, largest first, and at equal size by the coordinates
of their means.

By batches ('batch_size'), for data larger than memory, EM is stepwise (`mixture.stochastic`, which
says when a run ends): rows in a random order, read in runs, update the mixture after each batch; a
last pass measures the likelihood by which runs are compared. The curve
`objective_estimate_by_epoch` holds estimates of it, made while the mixture still moved.

With `held_out` a random share of the rows is kept out of the fit and its likelihood measured. A
row, new or fitted, is in-sample if its log-likelihood reaches the quantile 1 - `level` of the
held-out rows (without held-out rows, of the fitted ones, which is a little too strict). The number
of clusters is a parameter, or chosen by the lowest BIC or the highest held-out likelihood.

Source: Banerjee, Dhillon, Ghosh and Sra (2005); Gopal, "Large-scale Structured Learning" (2014),
section 5.2, which prints the fraction of pi_k upside down. Cost: each iteration takes two products
of N D K, or for sparse rows of their stored values with K. Rows are read in blocks, also from a
file; rows in single precision are multiplied in single and summed in double precision. Dense rows
may lie on a GPU ('device': "cuda"). Memory: 8 N K bytes for the logits, 8 N, and at most 17 times K
D sums.

Measured: CPU time as N^0.7 D^0.9 K^0.8, from 40,000 x 64 and 16 clusters to four times each,
iterations bounded (`python -m bench costs`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from models.arrays import Float, Int, Mask, Matrix
from models.clusters.choosing import Choice, Count, check_count
from models.clusters.counts import check_held_out, held_out, term_names
from models.clusters.likelihoods import JudgesLabels, Likelihoods
from models.clusters.placing import bytes_of_logits
from models.inputs.checks import require_distinct
from models.inputs.data import Data
from models.method import Fitted, Model, Paper, Run, Shapes
from models.methods.sphere.mixture import pass_crew, pass_gpu
from models.methods.sphere.mixture.em import EM, StepwiseEM, choose_n_clusters
from models.methods.sphere.mixture.method import (
    BatchSize,
    ConfidenceLevel,
    Delay,
    Forgetting,
    HeldOutForThreshold,
    PassDevice,
    SphereMethod,
    new_rows,
)
from models.methods.sphere.mixture.mixture import Constraints, Mixture, maximize, pooled_kappa
from models.methods.sphere.mixture.passes import SHARES, Sums
from models.methods.sphere.mixture.result import (
    IDENTICAL_ROWS,
    end_warnings,
    ordered,
    partition_result,
)
from models.methods.sphere.mixture.rows import UnitRows
from models.methods.sphere.mixture.runs import Climb, Restarts, bytes_beside
from models.methods.sphere.mixture.stochastic import (
    SampledRestarts,
    Steps,
    by_epoch,
    bytes_of_batches,
)
from models.parameters import MaxIter, NInit, Seed
from models.running.budget import Cost
from models.running.progress import subprogress


class VMFParams(Count):
    choose: Literal["bic", "held-out"] | None = Field(
        None,
        description=(
            "Choose the number of clusters between 'min_clusters' and 'max_clusters': the lowest "
            "'bic', or the highest mean log-likelihood of rows 'held-out'."
        ),
    )
    assignment: Literal["soft", "hard"] = Field(
        "soft",
        description=(
            "How EM assigns a row: 'soft' by its posterior, 'hard' to its likeliest cluster "
            "alone; hard with a 'shared' kappa is spherical k-means."
        ),
    )
    kappa: Literal["shared", "own"] = Field(
        "shared", description="Whether all clusters share one concentration or have their own."
    )
    max_kappa: float = Field(1e6, ge=1, le=1e9, description="Largest concentration of a cluster.")
    held_out: HeldOutForThreshold = 0.0
    level: ConfidenceLevel = 0.95
    n_init: NInit = 5
    max_iter: MaxIter = 200
    tol: float = Field(
        1e-4,
        ge=0,
        le=1,
        description="A run ends when the mean log-likelihood of a row rises by no more than this.",
    )
    batch_size: BatchSize = None
    delay: Delay = 10.0
    forgetting: Forgetting = 0.7
    device: PassDevice = "cpu"
    seed: Seed = 0


class VMF(SphereMethod[VMFParams], JudgesLabels[VMFParams]):
    """See the module's docstring."""

    id = "vmf"
    title = "Mixture of von Mises-Fisher distributions"
    family = "sphere"
    paper = Paper(
        "Clustering on the Unit Hypersphere using von Mises-Fisher Distributions",
        2005,
        "Journal of Machine Learning Research 6",
    )
    Params = VMFParams
    cost = Cost(2e-7, k="n_clusters", times=("n_init",))
    example = {"n_clusters": 3, "n_init": 2}

    def _bytes(self, shapes: Shapes, params: VMFParams) -> int:
        n_points, n_features = shapes["features"]
        sums = min(1 << 27, 8 * SHARES * params.most * n_features)
        batches = bytes_of_batches(shapes, params.batch_size)
        beside = bytes_beside(params.n_init, params.most * n_features)
        return bytes_of_logits(shapes, params.most) + 24 * n_points + sums + batches + beside

    def _check(self, data: Data, params: VMFParams) -> None:
        points = UnitRows.of(data)
        pass_gpu.require(params.device, points)
        check_held_out(cast(Matrix, points.values), params, params.held_out)
        check_count(data, params)
        term_names(data, points.shape[1])
        points.require_unit()
        require_distinct(points.values, params.fewest, params.count_parameter)

    def _fit(self, data: Data, params: VMFParams, run: Run) -> Fitted:
        run.progress(0.0, "reading")
        points = UnitRows.of(data).held()
        out = held_out(points.shape[0], params.held_out, run.rng)
        hard = params.assignment == "hard"
        equal = hard and params.kappa == "shared"
        constraints = Constraints(params.kappa, params.max_kappa, equal)
        counted = (~out).astype(np.float64)
        within = subprogress(run.progress, 0.05, 0.9)
        with pass_crew.passes(points, run.threads, params.device, run.crew) as passes:
            em = EM(passes, counted, constraints, hard, params.max_iter, params.tol)
            seed = int(run.rng.integers(2**31))
            restarts = Restarts(passes, counted, params.n_init, seed, run.checkpoint)
            if params.batch_size is not None:
                steps = Steps(params.batch_size, params.delay, params.forgetting)
                em = StepwiseEM.of(em, steps)
                restarts = SampledRestarts(restarts, params.most, run.rng)
            if params.choose is None:
                choice = Choice.given(params.n_clusters)
                best = restarts.best(em, params.n_clusters, within)
            else:
                choice, best = choose_n_clusters(restarts, em, params, out, within)
        run.progress(0.9, "assigning points")
        return _fitted(data, points, params, constraints, best, choice, out)

    def _posterior(self, model: Model, data: Data) -> tuple[Float, Float]:
        mixture = Mixture.of(model.arrays)
        return mixture.log_posterior(new_rows(data, mixture.means.shape[1]))

    def _likelihoods(self, model: Model, data: Data, code: Int) -> Likelihoods:
        found, facts = Mixture.of(model.arrays), model.facts
        points = new_rows(data, found.means.shape[1])
        constraints = Constraints(
            facts.get("spread", "shared"),
            facts.get("max_kappa", 1e6),
            facts.get("equal", False),
        )
        size = np.bincount(code).astype(np.float64)
        total = np.zeros((size.size, points.shape[1]))
        for block in points.slices(size.size):
            rows = points.block(block)
            member = sp.csr_array(
                (np.ones(rows.shape[0]), (code[block], np.arange(rows.shape[0]))),
                shape=(size.size, rows.shape[0]),
            )
            sums = member @ rows
            total += sums.toarray() if isinstance(sums, sp.csr_array) else sums
        start = Mixture.at(np.eye(1, points.shape[1]).repeat(size.size, axis=0))
        own = maximize(Sums(size, total, np.zeros(0)), start, constraints)
        n_capped = int((own.kappa >= constraints.max_kappa).sum())
        notes = (
            (f"{n_capped} concentration(s) of labels reached 'max_kappa': {IDENTICAL_ROWS}.",)
            if n_capped
            else ()
        )
        of_found, of_own = (
            float(mixture.log_posterior(points)[1].mean()) for mixture in (found, own)
        )
        return Likelihoods(of_found, of_own, notes)

    def _n_clusters(self, model: Model) -> int:
        return len(model.arrays["kappa"])


def _fitted(
    data: Data,
    points: UnitRows,
    params: VMFParams,
    constraints: Constraints,
    best: Climb[Mixture],
    choice: Choice,
    out: Mask,
) -> Fitted:
    logits, evidence = best.estimate.log_posterior(points)
    cluster, order = ordered(logits, best.estimate.means)
    mixture = best.estimate.reordered(order)
    fitted = evidence[~out]
    result = partition_result(
        data,
        cluster,
        logits,
        evidence,
        out,
        params.level,
        means=mixture.means,
        log_weights=mixture.log_weights,
        nodes={"kappa": np.append(pooled_kappa(mixture, params.max_kappa), mixture.kappa)},
        arrays=mixture.arrays(),
        facts={
            "spread": constraints.spread,
            "max_kappa": constraints.max_kappa,
            "equal": constraints.equal,
        },
        metrics={
            "bic": constraints.bic(mixture, float(fitted.sum()), fitted.size),
            "n_iter": float(len(best.objective)),
            "kappa_min": float(mixture.kappa.min()),
            "kappa_max": float(mixture.kappa.max()),
        },
        choice=choice,
        warnings=_warnings(best, params),
    )
    if params.batch_size is None:
        return result
    return replace(result, curves={**result.curves, **by_epoch(best)})


def _warnings(best: Climb[Mixture], params: VMFParams) -> list[str]:
    warnings = [*end_warnings(best.ended, params.max_iter, params.batch_size is not None)]
    if best.reseeded:
        warnings.append(
            f"{best.reseeded} cluster(s) lost all their points during the fit and were given a new "
            "mean, one of the points that were least likely."
        )
    n_capped = int((best.estimate.kappa >= params.max_kappa).sum())
    if n_capped:
        which = "The shared concentration" if params.kappa == "shared" else f"{n_capped} kappa(s)"
        warnings.append(f"{which} reached 'max_kappa' = {params.max_kappa:g}: {IDENTICAL_ROWS}.")
    return warnings
