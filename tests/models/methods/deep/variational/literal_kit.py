"""A tree's networks written out in NumPy, a row and a path at a time, and small networks to test.

Batch normalization is in the form for new rows: by the averages.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch

from models.arrays import Float
from models.methods.deep.variational.layers import LEAST_VARIANCE, Likelihood
from models.methods.deep.variational.network import Architecture, TreeNetwork


def small_network(
    likelihood: Likelihood = "bernoulli", splits: tuple[int, ...] = (1,), seed: int = 0
) -> TreeNetwork:
    """Networks of a small tree in double precision, with averages as after some training.

    splits : leaves that are split, in order; (1,) gives 0 -> (1 -> (3, 4), 2).
    """
    generator = torch.Generator().manual_seed(seed)
    network = TreeNetwork.stump(Architecture(5, (4, 3), 2, 3, likelihood), generator)
    for leaf in splits:
        network.topology = network.topology.split(leaf)
        network.add_children(leaf, generator)
        network.weights.remove((f"node.{leaf}.decoder.",))
    weights = network.weights
    for name, tensor in weights.learned.items():
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        weights.learned[name] = tensor.double() + 0.3 * noise
    for name, tensor in weights.moving.items():
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        weights.moving[name] = tensor.double() + 0.1 * noise.abs()
    return network


class Literal:
    """The networks as functions of one row."""

    def __init__(self, network: TreeNetwork) -> None:
        self.architecture, self.topology = network.architecture, network.topology
        self.learned = {key: each.numpy() for key, each in network.weights.learned.items()}
        self.moving = {key: each.numpy() for key, each in network.weights.moving.items()}

    def linear(self, name: str, x: Float) -> Float:
        return np.array(x @ self.learned[f"{name}.weight"] + self.learned[f"{name}.offset"])

    def block(self, name: str, x: Float) -> Float:
        value = x @ self.learned[f"{name}.weight"]
        deviation = np.sqrt(self.moving[f"{name}.variance"] + 1e-5)
        normal = (value - self.moving[f"{name}.mean"]) / deviation
        normal = normal * self.learned[f"{name}.scale"] + self.learned[f"{name}.offset"]
        return np.array(np.where(normal > 0, normal, 0.3 * normal))

    def units(self, x: Float) -> list[Float]:
        for layer in range(len(self.architecture.hidden_sizes)):
            x = self.block(f"encoder.{layer}", x)
        levels = [x]
        for level in reversed(range(self.architecture.max_depth)):
            levels.append(self.block(f"level.{level}", levels[-1]))
        return levels[::-1]

    def gaussian(self, output: Float) -> tuple[Float, Float]:
        size = self.architecture.latent_size
        return output[:size], np.log1p(np.exp(output[size:])) + LEAST_VARIANCE

    def view(self, node: int, level_units: Float) -> tuple[Float, Float]:
        return self.gaussian(self.linear(f"node.{node}.view", level_units))

    def prior(self, node: int, embedding: Float) -> tuple[Float, Float]:
        hidden = self.block(f"node.{node}.move.0", embedding)
        return self.gaussian(self.linear(f"node.{node}.move.1", hidden))

    def posterior(self, node: int, level_units: Float, embedding: Float) -> tuple[Float, Float]:
        """The mean and variance of a node's embedding, given its parent's."""
        (mean, variance), (prior_mean, prior_variance) = (
            self.view(node, level_units), self.prior(node, embedding),
        )  # fmt: skip
        both = 1.0 / (1.0 / variance + 1.0 / prior_variance)
        return both * (mean / variance + prior_mean / prior_variance), both

    def first_child(self, router: str, node: int, x: Float) -> float:
        """The probability of the first child."""
        hidden = self.block(f"node.{node}.{router}.0", x)
        return 1.0 / (1.0 + float(np.exp(-self.linear(f"node.{node}.{router}.1", hidden)[0])))

    def log_data(self, leaf: int, x: Float, embedding: Float) -> float:
        """log p(x | leaf, embedding)."""
        value = embedding
        n_layers = len(self.architecture.hidden_sizes)
        for layer in range(n_layers):
            value = self.block(f"node.{leaf}.decoder.{layer}", value)
        output = self.linear(f"node.{leaf}.decoder.{n_layers}", value)
        if self.architecture.likelihood == "bernoulli":
            p = 1.0 / (1.0 + np.exp(-output))
            return float((x * np.log(p) + (1.0 - x) * np.log(1.0 - p)).sum())
        variance = float(np.exp(self.learned["noise.log_variance"]))
        return float(log_normal(x, output, np.full(x.shape, variance)))

    def paths(self) -> list[list[int]]:
        """The nodes from the root to each leaf."""
        parent = self.topology.parent()
        paths = []
        for leaf in self.topology.leaves():
            path = [leaf]
            while path[0] != 0:
                path.insert(0, int(parent[path[0]]))
            paths.append(path)
        return paths

    def log_steps(self, router: str, path: list[int], inputs: list[Float]) -> float:
        """The logarithm of the probability of a path, its decisions fed with `inputs` by depth."""
        total = 0.0
        for depth, (node, child) in enumerate(pairwise(path)):
            below = self.topology.below(node)
            if len(below) == 2:
                p = self.first_child(router, node, inputs[depth])
                total += float(np.log(p if child == below[0] else 1.0 - p))
        return total


def log_normal(x: Float, mean: Float, variance: Float) -> float:
    """The log density of a Gaussian with a diagonal covariance."""
    return float(-0.5 * ((x - mean) ** 2 / variance + np.log(2 * np.pi * variance)).sum())
