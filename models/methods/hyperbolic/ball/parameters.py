"""The parameters of every method with a tree in the ball, and the values derived from them.

`ghhc` and `ghhc-glove` add their own fields, before or after these.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.methods.hyperbolic.ball.effort import BallEffort, BallObjective, SeedingEffort
from models.parameters import Device, Params

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
