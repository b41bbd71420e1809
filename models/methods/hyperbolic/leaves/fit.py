"""The fit of `hyphc`, from similarities to a tree, its model, metrics and warnings.

Each stage is described in its module: `similarity`, `training`, `decoding`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models.arrays import Array
from models.inputs.frames import CENTRE
from models.method import Fitted, Model, Run
from models.methods.hyperbolic.leaves.decoding import decode
from models.methods.hyperbolic.leaves.parameters import LeafParams
from models.methods.hyperbolic.leaves.similarity import (
    NARROW,
    FeatureSimilarity,
    MatrixSimilarity,
    Similarity,
    facts_of,
)
from models.methods.hyperbolic.leaves.training import BestLeaves, train
from models.methods.hyperbolic.leaves.tree_cost import DasguptaCost
from models.tree.build import from_merges

FEW_TIMES = 3_000
"""A warning is given below this many triples of a point in a run."""


def fit(similarity: Similarity, names: list[str], params: LeafParams, run: Run) -> Fitted:
    """The fit, once similarities are known. To be called within `models.running.device.computing`.

    names : names of the points, in the order of the input.
    """
    seed, pair_seed = (int(value) for value in run.rng.integers(2**63, size=2))
    n_points = len(similarity.order)
    run.progress(0.08, "preparing similarities")
    tree_cost = DasguptaCost(similarity, np.random.default_rng(pair_seed))
    best = train(similarity, tree_cost, params, seed, run)
    run.progress(0.96, "building the tree")
    sphere = params.sphere(best.step)
    decoded = decode(best.directions, run.threads)
    merges = np.where(
        decoded.merges < n_points, similarity.order[decoded.merges % n_points], decoded.merges
    )
    tree = from_merges(merges[:, 0], merges[:, 1], decoded.heights(sphere), names=names)
    metrics = {
        "dasgupta_cost": best.cost,
        "best_run": float(best.run),
        "best_step": float(best.step),
        "radius": sphere.radius,
    }
    if best.objectives:
        metrics["objective"] = dict(best.objectives)[best.step]
    curves = {"objective": best.objectives, "cost": best.costs}
    return Fitted(
        tree=tree,
        model=Model(
            arrays=_arrays(similarity, best, sphere.norm),
            facts=_facts(similarity, params.temperature),
        ),
        metrics=metrics,
        curves={name: curve for name, curve in curves.items() if curve},
        warnings=(
            *decoded.warnings,
            *tree_cost.warnings,
            *_angle_warnings(similarity),
            *_effort_warnings(params, n_points),
        ),
    )


def _arrays(similarity: Similarity, best: BestLeaves, norm: float) -> dict[str, Array]:
    """Arrays of the model, in the order of the input.

    embedding : (n_points, dimension) points of the ball. points, center : compared with new
        features by `placing`.
    """
    row = np.argsort(similarity.order)
    arrays: dict[str, Array] = {"embedding": norm * best.directions[row]}
    if isinstance(similarity, FeatureSimilarity):
        arrays["points"] = similarity.points[row]
        arrays["center"] = similarity.center
    return arrays


def _facts(similarity: Similarity, temperature: float) -> dict[str, Any]:
    scale = 1.0
    if isinstance(similarity, MatrixSimilarity):
        scale = max(float(similarity.matrix.max()), -float(similarity.matrix.min())) or 1.0
    return {**facts_of(similarity), "scale": scale, "temperature": temperature}


def _angle_warnings(similarity: Similarity) -> tuple[str, ...]:
    """A warning where cosines hardly differ."""
    if not isinstance(similarity, FeatureSimilarity) or similarity.affinity != "cosine":
        return ()
    aside = similarity.aside
    if aside.share >= NARROW:
        return ()
    return (f"{aside.reason}, and their cosines hardly differ. {CENTRE}",)


def _effort_warnings(params: LeafParams, n_points: int) -> tuple[str, ...]:
    times = 3 * params.max_iter * params.triples_of_step(n_points) / n_points
    if n_points < 3 or times >= FEW_TIMES:
        return ()
    return (
        f"A run draws each point about {times:,.0f} times, which is few: average linkage may cost "
        "less. Raise 'max_iter' or 'batch_size'.",
    )
