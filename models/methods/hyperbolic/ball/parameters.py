"""The parameters of every method with a tree in the ball, and the values derived from them.

`ghhc` and `ghhc-glove` add their own fields, before or after these.

`BallEffort` and `SeedingEffort` say how nodes start and move, as plain values. This module imports
nothing heavy, so that the file of a method may use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from models.parameters import Device, Params

TreeLoss = Literal["expected", "sigmoid", "softplus"]
StructureForm = Literal["distance", "norms"]
MaskForm = Literal["likeliest", "nearest"]
Optimizer = Literal["sgd", "adam"]
ScalingKind = Literal["unit", "largest", "none"]
SeedDraw = Literal["k-means", "k-means++", "afk-mc2", "random", "points"]
Placement = Literal["order", "midpoint"]

MATRICES = 22
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
    keep : whether the nodes of the best round or of the last are the result. keep_steps : the most
        earlier nodes that are kept.
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
    keep_steps: int = 0

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


ROUND = 100
"""Steps between two measurements of the tree's cost, ..."""

NODES_A_STEP = 100
"""... and at least one step per this many nodes: the cost is quadratic in them, a step linear."""

_PLAIN = BallObjective()
"""The defaults of steps on nodes and their parents, which `ghhc-mtl` takes as they are."""


class BallParams(Params):
    n_internal: int = Field(
        64,
        ge=3,
        le=200_000,
        description=(
            "Number of nodes that are moved, seeds included. The tree leaves out those that no "
            "point needs."
        ),
    )
    scaling: Literal["unit", "largest", "none"] = Field(
        "unit",
        description=(
            "How features become points of the ball, about their mean: 'unit' puts each at norm "
            "'point_norm', so that only directions count; 'largest' divides all by one number, "
            "which puts the farthest at 'point_norm'; 'none' takes them as they are, of norm "
            "below 1."
        ),
    )
    point_norm: float = Field(
        0.9, ge=0.01, le=0.99999, description="Norm of points, for 'unit' and 'largest'."
    )
    max_norm: float = Field(
        0.95,
        ge=0.01,
        le=0.99999,
        description="Largest norm of a node; a node beyond it is brought back to it.",
    )
    seeding: Literal["k-means", "k-means++", "afk-mc2", "random", "points"] = Field(
        "k-means",
        description=(
            "Where nodes start: half of them are seeds, which average linkage joins in the other "
            "half. Seeds are the centres of 'k-means', or points: drawn far apart, as k-means "
            "starts ('k-means++', or 'afk-mc2', which does not look at all points), or at "
            "'random'. With 'points' all nodes are random points."
        ),
    )
    placement: Literal["midpoint", "order"] = Field(
        "midpoint",
        description=(
            "Norm of a node at the start: at the hyperbolic 'midpoint' of the points under it, or "
            "by the 'order' of merges, the j-th of S seeds at norm log(S - j) / log S."
        ),
    )
    n_init: int = Field(
        8, ge=1, le=1000, description="Number of draws of seeds; the one of the best tree is used."
    )
    n_neighbors: int = Field(
        5, ge=1, le=1000, description="Nearest neighbours that a point forms triples with."
    )
    batch_size: int = Field(100, ge=1, le=100_000, description="Number of triples in a step.")
    max_iter: int = Field(1000, ge=0, le=10_000_000, description="Number of steps on triples.")
    learning_rate: float = Field(0.02, gt=0, le=1e6, description="Step length.")
    decay: bool = Field(True, description="Whether step lengths fall, linearly, to 0.")
    optimizer: Literal["sgd", "adam"] = Field(
        "adam", description="Riemannian gradient descent, or Riemannian Adam."
    )
    loss: Literal["expected", "sigmoid", "softplus"] = Field(
        "expected",
        description=(
            "What steps on triples lower: the 'expected' cost of the tree, or the ranking "
            "objective with this function of the scores of triples, which takes less time and "
            "memory for more than a few hundred nodes."
        ),
    )
    perplexity: float | None = Field(
        1.2,
        gt=1,
        le=1e6,
        description=(
            "Number of nodes that points spread over when they select one, which sets the "
            "temperature anew for each round of steps. None: 'temperature'."
        ),
    )
    temperature: float = Field(
        0.1,
        ge=1e-3,
        le=1e3,
        description=(
            "Divisor of the dissimilarities that make a node a likely ancestor or not, where "
            "'perplexity' is None."
        ),
    )
    noise: float = Field(
        1.0,
        ge=0,
        le=100,
        description=(
            "Gumbel noise of those dissimilarities, in temperatures; 0 for none. For the ranking "
            "objective, as are 'mask' and 'margin'."
        ),
    )
    mask: Literal["likeliest", "nearest"] = Field(
        "nearest",
        description=(
            "The common ancestor of two points that the third may not share: the 'likeliest', "
            "noise included, or the 'nearest', without noise."
        ),
    )
    margin: float = Field(
        0.0, ge=0, le=100, description="Margin between norms in the dissimilarities of triples."
    )
    structure: Literal["distance", "norms"] = Field(
        _PLAIN.structure,
        description=(
            "What steps on nodes and their parents lower: the 'distance', weighted by how much the "
            "norms break the margin 'gamma', or that break of the 'norms' alone."
        ),
    )
    gamma: float = Field(
        _PLAIN.structure_margin, ge=0, le=100, description="Margin between norms in those steps."
    )
    structure_every: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description=(
            "Number of steps on triples for each step on nodes and their parents; 0 for none of "
            "the latter."
        ),
    )
    keep: Literal["best", "last"] = Field(
        "best", description="Nodes of the result: from the 'best' tree, or the 'last'."
    )
    below: Literal["none", "average"] = Field(
        "none",
        description=(
            "What is below a node that several points selected: 'none', they share one leaf; "
            "'average', a binary tree by average linkage of hyperbolic distances among these "
            "points, so that each point has a separate leaf."
        ),
    )
    device: Device = "cpu"


def seeding_of(params: BallParams) -> SeedingEffort:
    """How nodes start."""
    return SeedingEffort(
        n_nodes=params.n_internal,
        n_init=params.n_init,
        draw=params.seeding,
        placement=params.placement,
        point_norm=params.point_norm,
        max_norm=params.max_norm,
    )


def training_of(params: BallParams) -> BallEffort:
    """How nodes are moved."""
    objective = BallObjective(
        form=params.loss,
        margin=params.margin,
        temperature=params.temperature,
        noise=params.noise,
        mask=params.mask,
        structure=params.structure,
        structure_margin=params.gamma,
    )
    return BallEffort(
        max_iter=params.max_iter,
        round_size=max(ROUND, params.n_internal // NODES_A_STEP),
        batch_size=params.batch_size,
        learning_rate=params.learning_rate,
        optimizer=params.optimizer,
        max_norm=params.max_norm,
        structure_every=params.structure_every,
        keep=params.keep,
        objective=objective,
        decay=params.decay,
        perplexity=params.perplexity,
    )
