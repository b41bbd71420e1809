"""The fit of `ghhc` from its inputs to its tree; what each step does is in the modules it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.data import Data, Earlier
from models.errors import UsageError
from models.method import Fitted, Run
from models.methods.hyperbolic.ball import losses, seeding
from models.methods.hyperbolic.ball.all_reduce import ALONE, Team
from models.methods.hyperbolic.ball.extraction import Extracted, extract
from models.methods.hyperbolic.ball.placing import model_of
from models.methods.hyperbolic.ball.pools import Pool, Pools
from models.methods.hyperbolic.ball.process_group import Ranks
from models.methods.hyperbolic.ball.scaling import Scaling, measured
from models.methods.hyperbolic.ball.training import Effort, Trained, train
from models.methods.hyperbolic.ball.tree_cost import Judge, PoolJudge
from models.methods.hyperbolic.ball.triples import Sampled, pool_rng
from models.progress import Progress, subprogress
from models.rows import Rows

if TYPE_CHECKING:
    from torch import Tensor

    from models.methods.hyperbolic.ghhc import GHHCParams

MOST_POOLS = 4
"""Pools that triples are drawn from, where not all points fit one."""

ROUND = 100
"""Steps from one judgement to the next, ..."""

NODES_A_STEP = 100
"""... and at least one for so many nodes: a judgement is quadratic in them, a step linear."""


def fitted(data: Data, params: GHHCParams, run: Run) -> Fitted:
    """The whole fit. To be called within `models.device.computing`."""
    rows, earlier = data.rows("features"), data.earlier()
    scaling = measured(
        rows, params.scaling, params.point_norm, subprogress(run.progress, 0.0, 0.05)
    )
    if earlier is not None:
        mean, factor = earlier.state["mean"], float(earlier.state["factor"])
        scaling = Scaling(params.scaling, mean, factor, params.point_norm)
    n_processes, notes = _processes(params, run.threads)
    if n_processes == 1:
        return _from_scaled(rows, scaling, earlier, params, run, notes, ALONE)
    with Ranks(n_processes, run.threads, params.device) as team:
        return _from_scaled(rows, scaling, earlier, params, run, notes, team)


def _from_scaled(
    rows: Rows,
    scaling: Scaling,
    earlier: Earlier | None,
    params: GHHCParams,
    run: Run,
    notes: tuple[str, ...],
    team: Team,
) -> Fitted:
    pools = Pools(rows, scaling, params.n_neighbors, params.device)
    seed, of_noise, of_seeds = (int(one) for one in run.rng.integers(2**63, size=3))
    pool = pools.draw(pool_rng(seed, 0), run.threads, subprogress(run.progress, 0.05, 0.2))
    judge = PoolJudge(pool, np.random.default_rng([seed, 2]))
    within = subprogress(run.progress, 0.2, 0.3)
    if earlier is not None:
        nodes = _tensor(earlier.state["nodes"], pool)
    else:
        nodes, said = seeded(pool, judge, params, np.random.default_rng(of_seeds), within)
        notes += said
    effort = effort_of(params)
    n_pools = 1 if pools.is_whole else min(MOST_POOLS, -(-pools.n_points // pools.size))
    rounds_each = max(1, -(-effort.n_rounds // n_pools))
    trained = Trained(nodes)
    if judge.n_pairs and pool.n_points > 2:
        leaves = Sampled(pools, pool, params.batch_size, rounds_each, seed, run.threads, team)
        within = subprogress(run.progress, 0.3, 0.85)
        if isinstance(team, Ranks):
            team.join(effort, pool.points, len(nodes), (seed, of_noise), within)
        trained = train(leaves, nodes, judge, effort, of_noise, run.checkpoint, within, team)
        _require_converged(trained, params)
    found = extract(rows, scaling, trained.nodes, subprogress(run.progress, 0.85, 1.0))
    return Fitted(
        tree=found.tree,
        model=model_of(found, scaling),
        metrics=metrics_of(trained, found),
        curves={
            name: curve
            for name, curve in (("objective", trained.objectives), ("cost", trained.costs))
            if curve
        },
        points={"parent_probability": found.probability},
        state={
            "nodes": trained.nodes.cpu().numpy(),
            "mean": scaling.mean,
            "factor": np.array(scaling.factor),
        },
        warnings=(
            *notes,
            *_said_of_pools(pools, pool, min(n_pools, effort.n_rounds), params),
            *said_of_training(trained, effort),
            *_said_of_central(found, params),
        ),
    )


def _processes(params: GHHCParams, threads: int) -> tuple[int, tuple[str, ...]]:
    """How many take steps, and what to say of it."""
    if not params.max_iter:
        return 1, ()
    if params.device == "cuda" or params.processes <= threads:
        return params.processes, ()
    return threads, (
        f"Steps were taken by {threads} process(es), as many as a job may have threads here, not "
        f"'processes' = {params.processes}; the result is the same but for rounding.",
    )


def effort_of(params: GHHCParams) -> Effort:
    objective = losses.Objective(
        form=params.loss,
        margin=params.margin,
        temperature=params.temperature,
        noise=params.noise,
        mask=params.mask,
        structure=params.structure,
        structure_margin=params.gamma,
    )
    return Effort(
        max_iter=params.max_iter,
        round_size=max(ROUND, params.n_internal // NODES_A_STEP),
        batch_size=params.batch_size,
        learning_rate=params.learning_rate,
        optimizer=params.optimizer,
        max_norm=params.max_norm,
        structure_every=params.structure_every,
        keep=params.keep,
        objective=objective,
    )


def seeded(
    pool: Pool, judge: Judge, params: GHHCParams, rng: np.random.Generator, progress: Progress
) -> tuple[Tensor, tuple[str, ...]]:
    """The best of `n_init` starts, and what to say of them."""
    n_places, n_nodes = len(pool.first), params.n_internal
    most = n_places if params.seeding == "points" else 2 * n_places - 1
    notes: tuple[str, ...] = ()
    if n_nodes > most:
        notes = (
            f"There are {n_places:,} distinct points, so the tree has {most:,} nodes to move, not "
            f"'n_internal' = {n_nodes:,}.",
        )
        n_nodes = most
    points = pool.points.cpu().numpy()
    best, least = None, np.inf
    for number in range(params.n_init):
        part = subprogress(progress, number / params.n_init, (number + 1) / params.n_init)
        start = seeding.seeded(
            points,
            pool.first,
            n_nodes,
            params.seeding,
            params.placement,
            params.point_norm,
            params.max_norm,
            rng,
            part,
        )
        nodes = _tensor(start, pool)
        cost = judge.cost(nodes) if params.n_init > 1 else 0.0
        if best is None or cost < least:
            best, least = nodes, cost
    assert best is not None
    return best, notes


def _tensor(nodes: np.ndarray, pool: Pool) -> Tensor:
    import torch

    return torch.from_numpy(nodes.astype(np.float32)).to(pool.points.device)


def metrics_of(trained: Trained, found: Extracted) -> dict[str, float]:
    told = {
        "n_internal_used": float(len(found.nodes)),
        "log_probability": found.log_probability,
        "mean_parent_probability": float(found.probability.mean()),
        "best_step": float(trained.best_step),
    }
    if trained.costs:
        told["cost_of_seeds"], told["cost"] = trained.costs[0][1], trained.best_cost
    if trained.objectives:
        told["objective"] = trained.objectives[-1][1]
    return told


def _said_of_pools(pools: Pools, pool: Pool, n_pools: int, params: GHHCParams) -> tuple[str, ...]:
    said = []
    if not pools.is_whole:
        said.append(
            f"Triples came from {n_pools} pool(s) of {pools.size:,} of the {pools.n_points:,} "
            "points; neighbours are the nearest within a pool, and seeds are points of the first."
        )
    if pool.recall is not None:
        said.append(
            f"Neighbours were sought by an approximate index, which found {pool.recall:.1%} of "
            "those of a sample of points."
        )
    if pool.near.shape[1] < params.n_neighbors:
        said.append(
            f"Points have {pool.near.shape[1]} neighbours at other places, not 'n_neighbors' = "
            f"{params.n_neighbors}."
        )
    return tuple(said)


def _require_converged(trained: Trained, params: GHHCParams) -> None:
    if trained.diverged and params.keep == "last":
        raise UsageError(
            f"The fit diverged and was stopped: {trained.diverged}. Lower 'learning_rate' (it is "
            f"{params.learning_rate:g}), or use 'keep': 'best' for the best nodes there were.",
            code="diverged",
            parameter="learning_rate",
        )


def said_of_training(trained: Trained, effort: Effort) -> tuple[str, ...]:
    if trained.diverged:
        return (
            f"The fit diverged and was stopped: {trained.diverged}. The nodes are those after "
            f"{trained.best_step:,} steps. Lower 'learning_rate'.",
        )
    if effort.max_iter and trained.costs and trained.best_step == 0:
        return ("No step made a better tree than that of the seeds, which serves.",)
    return ()


def _said_of_central(found: Extracted, params: GHHCParams) -> tuple[str, ...]:
    if not found.n_central or params.scaling != "unit":
        return ()
    return (
        f"{found.n_central} point(s) lie at the mean of all, in no direction from it: they are at "
        "the centre of the ball.",
    )
