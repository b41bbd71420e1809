"""The bound against its definition: every path written out, a sample of paths, differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from models.methods.deep.variational.bound import Terms, arrived, bounded, rooted
from models.methods.deep.variational.layers import (
    Likelihood,
    combined,
    decision_divergence,
    gaussian_divergence,
    log_density,
)
from models.methods.deep.variational.network import ROOT, TreeNetwork, units
from tests.models.methods.deep.variational.literal_kit import Literal, log_normal, small_network
from tests.models.tensors_kit import assert_close

pytestmark = pytest.mark.needs("torch")

LIKELIHOODS: tuple[Likelihood, ...] = ("bernoulli", "gaussian")
TREES: tuple[tuple[int, ...], ...] = ((), (1,), (2, 4), (1, 2, 3))
"""0 -> (1, 2); 0 -> (1 -> (3, 4), 2); 0 -> (1, 2 -> (3, 4 -> (5, 6)));
0 -> (1 -> (3 -> (7, 8), 4), 2 -> (5, 6))."""


def rows_for(likelihood: Likelihood, n_rows: int, seed: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    if likelihood == "bernoulli":
        return torch.rand((n_rows, 5), generator=generator, dtype=torch.float64)
    return torch.randn((n_rows, 5), generator=generator, dtype=torch.float64)


class RecordedNoise:
    """Draws, and remembers them in order: the root's first, then by child."""

    def __init__(self, seed: int = 0) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self.draws: list[np.ndarray] = []

    def __call__(self, like: Tensor) -> Tensor:
        draw = torch.randn(like.shape, generator=self._generator, dtype=like.dtype)
        self.draws.append(draw.numpy())
        return draw


def terms_of(network: TreeNetwork, rows: Tensor, noise: RecordedNoise | None) -> Terms:
    levels = units(network.weights, network.architecture, rows, False)
    reached, kl_root = rooted(network.weights, levels[0], noise)
    return bounded(
        network.weights, network.architecture, network.topology, rows, levels, reached, kl_root,
        noise,
    )  # fmt: skip


def kl_normal(
    mean: np.ndarray, variance: np.ndarray, other: tuple[np.ndarray, np.ndarray]
) -> float:
    ratio = variance / other[1]
    return float(
        sum(
            0.5 * (r + (m - om) ** 2 / ov - 1 - np.log(r))
            for r, m, om, ov in zip(ratio, mean, other[0], other[1], strict=True)
        )
    )


@pytest.mark.parametrize(("likelihood", "splits"), list(product(LIKELIHOODS, TREES)))
def test_the_bound_is_the_sum_over_all_paths_written_out(
    likelihood: Likelihood, splits: tuple[int, ...]
) -> None:
    network = small_network(likelihood, splits)
    rows, noise = rows_for(likelihood, 3), RecordedNoise()
    terms = terms_of(network, rows, noise)
    literal = Literal(network)
    # Draws are made for the root, then for the children of each inner node in order.
    drawn_for = [0, *(c for node in network.topology.nodes() for c in network.topology.below(node))]
    for row, x in enumerate(rows.numpy()):
        draws = {node: noise.draws[at][row] for at, node in enumerate(drawn_for)}
        levels = literal.units(x)
        elbo = reconstruction = 0.0
        for path in literal.paths():
            mean, variance = literal.view(0, levels[0])
            kl_path = kl_normal(mean, variance, (np.zeros(2), np.ones(2)))
            embeddings = [mean + np.sqrt(variance) * draws[0]]
            for depth, node in enumerate(path[1:], start=1):
                prior = literal.prior(node, embeddings[-1])
                mean, variance = literal.posterior(node, levels[depth], embeddings[-1])
                kl_path += kl_normal(mean, variance, prior)
                embeddings.append(mean + np.sqrt(variance) * draws[node])
            log_q = literal.log_steps("router", path, levels)
            log_p = literal.log_steps("prior_router", path, embeddings)
            log_x = literal.log_data(path[-1], x, embeddings[-1])
            elbo += np.exp(log_q) * (log_x - kl_path - (log_q - log_p))
            reconstruction += np.exp(log_q) * log_x
        assert float(-terms.loss()[row]) == pytest.approx(elbo, rel=1e-9)
        assert float(terms.reconstruction[row]) == pytest.approx(reconstruction, rel=1e-9)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_bound_is_the_mean_log_ratio_of_joint_and_posterior(likelihood: Likelihood) -> None:
    """E over paths and embeddings from q of log p(x, z, c) - log q(z, c | x): the definition."""
    network = small_network(likelihood, (1,))
    x = rows_for(likelihood, 1)
    literal, rng = Literal(network), np.random.default_rng(0)
    levels = literal.units(x[0].numpy())
    paths, ratios = literal.paths(), []
    q = np.exp([literal.log_steps("router", path, levels) for path in paths])
    assert q.sum() == pytest.approx(1.0)
    for _ in range(4000):
        path = paths[int(rng.choice(len(paths), p=q / q.sum()))]
        mean, variance = literal.view(0, levels[0])
        z = mean + np.sqrt(variance) * rng.normal(size=2)
        ratio = log_normal(z, np.zeros(2), np.ones(2)) - log_normal(z, mean, variance)
        embeddings = [z]
        for depth, node in enumerate(path[1:], start=1):
            mean, variance = literal.posterior(node, levels[depth], z)
            prior = literal.prior(node, z)
            z = mean + np.sqrt(variance) * rng.normal(size=2)
            ratio += log_normal(z, *prior) - log_normal(z, mean, variance)
            embeddings.append(z)
        ratio += literal.log_steps("prior_router", path, embeddings)
        ratio -= literal.log_steps("router", path, levels)
        ratios.append(ratio + literal.log_data(path[-1], x[0].numpy(), z))
    bounds = -terms_of(network, x.expand(4000, -1), RecordedNoise(1)).loss().numpy()
    error = np.hypot(np.std(ratios), np.std(bounds)) / np.sqrt(4000)
    assert np.mean(bounds) == pytest.approx(np.mean(ratios), abs=4 * error)
    assert error < 0.1
    assert np.std(bounds) < np.std(ratios), "closed forms were not used"


def test_the_combination_is_the_normalized_product_of_two_densities() -> None:
    grid = np.linspace(-12.0, 12.0, 200_001)
    mean, variance = (np.array([v]) for v in (1.5, 0.7))
    other_mean, other_variance = (np.array([v]) for v in (-2.0, 2.5))
    product_ = np.exp(
        -0.5 * (grid - mean) ** 2 / variance - 0.5 * (grid - other_mean) ** 2 / other_variance
    )
    product_ /= product_.sum()
    both_mean, both_variance = combined(
        *(torch.tensor(each)[None] for each in (mean, variance, other_mean, other_variance))
    )
    expected = (product_ * grid).sum()
    assert float(both_mean) == pytest.approx(expected, abs=1e-9)
    assert float(both_variance) == pytest.approx(
        (product_ * (grid - expected) ** 2).sum(), abs=1e-9
    )


def test_divergences_are_those_of_the_distributions() -> None:
    generator = torch.Generator().manual_seed(3)
    mean, other = torch.randn((2, 40, 3), generator=generator, dtype=torch.float64)
    variance, other_variance = (
        torch.rand((2, 40, 3), generator=generator, dtype=torch.float64) + 0.05
    )
    expected = torch.distributions.kl_divergence(
        torch.distributions.Normal(mean, variance.sqrt()),
        torch.distributions.Normal(other, other_variance.sqrt()),
    ).sum(dim=1)
    assert_close(gaussian_divergence(mean, variance, other, other_variance), expected)
    score, prior = 4.0 * torch.randn((2, 40), generator=generator, dtype=torch.float64)
    expected = torch.distributions.kl_divergence(
        torch.distributions.Bernoulli(logits=score), torch.distributions.Bernoulli(logits=prior)
    )
    assert_close(decision_divergence(score, prior), expected)
    assert float(decision_divergence(score, score).abs().max()) == 0.0


def test_certain_decisions_have_finite_divergences_and_gradients() -> None:
    score = torch.tensor([200.0, -200.0, 0.0, 1e4], requires_grad=True)
    prior = torch.tensor([200.0, 50.0, -300.0, -1e4])
    divergence = decision_divergence(score, prior)
    assert divergence.tolist() == pytest.approx([0.0, 50.0, 150.0 - np.log(2.0), 1e4], abs=1e-4)
    (gradient,) = torch.autograd.grad(divergence.sum(), [score])
    assert torch.isfinite(gradient).all()


def test_gaussian_data_have_the_density_of_the_noise() -> None:
    generator = torch.Generator().manual_seed(1)
    rows, decoded = torch.randn((2, 6, 4), generator=generator, dtype=torch.float64)
    log_noise = torch.tensor(-1.2, dtype=torch.float64)
    expected = torch.distributions.Normal(decoded, (log_noise / 2).exp()).log_prob(rows).sum(dim=1)
    assert_close(log_density(rows, decoded, "gaussian", log_noise), expected)


@pytest.mark.parametrize(("likelihood", "splits"), list(product(LIKELIHOODS, TREES[1:3])))
def test_gradients_agree_with_differences(likelihood: Likelihood, splits: tuple[int, ...]) -> None:
    """In double precision, batch normalization by the batch, every weight along random lines."""
    network = small_network(likelihood, splits)
    rows = rows_for(likelihood, 7)
    names = sorted(network.weights.learned)

    def loss(learned: dict[str, Tensor]) -> Tensor:
        weights = network.weights.with_learned(learned)
        noise = RecordedNoise(9)
        levels = units(weights, network.architecture, rows, True)
        reached, kl_root = rooted(weights, levels[0], noise)
        terms = bounded(
            weights, network.architecture, network.topology, rows, levels, reached, kl_root,
            noise, training=True,
        )  # fmt: skip
        return terms.loss(0.7).mean()

    at = {name: network.weights.learned[name].clone().requires_grad_() for name in names}
    gradient = dict(zip(names, torch.autograd.grad(loss(at), list(at.values())), strict=True))
    generator = torch.Generator().manual_seed(2)
    h = 1e-6
    for name in names:
        line = torch.randn(at[name].shape, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            up, down = (
                float(loss({**at, name: at[name] + sign * h * line})) for sign in (1.0, -1.0)
            )
        expected = (up - down) / (2 * h)
        assert float((gradient[name] * line).sum()) == pytest.approx(
            expected, rel=1e-5, abs=1e-7
        ), name


def test_rows_arrive_at_a_node_as_they_do_in_the_bound() -> None:
    network = small_network("bernoulli", (2, 4))  # 0 -> (1, 2 -> (3, 4 -> (5, 6)))
    rows = rows_for("bernoulli", 6)
    levels = units(network.weights, network.architecture, rows, False)
    reached, kl_root = rooted(network.weights, levels[0], None)
    whole = bounded(
        network.weights, network.architecture, network.topology, rows, levels, reached, kl_root,
        None,
    )  # fmt: skip
    there = arrived(network.weights, network.topology, 4, levels, None)
    assert sorted(there.embedding) == [0, 2, 4]
    assert_close(there.embedding[4], reached.embedding[4])
    assert_close(there.log_probability[4], reached.log_probability[4])
    part = bounded(
        network.weights, network.architecture, network.topology, rows, levels, there,
        torch.zeros_like(kl_root), None, top=4,
    )  # fmt: skip
    assert (part.reconstruction > whole.reconstruction).all(), "leaves 1 and 3 are not below 4"
    assert (part.kl_nodes < whole.kl_nodes).all()
    total = sum(reached.log_probability[leaf].exp() for leaf in network.topology.leaves(ROOT))
    assert_close(total, torch.ones_like(kl_root))
