"""The losses against their definition written as loops, and what they move."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.methods.deep.trees.losses import nearest_leaves, tree_losses
from models.methods.deep.trees.shape import TreeShape

pytestmark = pytest.mark.needs("torch")

SHAPES = {
    "one leaf": TreeShape.root(),
    "two": TreeShape.root().split(0),
    "chain": TreeShape.root().split(0).split(2).split(4).split(6),
    "balanced": TreeShape.root().split(0).split(1).split(2),
}


def case(shape: TreeShape, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Embedding, centres of leaves, centres of nodes."""
    rng = np.random.default_rng(seed)
    embedding = torch.from_numpy(rng.normal(size=(9, 3)))
    nodes = torch.from_numpy(rng.normal(size=(shape.n_nodes, 3)))
    return embedding.requires_grad_(), nodes[shape.leaves].clone().requires_grad_(), nodes


def losses(shape: TreeShape, embedding, leaves, nodes):
    return tree_losses(
        embedding, leaves, nodes, torch.from_numpy(shape.sibling), torch.from_numpy(shape.paths)
    )


def naive(shape: TreeShape, embedding, nodes) -> tuple[float, float, list[int]]:
    points, centre = embedding.detach().numpy(), nodes.numpy()
    leaf_of = []
    for point in points:
        away = [np.linalg.norm(point - centre[leaf]) for leaf in shape.leaves]
        leaf_of.append(int(shape.leaves[int(np.argmin(away))]))
    centres = 0.0
    for leaf in shape.leaves:
        inside = [point for point, own in zip(points, leaf_of, strict=True) if own == leaf]
        if inside:
            centres += np.linalg.norm(np.mean(inside, axis=0) - centre[leaf])
    centres /= len(shape.leaves)
    compression = 0.0
    for point, node in zip(points, leaf_of, strict=True):
        while shape.parent[node] >= 0:
            (other,) = (
                sibling
                for sibling in range(1, shape.n_nodes)
                if shape.parent[sibling] == shape.parent[node] and sibling != node
            )
            apart = centre[node] - centre[other]
            direction = apart / np.linalg.norm(apart)
            compression += abs(direction @ (centre[node] - point))
            node = int(shape.parent[node])
    compression /= len(points) * max(1, shape.n_nodes - 1)
    return centres, compression, [leaf_of.count(leaf) for leaf in shape.leaves]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_the_definition(shape: TreeShape, seed: int) -> None:
    embedding, leaves, nodes = case(shape, seed)
    computed = losses(shape, embedding, leaves, nodes)
    centres, compression, counts = naive(shape, embedding, nodes)
    assert float(computed.centres.detach()) == pytest.approx(centres, rel=1e-9)
    assert float(computed.compression.detach()) == pytest.approx(compression, rel=1e-9, abs=1e-12)
    assert computed.counts.tolist() == counts


def test_the_centres_loss_moves_centres_alone() -> None:
    shape = SHAPES["balanced"]
    embedding, leaves, nodes = case(shape)
    losses(shape, embedding, leaves, nodes).centres.backward()
    assert embedding.grad is None
    step = 1e-6
    for leaf in range(shape.n_leaves):
        for axis in range(3):
            values = []
            for sign in (1, -1):
                moved = leaves.detach().clone()
                moved[leaf, axis] += sign * step
                values.append(float(losses(shape, embedding, moved, nodes).centres))
            slope = (values[0] - values[1]) / (2 * step)
            assert float(leaves.grad[leaf, axis]) == pytest.approx(slope, abs=1e-7)


def test_the_compression_loss_moves_points_alone_along_the_directions() -> None:
    shape = SHAPES["chain"]
    embedding, leaves, nodes = case(shape)
    losses(shape, embedding, leaves, nodes).compression.backward()
    assert leaves.grad is None
    step = 1e-6
    for point in range(len(embedding)):
        for axis in range(3):
            values = []
            for sign in (1, -1):
                moved = embedding.detach().clone()
                moved[point, axis] += sign * step
                values.append(float(losses(shape, moved, leaves, nodes).compression))
            slope = (values[0] - values[1]) / (2 * step)
            assert float(embedding.grad[point, axis]) == pytest.approx(slope, abs=1e-7)


def test_other_versions_of_points_count_in_the_leaves_of_the_points() -> None:
    shape = SHAPES["balanced"]
    embedding, leaves, nodes = case(shape)
    other, _, _ = case(shape, seed=7)
    both = tree_losses(
        torch.cat([embedding, other]),
        leaves,
        nodes,
        torch.from_numpy(shape.sibling),
        torch.from_numpy(shape.paths),
        n_versions=2,
    )
    leaf = nearest_leaves(embedding, leaves)
    assert (leaf != nearest_leaves(other, leaves)).any(), "the case is too easy"
    centres = 0.0
    for number in range(shape.n_leaves):
        inside = torch.cat([part[leaf == number] for part in (embedding, other)])
        if len(inside):
            centres += float((inside.mean(dim=0) - leaves[number]).norm().detach())
    assert float(both.centres.detach()) == pytest.approx(centres / shape.n_leaves)
    assert both.counts.tolist() == torch.bincount(leaf, minlength=shape.n_leaves).tolist()
    # Versions that are the points themselves change nothing.
    doubled = tree_losses(
        torch.cat([embedding, embedding]),
        leaves,
        nodes,
        torch.from_numpy(shape.sibling),
        torch.from_numpy(shape.paths),
        n_versions=2,
    )
    once = losses(shape, embedding, leaves, nodes)
    assert float(doubled.compression.detach()) == pytest.approx(float(once.compression.detach()))
    assert float(doubled.centres.detach()) == pytest.approx(float(once.centres.detach()))


def test_centres_that_coincide_have_no_direction() -> None:
    shape = SHAPES["two"]
    embedding, _, nodes = case(shape)
    nodes[2] = nodes[1]
    computed = losses(shape, embedding, nodes[1:].clone().requires_grad_(), nodes)
    computed.compression.backward()
    assert float(computed.compression.detach()) == 0
    assert torch.isfinite(embedding.grad).all()
    assert computed.counts.tolist() == [9, 0]  # ties go to the first


def test_a_leaf_whose_centre_is_the_mean_has_a_finite_gradient() -> None:
    shape = SHAPES["one leaf"]
    embedding, _, _ = case(shape)
    mean = embedding.detach().mean(dim=0, keepdim=True)
    leaves = mean.clone().requires_grad_()
    losses(shape, embedding, leaves, mean).centres.backward()
    assert torch.isfinite(leaves.grad).all()


def test_the_nearest_leaf_is_that_of_the_least_distance() -> None:
    rng = np.random.default_rng(0)
    points, centres = (
        torch.from_numpy(rng.normal(size=(50, 4))),
        torch.from_numpy(rng.normal(size=(7, 4))),
    )
    expected = torch.cdist(points, centres).argmin(dim=1)
    assert torch.equal(nearest_leaves(points, centres), expected)
