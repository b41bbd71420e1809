"""The fit of `hyphc` from its inputs to its tree; each step is in the module it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.data import Data
from models.method import Fitted, Model, Run
from models.methods.hyperbolic.leaves.decoding import decode
from models.methods.hyperbolic.leaves.similarity import OfFeatures, OfMatrix, Similarity, facts_of
from models.methods.hyperbolic.leaves.training import Effort, Kept, train
from models.methods.hyperbolic.leaves.tree_cost import Judge
from models.tree.build import from_merges

if TYPE_CHECKING:
    from models.methods.hyperbolic.hyphc import HypHCParams


FEWEST_STEPS = 10
"""Steps of a round, for few points; for more so many that decoding takes no larger part."""
POINTS_A_STEP = 50
FEWEST_ROUNDS = 20
FEW_TIMES = 3_000
"""Triples of a point in a run below which it is said."""


def fitted(data: Data, params: HypHCParams, run: Run) -> Fitted:
    """The whole fit. To be called within `models.device.computing`."""
    seed, of_pairs = (int(one) for one in run.rng.integers(2**63, size=2))
    run.progress(0.02, "preparing similarities")
    similarity: Similarity
    if "features" in data:
        features = np.asarray(data.dense("features"))
        similarity = OfFeatures(features, params.affinity, params.gamma, params.device)
    else:
        similarity = OfMatrix(np.asarray(data.dense("similarity")), params.device)
    n_points = len(similarity.order)
    names = data.leaf_names(n_points, "point")
    run.progress(0.08, "preparing similarities")
    judge = Judge(similarity, np.random.default_rng(of_pairs))
    effort = effort_of(params, n_points)
    kept = train(similarity, judge, effort, seed, run)
    run.progress(0.96, "building the tree")
    sphere = effort.sphere(kept.step)
    found = decode(kept.directions, run.threads)
    merges = np.where(
        found.merges < n_points, similarity.order[found.merges % n_points], found.merges
    )
    tree = from_merges(merges[:, 0], merges[:, 1], found.heights(sphere), names=names)
    metrics = {
        "dasgupta_cost": kept.cost,
        "best_run": float(kept.run),
        "best_step": float(kept.step),
        "radius": sphere.radius,
    }
    if kept.objectives:
        metrics["objective"] = dict(kept.objectives)[kept.step]
    return Fitted(
        tree=tree,
        model=Model(
            arrays=_arrays(similarity, kept, sphere.norm), facts=_facts(similarity, params)
        ),
        metrics=metrics,
        curves={
            name: curve
            for name, curve in (("objective", kept.objectives), ("cost", kept.costs))
            if curve
        },
        warnings=(*found.warnings, *judge.warnings, *_said_of_effort(effort, n_points, kept)),
    )


def effort_of(params: HypHCParams, n_points: int) -> Effort:
    from models.methods.hyperbolic.hyphc import triples_of_step

    size = max(FEWEST_STEPS, n_points // POINTS_A_STEP)
    return Effort(
        dimension=params.dimension,
        n_init=params.n_init,
        max_iter=params.max_iter,
        round_size=max(1, min(size, params.max_iter // FEWEST_ROUNDS)),
        patience=params.patience,
        batch_size=triples_of_step(params.batch_size, n_points),
        learning_rate=params.learning_rate,
        temperature=params.temperature,
        final_temperature=params.final_temperature,
        max_norm=params.max_norm,
        device=params.device,
    )


def _arrays(similarity: Similarity, kept: Kept, norm: float) -> dict[str, npt.NDArray[Any]]:
    """embedding : (n_points, dimension) points of the ball, in the order of the input.
    points, center : what `placing` measures new features against, likewise."""
    row = np.argsort(similarity.order)
    arrays: dict[str, npt.NDArray[Any]] = {"embedding": norm * kept.directions[row]}
    if isinstance(similarity, OfFeatures):
        arrays["points"] = similarity.points[row]
        arrays["center"] = similarity.center
    return arrays


def _facts(similarity: Similarity, params: HypHCParams) -> dict[str, Any]:
    scale = 1.0
    if isinstance(similarity, OfMatrix):
        scale = max(float(similarity.matrix.max()), -float(similarity.matrix.min())) or 1.0
    return {**facts_of(similarity), "scale": scale, "temperature": params.temperature}


def _said_of_effort(effort: Effort, n_points: int, kept: Kept) -> tuple[str, ...]:
    times = 3 * effort.max_iter * effort.batch_size / n_points
    if n_points < 3 or times >= FEW_TIMES:
        return ()
    return (
        f"A run draws each point about {times:,.0f} times, which is few: average linkage may cost "
        "less. Raise 'max_iter' or 'batch_size'.",
    )
