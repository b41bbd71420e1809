"""Weights by name, and the layers that they make: linear maps, blocks with batch normalization.

A block is a linear map without offset, batch normalization and a leaky ReLU. While it is trained it
normalizes by the mean and the variance of its batch and moves its own averages towards them; else
it normalizes by these averages, so that a row's value does not depend on its batch.

Linear maps start uniform within 1 / sqrt(n_in), as in torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
