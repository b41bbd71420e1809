"""A whole fit of `ghhc-mtl` as plain values, derived from its parameters.

This module imports nothing heavy, so that the method's file may use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.methods.tasks.regression.table import Problem


@dataclass(frozen=True, slots=True)
class JointEffort:
    """How tasks and the nodes of a tree over them are learned.

    The fields are the parameters of the method.
    n_internal : number of nodes, None for the default. seed, threads : those of the fit.
    """

    n_internal: int | None
    n_init: int
    point_norm: float
    max_norm: float
    max_iter: int
    batch_size: int
    learning_rate: float
    n_neighbors: int
    seed: int = 0
    threads: int = 1


@dataclass(frozen=True, slots=True)
class GHHCMTLEffort:
    """A whole fit: its rows, how much tasks share (None: chosen on folds), how they are learned."""

    problem: Problem
    held_out: float
    n_folds: int
    sharing: float | None
    joint: JointEffort
