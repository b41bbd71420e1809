"""The closed forms that the bound is made of: Gaussians, decisions, and the data given a leaf.

Variances, not standard deviations, throughout. Everything is a value for each row.

Source: Manduchi, Vandenhirtz, Ryser and Vogt, "Tree Variational Autoencoders" (2023), §2.2 and
§2.3; the precision-weighted combination is Sønderby et al., "Ladder Variational Autoencoders"
(2016), eqs. 12 and 13.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor

Likelihood = Literal["bernoulli", "gaussian"]

LEAST_VARIANCE = 1e-6
"""Added to every variance of an embedding: in single precision softplus reaches 0."""

LEAST_NOISE = 1e-4
"""Least variance of the noise of Gaussian data, whose mean variance is scaled to 1."""


def gaussian(heads: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and the variance, (n_rows, n) each, from a layer's output (n_rows, 2 n)."""
    from torch.nn import functional

    mean, raw = heads.chunk(2, dim=1)
    return mean, functional.softplus(raw) + LEAST_VARIANCE


def combined(
    mean: Tensor, variance: Tensor, prior_mean: Tensor, prior_variance: Tensor
) -> tuple[Tensor, Tensor]:
    """The product of two Gaussians, normalized: means weighted by precisions, which add up."""
    precision = 1.0 / variance + 1.0 / prior_variance
    both = 1.0 / precision
    return (mean / variance + prior_mean / prior_variance) * both, both


def gaussian_divergence(
    mean: Tensor, variance: Tensor, prior_mean: Tensor, prior_variance: Tensor
) -> Tensor:
    """(n_rows,) KL(q || p) of two Gaussians with diagonal covariances, in nats."""
    ratio = variance / prior_variance
    apart = (mean - prior_mean).square() / prior_variance
    return 0.5 * (ratio + apart - 1.0 - ratio.log()).sum(dim=1)


def decision_divergence(score: Tensor, prior_score: Tensor) -> Tensor:
    """(n_rows,) KL(q || p) of two decisions, from the log odds of going to the first child."""
    from torch.nn import functional

    first = functional.logsigmoid(score)
    second = functional.logsigmoid(-score)
    return first.exp() * (first - functional.logsigmoid(prior_score)) + second.exp() * (
        second - functional.logsigmoid(-prior_score)
    )


def log_density(
    rows: Tensor, decoded: Tensor, likelihood: Likelihood, log_noise: Tensor | None
) -> Tensor:
    """(n_rows,) log p(row | leaf) in nats.

    rows : (n_rows, n_values). decoded : (n_rows, n_values) what a leaf's decoder gives: log odds of
        'bernoulli', means of 'gaussian'. log_noise : () the logarithm of the variance of Gaussian
        data.

    For values between 0 and 1 'bernoulli' is x log p + (1 - x) log(1 - p): as usual, not the
    logarithm of a normalized density.
    """
    from torch.nn import functional

    if likelihood == "bernoulli":
        each = functional.binary_cross_entropy_with_logits(decoded, rows, reduction="none")
        return -each.sum(dim=1)
    assert log_noise is not None
    log_variance = floored(log_noise)
    squares = (rows - decoded).square().sum(dim=1)
    constant = rows.shape[1] * (math.log(2.0 * math.pi) + log_variance)
    return -0.5 * (squares / log_variance.exp() + constant)


def floored(log_noise: Tensor) -> Tensor:
    """() the logarithm of the variance of Gaussian data: not below that of `LEAST_NOISE`."""
    return log_noise.clamp(min=math.log(LEAST_NOISE))


def decoded_mean(decoded: Tensor, likelihood: Likelihood) -> Tensor:
    """The mean of the data given a leaf."""
    return decoded.sigmoid() if likelihood == "bernoulli" else decoded
