"""The bounding scheme's concentrations: the bound of log C_D, and the best log-normal under it.

Source: the thesis, section 5.3.1.2, as `models.vmf.concentrations` says.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from models.numerics import bessel
from models.partitions.points import Float
from models.vmf.priors import Priors

NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(48)
NODE_WEIGHTS = _NODE_WEIGHTS / math.sqrt(2.0 * math.pi)

LEAST_LOG = -35.0
"""Of kappa."""


def highest(
    size: Float,
    along: Float,
    n_features: int,
    priors: Priors,
    before: tuple[Float, Float] | None,
    max_kappa: float,
) -> tuple[Float, Float]:
    """(K,) each: a and b of the best log-normals exp N(a, b^2), from those `before` on.

    Two numbers a cluster by L-BFGS with exact gradients.
    """
    from scipy.optimize import minimize

    v = bessel.order_of(n_features)
    if before is None:
        # Where the bounded likelihood is highest, kappa / (v + sqrt(v^2 + kappa^2)) being r.
        r = np.divide(along, size, out=np.zeros_like(along), where=size > 1e-12)
        peak = 2.0 * v * np.clip(r, 0.0, 1.0 - 1e-12) / (1.0 - np.clip(r, 0.0, 1.0 - 1e-12) ** 2)
        a = np.where(peak > 0, np.log(np.where(peak > 0, peak, 1.0)), priors.m)
    else:
        a = before[0]
    most = math.log(max_kappa)
    a = np.clip(a, LEAST_LOG, most)
    kappa = np.exp(a)
    s = np.sqrt(v * v + kappa * kappa)
    scale = 1.0 / np.sqrt(size * kappa * kappa * v / (s * (s + v)) + priors.sigma**-2)
    b = scale if before is None else np.maximum(before[1], 1e-8)

    def negative(z: Float) -> tuple[float, Float]:
        shift, stretch = z.reshape(2, -1)
        value, by_a, by_b = lower(
            a + shift * scale, b * np.exp(stretch), size, along, n_features, priors
        )
        by_stretch = by_b * b * np.exp(stretch)
        return -float(value.sum()), -np.concatenate([by_a * scale, by_stretch])

    found = minimize(
        negative,
        np.zeros(2 * len(size)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-50.0, min(50.0, gap)) for gap in ((most - a) / scale).tolist()]
        + [(-4.0, 4.0)] * len(size),
        options={"maxiter": 200, "ftol": 1e-13, "gtol": 1e-7},
    )
    shift, stretch = found.x.reshape(2, -1)
    return a + shift * scale, b * np.exp(stretch)


def bounded_log_c(n_features: int, kappa: Any) -> Float:
    """A lower bound of log C_D(kappa), by the upper bound of log I_v; equal at 0."""
    v = bessel.order_of(n_features)
    s = np.sqrt(v * v + kappa * kappa)
    # At 0 the uniform density's; log1p and s - v keep what is left from cancelling.
    grown = kappa * kappa / (s + v) if v else kappa
    lead = v * np.log1p(0.5 * grown / v) if v else 0.0
    return np.asarray(bessel.log_uniform(n_features) + lead - grown)


def lower(
    a: Float, b: Float, size: Float, along: Float, n_features: int, priors: Priors
) -> tuple[Float, Float, Float]:
    """(K,) each: the bound's part of log-normal q(kappa) = exp N(a, b^2), its slopes in a and b."""
    v = bessel.order_of(n_features)
    kappa = np.exp(a[:, None] + b[:, None] * NODES)
    gain = size[:, None] * bounded_log_c(n_features, kappa) + along[:, None] * kappa
    value = gain @ NODE_WEIGHTS
    steep = kappa / (v + np.sqrt(v * v + kappa * kappa))
    rise = kappa * (along[:, None] - size[:, None] * steep)
    off = (a - priors.m) / priors.sigma**2
    value += np.log(b / priors.sigma) - 0.5 * (b / priors.sigma) ** 2
    value -= 0.5 * (a - priors.m) * off
    by_b = (rise * NODES) @ NODE_WEIGHTS + 1.0 / b - b / priors.sigma**2
    return value, rise @ NODE_WEIGHTS - off, by_b
