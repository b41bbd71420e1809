"""The trees that a method had on its way to its result: a few states of a fit by steps.

`KeptStates` keeps states while a fit runs, each better than the one before, and `LearnedStep` is
the tree of one. Where there are many, every second, fourth, ... is kept, so that no more than
requested are in memory and the first one stays. What is kept depends on the steps alone, so a fit
that was resumed from a checkpoint has the same states; nothing of the fit depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from models.arrays import Array, Arrays, Float, Int
from models.tree.tree import Tree

MOST_STEPS = 8
"""The most states that are kept beside the result."""


@dataclass(frozen=True, slots=True)
class LearnedStep:
    """The tree after `step` steps, of the same points as the result.

    cost : what the method compares trees by, lower is better.
    """

    step: int
    cost: float
    tree: Tree


@dataclass(slots=True)
class KeptStates:
    """At most `most` states; with 0 none.

    n_offered : the states so far. stride : every how many of them one is kept.
    number, step, cost, state : of those kept: its number among all, the steps that led to it, the
        cost of its tree, and its array.
    """

    most: int
    n_offered: int = 0
    stride: int = 1
    number: list[int] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    state: list[Array] = field(default_factory=list)

    def offer(self, step: int, cost: float, state: Callable[[], Array]) -> None:
        """A state that is better than all before. state : makes a copy of its array, if it is kept.

        O(1) but for the copy.
        """
        number, self.n_offered = self.n_offered, self.n_offered + 1
        if not self.most or number % self.stride:
            return
        if len(self.number) == self.most:
            self.stride *= 2
            self._only([at for at, own in enumerate(self.number) if own % self.stride == 0])
            if number % self.stride or len(self.number) == self.most:
                return
        self.number.append(number)
        self.step.append(step)
        self.cost.append(cost)
        self.state.append(state())

    def before(self, step: int) -> list[tuple[int, float, Array]]:
        """(step, cost, array) of those kept that fewer steps led to."""
        kept = zip(self.step, self.cost, self.state, strict=True)
        return [each for each in kept if each[0] < step]

    def falling(self, step: int, cost: float) -> list[tuple[int, float, Array]]:
        """Each of those kept before a result of this step and cost that is better than all before
        it and not as good as the result."""
        chosen: list[tuple[int, float, Array]] = []
        for each in self.before(step):
            if cost < each[1] and (not chosen or each[1] < chosen[-1][1]):
                chosen.append(each)
        return chosen

    def copy(self) -> KeptStates:
        """Another one with the same states, whose arrays are shared."""
        return KeptStates(
            self.most,
            self.n_offered,
            self.stride,
            list(self.number),
            list(self.step),
            list(self.cost),
            list(self.state),
        )

    def arrays(self, prefix: str) -> Arrays:
        """What `restored` needs, for checkpoints; empty where none are wanted."""
        if not self.most:
            return {}
        facts = np.array([self.number, self.step, self.cost], dtype=np.float64)
        return {
            f"{prefix}counts": np.array([self.n_offered, self.stride]),
            f"{prefix}facts": facts,
            **{f"{prefix}{at}": state for at, state in enumerate(self.state)},
        }

    @classmethod
    def restored(cls, saved: Mapping[str, Array], prefix: str, most: int) -> KeptStates:
        """The states of a checkpoint."""
        if not most or f"{prefix}counts" not in saved:
            return cls(most)
        n_offered, stride = (int(value) for value in saved[f"{prefix}counts"])
        number, step, cost = saved[f"{prefix}facts"].reshape(3, -1)
        return cls(
            most,
            n_offered,
            stride,
            [int(value) for value in number],
            [int(value) for value in step],
            [float(value) for value in cost],
            [np.array(saved[f"{prefix}{at}"]) for at in range(len(number))],
        )

    def _only(self, places: list[int]) -> None:
        self.number = [self.number[at] for at in places]
        self.step = [self.step[at] for at in places]
        self.cost = [self.cost[at] for at in places]
        self.state = [self.state[at] for at in places]


def packed(parent: Int, height: Float, leaf_of_point: Int) -> Array:
    """The nodes and points of a tree as one array, for `KeptStates`."""
    return np.concatenate([[len(parent)], parent, height, leaf_of_point]).astype(np.float64)


def unpacked(state: Array) -> tuple[Int, Float, Int]:
    """What `packed` was given."""
    n_nodes = int(state[0])
    parent, height, leaf = np.split(state[1:], [n_nodes, 2 * n_nodes])
    return parent.astype(np.int64), height, leaf.astype(np.int64)
