"""Inputs and parameters of the methods of recursive regularization."""

from __future__ import annotations

from pydantic import Field

from models.errors import UsageError
from models.methods.classifiers.classes.classifier import (
    FEATURES,
    GRAPH,
    HIERARCHY,
    LABELS,
    NAMES,
    ClassifierParams,
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


class RecursiveParams(ClassifierParams):
    C: float = Field(
        1.0, gt=0, le=1e9, description="Weight of the loss against the penalty of weights."
    )
    contract: bool = Field(
        True,
        description="Whether inner nodes of the hierarchy that have one child are left out.",
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
