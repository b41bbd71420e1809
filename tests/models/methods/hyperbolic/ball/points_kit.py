"""Points of the ball for tests."""

from __future__ import annotations

import numpy as np
import torch


def sphere(shape: tuple[int, ...], radius: float, seed: int) -> torch.Tensor:
    """Points of norm `radius`, in random directions."""
    values = np.random.default_rng(seed).normal(size=shape)
    values *= radius / np.linalg.norm(values, axis=-1, keepdims=True)
    return torch.from_numpy(values)


def scattered(n: int, n_features: int, seed: int, most: float = 0.85) -> torch.Tensor:
    """Points of random directions and norms from 0.05 to `most`."""
    radius = np.random.default_rng(seed + 100).uniform(0.05, most, size=(n, 1))
    return sphere((n, n_features), 1.0, seed) * torch.from_numpy(radius)
