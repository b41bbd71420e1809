"""Losses of leaves against their definition in loops, gradients against differences of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from models.arrays import Float, Int
from models.methods.deep.trees.cluster_tree import TreeShape
from models.methods.deep.trees.leaf_steps import LeafSteps, nearest_leaves

pytestmark = pytest.mark.needs("torch")

SHAPES = {
    "one leaf": TreeShape.root(),
    "two": TreeShape.root().split(0),
    "chain": TreeShape.root().split(0).split(2).split(4).split(6),
    "balanced": TreeShape.root().split(0).split(1).split(2),
}
WEIGHT = 0.7


@dataclass
class Case:
    """points : (n, 3), other versions behind them. leaves : (n_leaves, 3). weights : of leaves."""

    shape: TreeShape
    points: Float
    leaves: Float
    weights: Float
    n_versions: int = 1

    @classmethod
    def drawn(cls, shape: TreeShape, seed: int = 0, n_versions: int = 1) -> Case:
        rng = np.random.default_rng(seed)
        leaves = rng.normal(size=(shape.n_leaves, 3))
        weights = rng.uniform(1.0, 9.0, size=shape.n_leaves)
        return cls(shape, rng.normal(size=(9 * n_versions, 3)), leaves, weights, n_versions)

    @property
    def leaf(self) -> Int:
        """The leaf of each point, as of its first version."""
        first = self.points[: len(self.points) // self.n_versions]
        away = np.linalg.norm(first[:, None] - self.leaves, axis=2)
        return np.tile(away.argmin(axis=1), self.n_versions)

    def losses(self, points: Float, leaves: Float) -> tuple[float, float]:
        """Centres and compression by definition; what is held fixed is that of the case."""
        shape, leaf, centres = self.shape, self.leaf, 0.0
        for number, centre in enumerate(leaves):
            if (leaf == number).any():
                mean = self.points[leaf == number].mean(axis=0)
                centres += float(np.linalg.norm(mean - centre)) / len(leaves)
        centre = [
            np.average(self.leaves[below], axis=0, weights=self.weights[below])
            for below in shape.below
        ]
        compression = 0.0
        for point, number in zip(points, leaf, strict=True):
            node = int(shape.leaves[number])
            while node:
                apart = centre[node] - centre[shape.sibling[node]]
                length = float(np.linalg.norm(apart))
                way = apart / length if length else np.zeros(3)
                compression += abs(float(way @ (centre[node] - point)))
                node = int(shape.parent[node])
        return centres, compression / (len(points) * max(1, shape.n_nodes - 1))

    def pressed(self) -> tuple[Float, Float, Float, list[float]]:
        """(losses, gradient in the points, gradient in the leaves, points of each leaf)."""
        steps = LeafSteps(
            self.shape.below[self.shape.pairs],
            self.leaves,
            self.weights,
            pace=0.5,
            threshold=0.1,
            learning_rate=0.01,
            loss_weight=WEIGHT,
            n_versions=self.n_versions,
            device="cpu",
        )
        losses = torch.zeros(2, dtype=torch.float64)
        of_points = torch.zeros(self.points.shape, dtype=torch.float64)
        rows = torch.from_numpy(np.pad(self.points, ((0, 0), (0, 1)), constant_values=1.0))
        counts = steps.press(rows, of_points, losses)
        assert (steps.gradient[:, -1] == 0).all()
        of_leaves = steps.gradient[:, :-1].numpy()
        return losses.numpy(), of_points.numpy(), of_leaves, counts.tolist()


def slopes(values: Float, loss: Callable[[Float], float]) -> Float:
    """The derivative of a loss by differences."""
    found, step = np.zeros_like(values), 1e-6
    for at in np.ndindex(values.shape):
        ends = []
        for sign in (1, -1):
            moved = values.copy()
            moved[at] += sign * step
            ends.append(loss(moved))
        found[at] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_versions", [1, 2])
def test_losses_and_gradients_are_those_of_the_definition(
    shape: TreeShape, seed: int, n_versions: int
) -> None:
    case = Case.drawn(shape, seed, n_versions)
    losses, of_points, of_leaves, counts = case.pressed()
    assert losses == pytest.approx(case.losses(case.points, case.leaves), rel=1e-9, abs=1e-12)
    n_points = len(case.points) // n_versions
    assert counts == np.bincount(case.leaf[:n_points], minlength=shape.n_leaves).tolist()
    expected = slopes(case.points, lambda points: case.losses(points, case.leaves)[1])
    np.testing.assert_allclose(of_points, WEIGHT * expected, atol=1e-7)
    expected = slopes(case.leaves, lambda leaves: case.losses(case.points, leaves)[0])
    np.testing.assert_allclose(of_leaves, WEIGHT * expected, atol=1e-7)


def test_centres_that_coincide_have_no_direction() -> None:
    case = Case.drawn(SHAPES["two"])
    case.leaves[1] = case.leaves[0]
    losses, of_points, of_leaves, counts = case.pressed()
    assert losses[1] == 0
    assert (of_points == 0).all()
    assert np.isfinite(of_leaves).all()
    assert counts == [9, 0]  # ties go to the first


def test_a_leaf_whose_centre_is_the_mean_stays() -> None:
    case = Case.drawn(SHAPES["one leaf"])
    case.points[:] = case.leaves[0] = [1.0, 2.0, 3.0]
    losses, _, of_leaves, _ = case.pressed()
    assert losses == pytest.approx([0.0, 0.0], abs=1e-14)
    assert (of_leaves == 0).all()


def test_leaves_that_weigh_nothing_have_their_plain_mean() -> None:
    case = Case.drawn(SHAPES["balanced"])
    case.weights[:] = 0.0
    losses, _, _, _ = case.pressed()
    case.weights[:] = 1.0
    assert losses == pytest.approx(case.losses(case.points, case.leaves))


def test_the_nearest_leaf_is_that_of_the_least_distance() -> None:
    rng = np.random.default_rng(0)
    points, centres = (
        torch.from_numpy(rng.normal(size=(50, 4))),
        torch.from_numpy(rng.normal(size=(7, 4))),
    )
    expected = torch.cdist(points, centres).argmin(dim=1)
    assert torch.equal(nearest_leaves(points, centres), expected)
