"""The fit of `ghhc-mtl` from its inputs to its tree; what each step does is in the modules it
calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Arrays, Float
from models.data import Data
from models.method import Checkpoint, Fitted, Run
from models.methods.tasks.regression import hierarchy, joint
from models.methods.tasks.regression.joint import Asked, Joint
from models.methods.tasks.regression.linear import Scaling
from models.methods.tasks.regression.serving import served
from models.methods.tasks.regression.splits import folds, held_out
from models.methods.tasks.regression.table import table_of
from models.progress import subprogress

if TYPE_CHECKING:
    from models.methods.tasks.ghhc_mtl import GHHCMTLParams

SHARINGS = [10.0, 30.0, 100.0]


def fitted(data: Data, params: GHHCMTLParams, run: Run) -> Fitted:
    """The whole fit. To be called within `models.device.computing`."""
    run.progress(0.02, "ordering rows")
    table = table_of(data, params.problem)
    out = held_out(table, params.held_out, run.rng)
    part = table.part(~out)
    scaling = Scaling.of(part)
    columns, targets = scaling.columns(part), scaling.targets(part)
    fold = folds(part, params.n_folds, run.rng)
    asked = Asked(
        n_internal=params.n_internal,
        n_init=params.n_init,
        point_norm=params.point_norm,
        max_norm=params.max_norm,
        max_iter=params.max_iter,
        batch_size=params.batch_size,
        learning_rate=params.learning_rate,
        n_neighbors=params.n_neighbors,
        seed=int(run.rng.integers(2**63)),
        threads=run.threads,
    )
    checkpoint = _Marked(run.checkpoint)
    notes: tuple[str, ...] = ()
    curve: list[tuple[int, float]] = []
    sharing, n_steps = params.sharing or SHARINGS[1], params.max_iter
    if params.sharing is None and (fold >= 0).any():
        if checkpoint.losses is None:
            within = subprogress(run.progress, 0.05, 0.75)
            checkpoint.losses = joint.losses_on_folds(
                columns, targets, part, fold, SHARINGS, asked, within
            )
        losses = checkpoint.losses
        at, rounds = (int(one) for one in np.unravel_index(losses.argmin(), losses.shape))
        sharing, n_steps = SHARINGS[at], min(rounds * joint.ROUND, params.max_iter)
        curve = [(number * joint.ROUND, float(one)) for number, one in enumerate(losses[at])]
    elif params.sharing is None:
        notes = (
            "No task has two rows, so nothing tells how much tasks share; 'sharing' is "
            f"{sharing:g}.",
        )
    start = joint.started(columns, targets, part, fold, asked, subprogress(run.progress, 0.75, 0.8))
    within = subprogress(run.progress, 0.8, 0.9)
    found = joint.learned(start, sharing, n_steps, asked, checkpoint, within)
    weights = start.chart.weights(found.points[-1])
    metrics = {"sharing": sharing, "n_steps": float(n_steps)}
    if found.trained is None:
        tree = hierarchy.star(table)
        notes += ("Fewer than three tasks differ, so they make no triples and the tree no groups.",)
    else:
        within = subprogress(run.progress, 0.9, 0.99)
        tree_of = joint.settled(found, found.trained.nodes, start, asked, within)
        tree = hierarchy.over_tasks(found.points[-1], tree_of.nodes, table)
        metrics["cost"] = tree_of.best_cost
        notes += _said_of_end(found, n_steps < min(1, params.max_iter))
    return served(
        tree,
        weights,
        scaling,
        table,
        part,
        table.part(out),
        params.problem,
        metrics,
        notes,
        {"loss_on_folds": curve} if curve else {},
    )


def _said_of_end(found: Joint, none: bool) -> tuple[str, ...]:
    """none : whether no step is what was chosen."""
    assert found.trained is not None
    if found.trained.diverged:
        return (
            f"The fit diverged and was stopped: {found.trained.diverged}. Lower 'learning_rate'.",
        )
    if none:
        return ("No number of steps made the regressors better than those they started from.",)
    return ()


class _Marked(Checkpoint):
    """A checkpoint that also keeps what was measured on folds, so that it is measured once."""

    def __init__(self, kept: Checkpoint) -> None:
        self._kept = kept
        found = dict(kept.load() or {})
        self.losses: Float | None = found.pop("losses_on_folds", None)
        self._found: Arrays | None = found or None

    def load(self) -> Arrays | None:
        return self._found

    def save(self, state: Arrays) -> None:
        if self.losses is not None:
            state = {**state, "losses_on_folds": self.losses}
        self._kept.save(state)
