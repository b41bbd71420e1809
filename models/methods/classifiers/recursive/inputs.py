"""Inputs and parameters of the methods of recursive regularization."""

from __future__ import annotations

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
)
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.penalty import ANCHOR, Penalty

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


class RecursiveParams(ClassifierParams):
    """`tol` and `max_iter` are the methods' own."""

    C: LossWeight = 1.0
    tol: float
    max_iter: int
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
