"""The fit of `ghhc`, from rows of features to a tree, its metrics, curves and warnings.

Each stage is described in its module: `scaling`, `pools`, `seeding`, `training`, `extraction`.
`ghhc-glove` shares the choice of initial nodes, the metrics and the warnings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from models.answers.learned_steps import LearnedStep
from models.arrays import Array
from models.errors import UsageError
from models.inputs.data import Earlier
from models.inputs.rows import Rows
from models.method import Fitted, Run
from models.methods.hyperbolic.ball.decoding import PoolTreeCost, TreeCost
from models.methods.hyperbolic.ball.descent import SINGLE, AllReduce
from models.methods.hyperbolic.ball.extraction import (
    BallTree,
    extract,
    leaf_merges,
    merge_warnings,
    merged_tree,
)
from models.methods.hyperbolic.ball.parameters import (
    BallEffort,
    BallParams,
    SeedingEffort,
    seeding_of,
    training_of,
)
from models.methods.hyperbolic.ball.placing import model_of, with_points
from models.methods.hyperbolic.ball.points import (
    FAR,
    BallScaling,
    Pool,
    Pools,
    measure_scaling,
    scaled_points,
)
from models.methods.hyperbolic.ball.process_group import ProcessGroup
from models.methods.hyperbolic.ball.seeding import start_nodes
from models.methods.hyperbolic.ball.training import TrainedNodes, train
from models.methods.hyperbolic.ball.triples import PoolTriples, pool_rng
from models.running.progress import Progress, subprogress

if TYPE_CHECKING:
    from torch import Tensor

MOST_POOLS = 4
"""The number of pools that triples are drawn from, if not all points fit into one."""


def fit(
    rows: Rows,
    earlier: Earlier | None,
    params: BallParams,
    n_wanted: int,
    run: Run,
    keep_steps: int = 0,
) -> Fitted:
    """The whole fit.

    To be called within `models.running.device.computing`. keep_steps : the most earlier trees.
    earlier : a job of `ghhc` from whose nodes and scaling the fit starts.
    """
    scaling = measure_scaling(
        rows, params.scaling, params.point_norm, subprogress(run.progress, 0.0, 0.05)
    )
    if earlier is not None:
        mean, factor = earlier.state["mean"], float(earlier.state["factor"])
        scaling = BallScaling(params.scaling, mean, factor, params.point_norm)
    n_processes, warnings = _process_count(params, n_wanted, run.threads)
    warnings += _far_warnings(scaling)
    training = replace(training_of(params), keep_steps=keep_steps)
    if n_processes == 1:
        return _fit_scaled(rows, scaling, earlier, params, training, run, warnings, SINGLE)
    with ProcessGroup(n_processes, run.threads, params.device) as group:
        return _fit_scaled(rows, scaling, earlier, params, training, run, warnings, group)


def _fit_scaled(
    rows: Rows,
    scaling: BallScaling,
    earlier: Earlier | None,
    params: BallParams,
    training: BallEffort,
    run: Run,
    warnings: tuple[str, ...],
    all_reduce: AllReduce,
) -> Fitted:
    pools = Pools(rows, scaling, params.n_neighbors, params.device)
    seed, noise_seed, start_seed = (int(value) for value in run.rng.integers(2**63, size=3))
    pool = pools.draw(pool_rng(seed, 0), run.threads, subprogress(run.progress, 0.05, 0.2))
    tree_cost = PoolTreeCost(pool, np.random.default_rng([seed, 2]))
    if earlier is not None:
        nodes = _tensor(earlier.state["nodes"], pool)
    else:
        start_rng = np.random.default_rng(start_seed)
        progress = subprogress(run.progress, 0.2, 0.3)
        nodes, start_warnings = best_start(pool, tree_cost, seeding_of(params), start_rng, progress)
        warnings += start_warnings
    n_pools = 1 if pools.is_whole else min(MOST_POOLS, -(-pools.n_points // pools.size))
    rounds_each = max(1, -(-training.n_rounds // n_pools))
    trained = TrainedNodes(nodes)
    if tree_cost.n_pairs and pool.n_points > 2:
        triples = PoolTriples(
            pools, pool, training.batch_size, rounds_each, seed, run.threads, all_reduce
        )
        progress = subprogress(run.progress, 0.3, 0.85)
        if isinstance(all_reduce, ProcessGroup):
            all_reduce.start(training, pool.points, len(nodes), (seed, noise_seed), progress)
        trained = train(
            triples, nodes, tree_cost, training, noise_seed, run.checkpoint, progress, all_reduce
        )
        _require_converged(trained, training)
    last = subprogress(run.progress, 0.85, 0.99)
    merging = params.below != "none"
    result = extract(rows, scaling, trained.nodes, subprogress(last, 0.0, 0.5 if merging else 1.0))
    tree, model = result.tree, model_of(result, scaling)
    if merging:
        points = scaled_points(rows, scaling)
        merges = leaf_merges(result, points, subprogress(last, 0.5, 1.0))
        model = with_points(model, points, result.tree.leaf_of_point)
        tree = merged_tree(merges)
        warnings += merge_warnings(merges)
    steps = _earlier_trees(rows, scaling, trained, merging, pool, run.progress)
    curves = {"objective": trained.objectives, "cost": trained.costs}
    return Fitted(
        tree=tree,
        model=model,
        metrics=metrics_of(trained, result),
        curves={name: curve for name, curve in curves.items() if curve},
        point_columns={"parent_probability": result.probability},
        state={
            "nodes": trained.nodes.cpu().numpy(),
            "mean": scaling.mean,
            "factor": np.array(scaling.factor),
        },
        warnings=(
            *warnings,
            *_pool_warnings(pools, pool, min(n_pools, training.n_rounds), params.n_neighbors),
            *training_warnings(trained, training),
            *_centre_warnings(result, scaling),
        ),
        steps=tuple(steps),
    )


def _earlier_trees(
    rows: Rows,
    scaling: BallScaling,
    trained: TrainedNodes,
    merging: bool,
    pool: Pool,
    progress: Progress,
) -> list[LearnedStep]:
    """The trees of the nodes that were kept on the way. Each takes as long as the result's."""
    within, steps = subprogress(progress, 0.99, 1.0), []
    for step, cost, nodes in trained.kept.before(trained.best_step):
        result = extract(rows, scaling, _tensor(nodes, pool), within)
        tree = result.tree
        if merging:
            tree = merged_tree(leaf_merges(result, scaled_points(rows, scaling), within))
        steps.append(LearnedStep(step, cost, tree))
    return steps


def _process_count(params: BallParams, n_wanted: int, threads: int) -> tuple[int, tuple[str, ...]]:
    """The number of processes that share the steps, and a warning if it is less than requested."""
    if not params.max_iter:
        return 1, ()
    if params.device == "cuda" or n_wanted <= threads:
        return n_wanted, ()
    return threads, (
        f"Steps were taken by {threads} process(es), as many as a job may have threads here, not "
        f"'processes' = {n_wanted}; the result is the same up to rounding.",
    )


def best_start(
    pool: Pool,
    tree_cost: TreeCost,
    effort: SeedingEffort,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Tensor, tuple[str, ...]]:
    """Nodes (M, D) of the draw with the best tree, and a warning if there are fewer nodes than
    requested."""
    n_places, n_nodes = len(pool.first), effort.n_nodes
    most_nodes = n_places if effort.draw == "points" else 2 * n_places - 1
    warnings: tuple[str, ...] = ()
    if n_nodes > most_nodes:
        warnings = (
            f"There are {n_places:,} distinct points, so the tree has {most_nodes:,} nodes to "
            f"move, not 'n_internal' = {n_nodes:,}.",
        )
        n_nodes = most_nodes
    points = pool.points.cpu().numpy()
    best_nodes, least_cost = None, np.inf
    for number in range(effort.n_init):
        start = start_nodes(
            points,
            pool.first,
            n_nodes,
            effort,
            rng,
            subprogress(progress, number / effort.n_init, (number + 1) / effort.n_init),
        )
        nodes = _tensor(start, pool)
        cost = tree_cost.of(nodes) if effort.n_init > 1 else 0.0
        if best_nodes is None or cost < least_cost:
            best_nodes, least_cost = nodes, cost
    assert best_nodes is not None
    return best_nodes, warnings


def _tensor(nodes: Array, pool: Pool) -> Tensor:
    """Nodes as float32, on the device of the points."""
    import torch

    return torch.from_numpy(nodes.astype(np.float32)).to(pool.points.device)


def metrics_of(trained: TrainedNodes, result: BallTree) -> dict[str, float]:
    """The metrics that a fit with nodes of the ball reports."""
    metrics = {
        "n_internal_used": float(len(result.nodes)),
        "log_probability": result.log_probability,
        "mean_parent_probability": float(result.probability.mean()),
        "best_step": float(trained.best_step),
    }
    if trained.costs:
        metrics["cost_of_seeds"], metrics["cost"] = trained.costs[0][1], trained.best_cost
    if trained.objectives:
        metrics["objective"] = trained.objectives[-1][1]
    return metrics


def _require_converged(trained: TrainedNodes, effort: BallEffort) -> None:
    if trained.diverged and effort.keep == "last":
        raise UsageError(
            f"The fit diverged and was stopped: {trained.diverged}. Lower 'learning_rate' (it is "
            f"{effort.learning_rate:g}), or set 'keep' to 'best' to get the best nodes so far.",
            code="diverged",
            parameter="learning_rate",
        )


def training_warnings(trained: TrainedNodes, effort: BallEffort) -> tuple[str, ...]:
    if trained.diverged:
        return (
            f"The fit diverged and was stopped: {trained.diverged}. The nodes are those after "
            f"{trained.best_step:,} steps. Lower 'learning_rate'.",
        )
    if effort.max_iter and trained.costs and trained.best_step == 0:
        return ("No step gave a better tree than that of the seeds, which is the result.",)
    return ()


def _pool_warnings(pools: Pools, pool: Pool, n_pools: int, n_neighbors: int) -> tuple[str, ...]:
    warnings = []
    if not pools.is_whole:
        warnings.append(
            f"Triples came from {n_pools} pool(s) of {pools.size:,} of the {pools.n_points:,} "
            "points; neighbours are the nearest within a pool, and seeds are points of the first."
        )
    if pool.recall is not None:
        warnings.append(
            "Neighbours come from an approximate index, which found "
            f"{pool.recall:.1%} of the neighbours of a sample of points."
        )
    if pool.near.shape[1] < n_neighbors:
        warnings.append(
            f"Points have {pool.near.shape[1]} neighbours at other places, not 'n_neighbors' = "
            f"{n_neighbors}."
        )
    return tuple(warnings)


def _far_warnings(scaling: BallScaling) -> tuple[str, ...]:
    n_far = len(scaling.far_rows)
    if not n_far:
        return ()
    return (
        f"{n_far} row(s), the first of them row {scaling.far_rows[0]}, lie more than {FAR:,.0f} "
        "times as far from the other rows as those from each other. The mean that rows are taken "
        "from leaves them out; they are placed by their directions.",
    )


def _centre_warnings(result: BallTree, scaling: BallScaling) -> tuple[str, ...]:
    if not result.n_central or scaling.kind != "unit":
        return ()
    return (
        f"{result.n_central} point(s) lie at the mean of all points, in no direction from it; they "
        "are placed at the centre of the ball.",
    )
