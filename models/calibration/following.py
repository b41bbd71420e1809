"""A calibration that follows the rows that come: adaptive conformal inference.

Rows that were answered, and whose classes are known by now, move the level at which the next ones
are answered: level <- min(cap, level + step (alpha n - missed)), of n rows of which so many were
missed. At a level of 0 or below answers are the root, or all classes, which never miss; the cap is
the level from which answers grow no smaller.

So for any rows at all, drawn or not, missed <= alpha n + (cap - level) / step, all rows so far
counted: each change of the level, over the step, is at least what was missed beyond alpha, and
steps never grow, so that the sum telescopes (Gibbs and Candes, "Adaptive conformal inference under
distribution shift", NeurIPS 2021, proposition 4.1; Angelopoulos, Barber and Bates, "Online
conformal prediction with decaying step sizes", ICML 2024, for steps that fall). A step is a tenth
over the rows given together, of which there count at least 1 / alpha: n rows move the level by at
most a tenth, so it is never below -.1. Nothing has to be chosen. The bound is of all rows together,
and says nothing of a single one.

State is five numbers. Rows given together have all been answered at the same level, so that their
order does not matter, and counts of several readers add.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from models.errors import UsageError

LARGEST_MOVE = 0.1


@dataclass(frozen=True, slots=True)
class Following:
    """level : at which rows are answered now. cap : the largest one. step : of a row. n_rows,
    n_missed : rows given so far, and those whose answer did not hold their class.
    """

    level: float
    cap: float
    step: float
    n_rows: int = 0
    n_missed: int = 0

    @classmethod
    def begun(cls, alpha: float, cap: float) -> Following:
        """Before any row. cap : at least alpha is taken."""
        return cls(alpha, max(alpha, cap), LARGEST_MOVE * min(1.0, alpha))

    def after(self, alpha: float, n_rows: int, n_missed: int) -> Following:
        """What follows rows that were answered at this level.

        Raises UsageError `empty` without rows.
        """
        if not n_rows:
            raise UsageError("No row is labelled, so there is nothing to follow.", code="empty")
        step = min(self.step, LARGEST_MOVE / n_rows)
        return replace(
            self,
            level=min(self.cap, self.level + step * (alpha * n_rows - n_missed)),
            step=step,
            n_rows=self.n_rows + n_rows,
            n_missed=self.n_missed + n_missed,
        )

    @property
    def surplus(self) -> float:
        """The most rows missed beyond alpha of all, now and, of groups of rows no larger than so
        far, ever."""
        return (self.cap + LARGEST_MOVE) / self.step
