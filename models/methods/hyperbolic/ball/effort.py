"""How nodes of the ball start and move, as plain values derived from the parameters of a method.

This module imports nothing heavy, so that the file of a method may use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TreeLoss = Literal["expected", "sigmoid", "softplus"]
StructureForm = Literal["distance", "norms"]
MaskForm = Literal["likeliest", "nearest"]
Optimizer = Literal["sgd", "adam"]
ScalingKind = Literal["unit", "largest", "none"]
SeedDraw = Literal["k-means", "k-means++", "afk-mc2", "random", "points"]
Placement = Literal["order", "midpoint"]

MATRICES = 16
"""The number of matrices (M, M) that a step on the expected cost of M nodes holds."""


def step_bytes(n_nodes: int, batch_size: int, loss: TreeLoss) -> int:
    """Estimated memory of a step on a batch, besides the nodes."""
    matrices = MATRICES * n_nodes * n_nodes if loss == "expected" else 0
    return 4 * (100 * min(batch_size, 100_000) * n_nodes + matrices)


@dataclass(frozen=True, slots=True)
class BallObjective:
    """The forms and constants of the objectives: `ball.training` and `ball.expected_cost_torch`.

    form : 'expected' for the expected cost, else s of eq. 15, to which the next four belong.
    margin : between norms, in the dissimilarities of triples.
    temperature : divides the dissimilarities of eq. 5, 12 and 13.
    noise : factor of the Gumbel noise, in units of the temperature; 0 for none.
    mask : the node that eq. 13 leaves out. structure, structure_margin : form and margin of eq. 17.
    """

    form: TreeLoss = "sigmoid"
    margin: float = 0.0
    temperature: float = 1.0
    noise: float = 1.0
    mask: MaskForm = "likeliest"
    structure: StructureForm = "distance"
    structure_margin: float = 0.25


@dataclass(frozen=True, slots=True)
class BallEffort:
    """How nodes are moved.

    max_iter : steps of the ranking objective, in rounds of `round_size`.
    decay : whether step lengths fall, linearly, to 0 at `max_iter`.
    perplexity : number of nodes that points spread over by eq. 5, which sets the temperature of
        each round; None: that of the objective in all rounds.
    structure_every : number of those steps for each step of the child-parent objective; 0 for none.
    keep : whether the nodes of the best round or of the last are the result.
    """

    max_iter: int
    round_size: int
    batch_size: int
    learning_rate: float
    optimizer: Optimizer
    max_norm: float
    structure_every: int
    keep: Literal["best", "last"]
    objective: BallObjective
    decay: bool = False
    perplexity: float | None = None

    @property
    def n_rounds(self) -> int:
        return -(-self.max_iter // self.round_size)

    def rate(self, step: int) -> float:
        """The step length after `step` steps."""
        return self.learning_rate * (1 - step / self.max_iter if self.decay else 1)


@dataclass(frozen=True, slots=True)
class SeedingEffort:
    """How nodes start: the best of `n_init` draws of `n_nodes` nodes; `ball.seeding` has the rest.

    point_norm : norm of seeds where `placement` is 'order'. max_norm : largest norm of a node.
    """

    n_nodes: int
    n_init: int
    draw: SeedDraw
    placement: Placement
    point_norm: float
    max_norm: float
