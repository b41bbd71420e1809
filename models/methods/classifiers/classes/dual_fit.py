"""The end of a training in the dual, whose duality gap says how good it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float
from models.methods.classifiers.classes.answers import Link
from models.methods.classifiers.classes.classifier import Trained
from models.methods.classifiers.classes.structure import ClassTree


@dataclass(frozen=True)
class DualFit:
    """A minimum of the objective.

    weights : (n_nodes, n_columns).
    gap : the objective is at most this above its minimum.
    objectives, duals : after each sweep.
    n_support : number of variables that are not 0.
    """

    weights: Float
    objective: float
    gap: float
    objectives: list[float]
    duals: list[float]
    n_support: int
    converged: bool

    def trained(
        self,
        weights: Float,
        link: Link,
        tree: ClassTree | None = None,
        warnings: tuple[str, ...] = (),
    ) -> Trained:
        """The classifier of these weights, which warns where the gap is not small yet."""
        n_sweeps = len(self.objectives)
        if not self.converged:
            warnings = (
                *warnings,
                f"Not converged after {n_sweeps} sweeps: the objective {self.objective:.6g} may be "
                f"{self.gap:.2g} above its minimum. Raise 'max_iter' or 'tol'.",
            )
        return Trained(
            weights=weights,
            link=link,
            tree=tree,
            metrics={
                "objective": self.objective,
                "gap": self.gap,
                "n_iter": float(n_sweeps),
                "n_support": float(self.n_support),
            },
            curves={
                "objective": list(enumerate(self.objectives)),
                "dual": list(enumerate(self.duals)),
            },
            warnings=warnings,
            converged=self.converged,
        )


def together(fits: list[DualFit]) -> DualFit:
    """The end of separate problems, one after the other, as that of their sum."""
    n_steps = max(len(fit.objectives) for fit in fits)

    def total(curves: list[list[float]]) -> list[float]:
        longer = [curve + curve[-1:] * (n_steps - len(curve)) for curve in curves]
        return [float(value) for value in np.sum(longer, axis=0)]

    return DualFit(
        np.concatenate([fit.weights for fit in fits]),
        sum(fit.objective for fit in fits),
        sum(fit.gap for fit in fits),
        total([fit.objectives for fit in fits]),
        total([fit.duals for fit in fits]),
        sum(fit.n_support for fit in fits),
        all(fit.converged for fit in fits),
    )
