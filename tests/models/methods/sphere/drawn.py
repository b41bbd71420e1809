"""Points drawn from mixtures on the sphere."""

from __future__ import annotations

import numpy as np

from models.numerics.sphere import draw_vmf, uniform


def mixture(
    sizes: tuple[int, ...],
    n_features: int,
    kappa: float | list[float],
    seed: int = 0,
    *,
    upright: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(points, the cluster of each, the clusters' means, at right angles if `upright`)."""
    rng = np.random.default_rng(seed)
    means = uniform(len(sizes), n_features, rng)
    if upright:
        means = np.linalg.qr(means.T)[0].T
    own = np.repeat(np.arange(len(sizes)), sizes)
    order = rng.permutation(len(own))
    own = own[order]
    return draw_vmf(means[own], np.broadcast_to(kappa, len(sizes))[own], rng), own, means
