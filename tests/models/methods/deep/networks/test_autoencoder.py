"""The autoencoder against torch's own layers, its gradient against finite differences, and its
arrays against itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.methods.deep.networks.autoencoder import (
    Autoencoder,
    BatchPass,
    forward,
    n_parameters,
    widths_of,
)
from tests.models.tensors_kit import assert_close

pytestmark = pytest.mark.needs("torch")

HIDDEN = [7, 4]


def network() -> Autoencoder:
    with torch.no_grad():
        autoencoder = Autoencoder(5, HIDDEN, 3, np.random.default_rng(0), "cpu")
        # Biases start at zero; others show whether they are used.
        size = len(autoencoder.parameters)
        autoencoder.parameters += 0.1 * torch.randn(size, generator=generator(1))
        return autoencoder


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_it_is_the_mirrored_stack_of_layers() -> None:
    autoencoder = network()
    arrays = autoencoder.arrays()
    widths = [5, 7, 4, 3]
    assert widths_of(arrays, "encoder") == widths
    assert widths_of(arrays, "decoder") == widths[::-1]
    assert sum(array.size for array in arrays.values()) == n_parameters(5, HIDDEN, 3)
    rows = torch.randn((6, 5), generator=generator(2))
    modules = []
    for number in range(3):
        linear = torch.nn.Linear(widths[number], widths[number + 1])
        linear.weight.data = torch.from_numpy(arrays[f"encoder.{number}.weight"].T)
        linear.bias.data = torch.from_numpy(arrays[f"encoder.{number}.bias"])
        modules += [linear, torch.nn.ReLU()]
    expected = torch.nn.Sequential(*modules[:-1])(rows)
    assert_close(autoencoder.encode(rows), expected)


def test_without_torch_the_layers_give_the_same() -> None:
    autoencoder = network()
    rows = torch.randn((6, 5), generator=generator(2))
    embedding = autoencoder.encode(rows).detach()
    arrays = autoencoder.arrays()
    np.testing.assert_allclose(forward(arrays, "encoder", rows.numpy()), embedding, rtol=1e-5)
    np.testing.assert_allclose(
        forward(arrays, "decoder", embedding.numpy()),
        autoencoder.decode(embedding).detach(),
        rtol=1e-4,
        atol=1e-6,
    )


def test_the_gradient_of_all_parameters_is_that_of_finite_differences() -> None:
    """Reconstruction, and what has a gradient in the embedding."""
    autoencoder = network()
    rows = torch.ones((6, 6))
    rows[:, :-1] = torch.randn((6, 5), generator=generator(3))
    pull, losses = torch.randn((6, 3), generator=generator(4)) / 18, torch.zeros(1)

    def loss() -> float:
        embedding = autoencoder.encode(rows[:, :-1])
        apart = autoencoder.decode(embedding) - rows[:, :-1]
        return float(apart.square().mean() + (pull * embedding).sum())

    # A batch of fewer rows than there is room for, and a second one in its place.
    used = BatchPass(autoencoder, 8)
    for _ in range(2):
        autoencoder.gradient.fill_(7.0)
        embedding = used.forward(rows, losses)
        assert_close(embedding[:, :-1], autoencoder.encode(rows[:, :-1]))
        assert (embedding[:, -1] == 1).all()
        used.to_rows(used.to_embedding() + pull)
    assert float(losses[0]) == pytest.approx(loss() - float((pull * embedding[:, :-1]).sum()))
    assert float(autoencoder.gradient.abs().max()) > 0.1
    step = 2e-3
    for place in range(0, len(autoencoder.parameters), 7):
        values = []
        for sign in (1.0, -1.0):
            autoencoder.parameters[place] += sign * step
            values.append(loss())
            autoencoder.parameters[place] -= sign * step
        slope = (values[0] - values[1]) / (2 * step)
        assert abs(slope - float(autoencoder.gradient[place])) < 1e-3, place


def test_the_same_seed_gives_the_same_start() -> None:
    first, second = (
        Autoencoder(5, HIDDEN, 3, np.random.default_rng(4), "cpu").parameters for _ in range(2)
    )
    assert torch.equal(first, second)
    assert first.abs().sum() > 0
