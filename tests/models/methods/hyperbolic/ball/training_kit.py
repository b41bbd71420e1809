"""A small training problem: 80 points in four groups, their triples, and the cost of trees."""

from __future__ import annotations

import numpy as np

from models.inputs.rows import ArrayRows
from models.methods.hyperbolic.ball.decoding import PoolTreeCost
from models.methods.hyperbolic.ball.parameters import BallEffort, BallObjective
from models.methods.hyperbolic.ball.points import Pools, measure_scaling
from models.methods.hyperbolic.ball.triples import PoolTriples
from models.running.progress import silent

EFFORT = BallEffort(
    max_iter=60,
    round_size=20,
    batch_size=10,
    learning_rate=0.02,
    optimizer="sgd",
    max_norm=0.95,
    structure_every=1,
    keep="best",
    objective=BallObjective(temperature=0.1, mask="nearest"),
)


def source_and_cost() -> tuple[PoolTriples, PoolTreeCost]:
    """The triples of the points, and the cost of trees over them."""
    rng = np.random.default_rng(0)
    middle = 10 * np.eye(4)[rng.integers(4, size=80)]
    rows = ArrayRows(middle + rng.normal(size=(80, 4)))
    pools = Pools(rows, measure_scaling(rows, "unit", 0.9, silent), 4, "cpu")
    pool = pools.draw(rng, 1, silent)
    return PoolTriples(pools, pool, 10, 100, 1, 1), PoolTreeCost(pool, rng)
