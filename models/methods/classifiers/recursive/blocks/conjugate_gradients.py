"""Inner nodes move by conjugate gradients, while the classes follow them.

With the classes at their best for given inner nodes, the objective is a function of the inner nodes
alone. Each sweep of the classes gives its gradient where the inner nodes are; a diagonal bound of
the classes' curvature gives a preconditioner, the bound's Hessian matrix, in which a tree is
eliminated at once. Two gradients along a direction also give the best step there, as of a quadratic
function, so the step that a sweep tries need not be right: the next move begins where it should
have ended, with the gradient there by interpolation. The directions are Polak and Ribiere's.

Source: Nocedal and Wright, "Numerical Optimization" (2006), §5.2. The interpolation is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Arrays, Int
from models.methods.classifiers.classes.compressed import CompressedRows
from models.methods.classifiers.recursive.blocks.loops import product
from models.methods.classifiers.recursive.blocks.pairs import Pairs

MOST = 10.0
"""The longest best step, in steps tried."""

KEPT = 1e-6
"""Values of the search below this share of their row's largest are left out."""


@dataclass(frozen=True, eq=False)
class Search:
    """Where the last move began.

    start : what nodes add to their parents there. slope : the gradient there.
    step : how much of the direction was tried. decrease : the slope times itself, preconditioned.
    """

    start: CompressedRows
    slope: CompressedRows
    step: float
    decrease: float

    def arrays(self, prefix: str) -> Arrays:
        return {
            **self.start.arrays(f"{prefix}start."),
            **self.slope.arrays(f"{prefix}slope."),
            f"{prefix}numbers": np.array([self.step, self.decrease]),
        }

    @classmethod
    def of_arrays(cls, arrays: Arrays, n_columns: int, prefix: str) -> Search:
        start, slope = (
            CompressedRows.of_arrays(arrays, n_columns, f"{prefix}{name}.")
            for name in ("start", "slope")
        )
        return cls(start, slope, *arrays[f"{prefix}numbers"].tolist())


def moved(
    parent: Int,
    own: CompressedRows,
    sums: sp.csr_array,
    held: sp.csr_array,
    last: Search | None,
) -> tuple[CompressedRows, Search]:
    """What the nodes add to their parents next, and the search that leads there.

    parent : (n_nodes,) -1 for none; parents come first. own : what nodes add to their parents.
    sums : (n_nodes, n_columns) of what each one's classes add to it, at their best for `own`.
    held : of how stiffly they hold to their places. last : None at first.

    O(depth) for each pair of a node and a column that tells of it; about 50 bytes for each.
    """
    matrices = [own.matrix(), sums, held]
    if last is not None:
        matrices += [last.start.matrix(), last.slope.matrix()]
    pairs = Pairs.of(parent, matrices)
    here = pairs.values(matrices[0])
    slope = pairs.gradient(here, pairs.values(sums))
    stiff = pairs.values(held)
    way, length, change = None, 1.0, slope
    if last is not None:
        before, begun = pairs.values(matrices[4]), pairs.values(matrices[3])
        way = here - begun
        along = pairs.summed(way)
        change = slope - before
        falls, bends = -product(before, along), product(change, along)
        del along
        if falls > 0.0 and bends > 0.0:
            length = min(falls / bends, MOST)
            here = begun + np.float32(length) * way
            slope = before + np.float32(length) * change
        else:
            way = None
        del before, begun
    del matrices
    conditioned = pairs.solved(slope, stiff)
    decrease, step = product(conditioned, slope), 1.0
    direction = -pairs.own(conditioned)
    if way is not None and last is not None:
        # Of the last direction, by the change of the slope.
        turned = length * product(conditioned, change)
        kept = max(0.0, turned / last.decrease) if last.decrease > 0.0 else 0.0
        direction += np.float32(kept / last.step) * way
        step = max(1.0, length * last.step)
    search = Search(pairs.compressed(here, KEPT), pairs.compressed(slope, KEPT), step, decrease)
    return pairs.compressed(here + np.float32(step) * direction), search
