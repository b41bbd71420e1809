"""Inputs and parameters of the methods of recursive regularization."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from models.errors import UsageError
from models.methods.classifiers.classes.inputs import (
    FEATURES,
    GRAPH,
    HIERARCHY,
    LABELS,
    NAMES,
    ClassifierParams,
    LossWeight,
    loss_weight,
)
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.penalty import ANCHOR, Penalty
from models.parameters import MaxIter, Seed

INPUTS = {
    "features": FEATURES,
    "labels": LABELS,
    "hierarchy": HIERARCHY,
    "graph": GRAPH,
    "names": NAMES,
}


GapShare = Annotated[
    float,
    Field(
        gt=0, le=1, description="Sweeps end when the duality gap is this share of the objective."
    ),
]
DecreaseShare = Annotated[
    float,
    Field(gt=0, le=1, description="Steps end when the objective can fall by this share at most."),
]


LossName: TypeAlias = Literal["hinge", "logistic"]


@dataclass(frozen=True, slots=True)
class Effort:
    """The weight of the loss, and when a training ends."""

    C: float
    tol: float
    max_iter: int
    seed: int = 0


class SolverParams(ClassifierParams):
    """What both solvers need; `tol` and `max_iter` are their own."""

    C: LossWeight = 1.0
    tol: float
    max_iter: int

    @property
    def effort(self) -> Effort:
        return Effort(loss_weight(self.C), self.tol, self.max_iter)


class HingeParams(SolverParams):
    """Parameters of `hinge`."""

    tol: GapShare = 1e-3
    max_iter: MaxIter = 1000
    seed: Seed = 0

    @property
    def effort(self) -> Effort:
        return replace(super().effort, seed=self.seed)


class LogisticParams(SolverParams):
    """Parameters of `logistic`."""

    tol: DecreaseShare = 1e-6
    max_iter: MaxIter = 100


class RecursiveParams(SolverParams):
    """Parameters of the two methods of recursive regularization."""

    contract: bool = Field(
        True,
        description="Whether inner nodes of the hierarchy that have one child are left out.",
    )
    block_size: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Number of classes that are trained at a time, as a piece "
        "that any worker may compute. Weights are then kept to three digits, without those below a "
        "thousandth of a class's largest. None: all classes at once, exactly.",
    )


def penalty_of(problem: Problem, contract: bool) -> tuple[Penalty, tuple[str, ...]]:
    """The penalty over the problem's tree or graph, and warnings."""
    if problem.graph is not None:
        anchored = (
            f"The graph has {problem.graph.n_components} component(s); each node's weights are "
            f"anchored by {ANCHOR:g} times their square."
        )
        return Penalty.of_graph(problem.graph), (anchored,)
    if problem.tree is None:
        raise UsageError("A hierarchy or a graph is needed.", code="wrong-input", role="hierarchy")
    tree = problem.tree.contracted() if contract else problem.tree
    return Penalty.of_tree(tree), ()
