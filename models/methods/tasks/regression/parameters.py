"""The parameters of tasks that are learned together with a tree over them.

This module imports nothing heavy, so that the method's file may use it.
"""

from __future__ import annotations

from pydantic import Field

from models.methods.tasks.regression.inputs import TaskParams
from models.methods.tasks.regression.table import Problem


class GHHCMTLParams(TaskParams):
    problem: Problem = Field("regression", description="Whether targets are numbers or classes.")
    sharing: float | None = Field(
        None,
        ge=1e-3,
        le=1e6,
        description=(
            "Weight of the tree's losses against the rows' negative log-likelihood per task: the "
            "larger, the more alike are tasks under one node. None: 10, 30 or 100, chosen with the "
            "number of steps up to 'max_iter' by the loss on folds of rows."
        ),
    )
    n_folds: int = Field(3, ge=2, le=20, description="Number of folds of rows to choose by.")
    n_internal: int | None = Field(
        None,
        ge=3,
        le=200_000,
        description=(
            "Number of nodes that are moved. The tree leaves out those that no task needs. None: "
            "one more than half the number of tasks, at most 500."
        ),
    )
    n_init: int = Field(
        8,
        ge=0,
        le=1000,
        description="Number of new draws of nodes for the tree, after the tasks have stopped.",
    )
    max_iter: int = Field(200, ge=0, le=1_000_000, description="Largest number of steps.")
    batch_size: int = Field(100, ge=1, le=100_000, description="Number of triples in a step.")
    learning_rate: float = Field(0.01, gt=0, le=1e6, description="Step length.")
    n_neighbors: int = Field(
        3, ge=1, le=1000, description="Nearest tasks that a task forms triples with."
    )
    point_norm: float = Field(
        0.7, ge=0.01, le=0.99, description="Norm at the start of the point of the farthest task."
    )
    max_norm: float = Field(
        0.95,
        ge=0.01,
        le=0.99999,
        description="Largest norm of a point; a point beyond it is brought back to it.",
    )
