"""Weights by name, the layers that they make, and the closed forms that the bound is made of.

A block is a linear map without offset, batch normalization and a leaky ReLU. While it is trained it
normalizes by the mean and the variance of its batch and moves its own averages towards them; else
it normalizes by these averages, so that a row's value does not depend on its batch.

Linear maps start uniform within 1 / sqrt(n_in), as in torch.

The closed forms are of Gaussians, by variances and not standard deviations, of decisions, and of
the data given a leaf; each is a value for each row.

Source: Manduchi, Vandenhirtz, Ryser and Vogt, "Tree Variational Autoencoders" (2023), §2.2 and
§2.3; the precision-weighted combination is Sønderby et al., "Ladder Variational Autoencoders"
(2016), eqs. 12 and 13.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Generator, Tensor


SLOPE = 0.3
"""The slope of the leaky ReLU below 0."""

MOMENTUM, EPSILON = 0.1, 1e-5
"""Share of the batch in a step of the averages, and what is added to variances."""


@dataclass(slots=True)
class Weights:
    """learned : weights and offsets by name. moving : averages of batch normalization by name."""

    learned: dict[str, Tensor] = field(default_factory=dict)
    moving: dict[str, Tensor] = field(default_factory=dict)

    def add_linear(self, name: str, n_in: int, n_out: int, generator: Generator) -> None:
        """A linear map with an offset."""
        self._add_matrix(name, n_in, n_out, generator)
        self.learned[f"{name}.offset"] = _uniform((n_out,), n_in, generator)

    def add_block(self, name: str, n_in: int, n_out: int, generator: Generator) -> None:
        """A block."""
        self._add_matrix(name, n_in, n_out, generator)
        self.add_normalization(name, n_out, generator)

    def add_normalization(self, name: str, n_out: int, generator: Generator) -> None:
        """Batch normalization of `n_out` columns or channels."""
        import torch

        zeros = torch.zeros(n_out, device=generator.device)
        self.learned[f"{name}.scale"] = torch.ones_like(zeros)
        self.learned[f"{name}.offset"] = zeros
        self.moving[f"{name}.mean"] = zeros.clone()
        self.moving[f"{name}.variance"] = torch.ones_like(zeros)

    def remove(self, prefixes: tuple[str, ...]) -> None:
        """Remove all layers whose names start with one of `prefixes`."""
        for tensors in (self.learned, self.moving):
            for name in [name for name in tensors if name.startswith(prefixes)]:
                del tensors[name]

    def with_learned(self, learned: Mapping[str, Tensor]) -> Weights:
        """These weights with some replaced; the averages are shared."""
        return Weights({**self.learned, **learned}, self.moving)

    def copy(self, names: Iterable[str]) -> Weights:
        """Copies of the layers whose names start with one of `names`."""
        prefixes = tuple(names)
        learned, moving = (
            {name: each.clone() for name, each in tensors.items() if name.startswith(prefixes)}
            for tensors in (self.learned, self.moving)
        )
        return Weights(learned, moving)

    def linear(self, name: str, rows: Tensor) -> Tensor:
        """(n_rows, n_out)."""
        import torch

        return torch.addmm(self.learned[f"{name}.offset"], rows, self.learned[f"{name}.weight"])

    def block(self, name: str, rows: Tensor, training: bool) -> Tensor:
        """(n_rows, n_out)."""
        return self.activated(name, rows @ self.learned[f"{name}.weight"], training)

    def activated(self, name: str, values: Tensor, training: bool) -> Tensor:
        """Normalized and through the leaky ReLU; axis 1 has the columns or channels."""
        from torch.nn import functional

        normalized = functional.batch_norm(
            values,
            self.moving[f"{name}.mean"],
            self.moving[f"{name}.variance"],
            self.learned[f"{name}.scale"],
            self.learned[f"{name}.offset"],
            training,
            MOMENTUM,
            EPSILON,
        )
        return functional.leaky_relu(normalized, SLOPE)

    def _add_matrix(self, name: str, n_in: int, n_out: int, generator: Generator) -> None:
        self.learned[f"{name}.weight"] = _uniform((n_in, n_out), n_in, generator)


def _uniform(shape: tuple[int, ...], n_in: int, generator: Generator) -> Tensor:
    import torch

    values = torch.empty(shape, device=generator.device)
    return values.uniform_(-(n_in**-0.5), n_in**-0.5, generator=generator)


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
    """(..., n_rows) log p(row | leaf) in nats.

    rows : (n_rows, n_values). decoded : (..., n_rows, n_values) what decoders give: log odds of
        'bernoulli', means of 'gaussian'. log_noise : () the logarithm of the variance of Gaussian
        data.

    For values between 0 and 1 'bernoulli' is x log p + (1 - x) log(1 - p): as usual, not the
    logarithm of a normalized density.
    """
    from torch.nn import functional

    if likelihood == "bernoulli":
        target = rows.expand_as(decoded)
        each = functional.binary_cross_entropy_with_logits(decoded, target, reduction="none")
        return -each.sum(dim=-1)
    assert log_noise is not None
    log_variance = floored(log_noise)
    squares = (rows - decoded).square().sum(dim=-1)
    constant = rows.shape[1] * (math.log(2.0 * math.pi) + log_variance)
    return -0.5 * (squares / log_variance.exp() + constant)


def floored(log_noise: Tensor) -> Tensor:
    """() the logarithm of the variance of Gaussian data: not below that of `LEAST_NOISE`."""
    return log_noise.clamp(min=math.log(LEAST_NOISE))


def decoded_mean(decoded: Tensor, likelihood: Likelihood) -> Tensor:
    """The mean of the data given a leaf."""
    return decoded.sigmoid() if likelihood == "bernoulli" else decoded
