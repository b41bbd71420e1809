"""Trees that grow: splits that are kept, undone, and not tried; leaves without points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from models.method import Checkpoint
from models.methods.deep.variational import growth
from models.methods.deep.variational.growth import (
    GrownNetwork,
    leaf_sizes,
    reconstruction_losses,
)
from models.methods.deep.variational.network import Architecture, TreeNetwork
from models.methods.deep.variational.parameters import VariationalParams
from models.running.progress import silent
from tests.models.methods.deep.variational.literal_kit import Literal, small_network

pytestmark = pytest.mark.needs("torch")


def planted(seed: int = 0, n_rows: int = 200) -> tuple[Tensor, np.ndarray]:
    """24 bits a row, 5 % of them flipped: groups 0, 1 and 2, 3 differ in 6 bits, pairs in 12 more.

    ((0, 1), (2, 3))
    """
    rng = np.random.default_rng(seed)
    patterns = np.repeat(rng.integers(0, 2, (1, 24)), 4, axis=0)
    patterns[2:, :12] ^= 1
    patterns[1, 12:18] ^= 1
    patterns[3, 18:] ^= 1
    own = np.arange(n_rows) % 4
    flipped = rng.random((n_rows, 24)) < 0.05
    return torch.tensor((patterns[own] ^ flipped).astype(np.float32)), own


def grow(rows: Tensor, seed: int = 0, max_depth: int = 3, **changes: object) -> GrownNetwork:
    params = {
        "n_clusters": 4,
        "n_init": 2,
        "epochs": 40,
        "growth_epochs": 40,
        "tuning_epochs": 10,
        "kl_growth": 0.1,
        "kl_warm_up": 0.5,
        "split_by": "points",
        "least_share": 0.1,
        "batch_size": 40,
        "learning_rate": 0.003,
        **changes,
    }
    with torch.no_grad():
        return growth.grow(
            rows,
            Architecture(24, (32, 16), 2, max_depth, "bernoulli"),
            VariationalParams.model_validate(params),
            np.random.default_rng(seed),
            silent,
            Checkpoint(),
        )


def test_a_planted_tree_is_found() -> None:
    """Where the leaf with the largest losses is split next; by points: `test_treevae`."""
    rows, own = planted(2)
    grown = grow(rows, 2, split_by="reconstruction", learning_rate=0.006, n_init=4)
    topology = grown.network.topology
    assert len(topology.leaves()) == 4
    leaf = growth.points_of_leaves(grown.network, rows)
    of_group = [np.bincount(leaf[own == group], minlength=4).argmax() for group in range(4)]
    assert sorted(of_group) == [0, 1, 2, 3]
    parent = topology.parent()[topology.leaves()]
    assert parent[of_group[0]] == parent[of_group[1]] != parent[of_group[2]]
    leaf_counts = np.array([(leaf[own == group] == at).sum() for group, at in enumerate(of_group)])
    assert (leaf_counts >= 46).all()
    # 40 passes over all, two splits, 10 passes over all
    assert [at for at, _ in grown.losses] == [*range(1, 41), *range(121, 131)]
    assert [at for at, _ in grown.split_losses] == [*range(41, 121)]
    assert grown.losses[-1][1] < grown.losses[0][1]
    assert not any(
        "decoder" in name and "node.1." in name for name in grown.network.weights.learned
    )


def test_the_start_least_in_doubt_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    doubts = itertools.cycle([0.3, 0.1, 0.2])
    compared: list[TreeNetwork] = []
    tops: list[int] = []

    def doubt(network: TreeNetwork, rows: Tensor, top: int, fewest: float) -> float:
        compared.append(network)
        tops.append(top)
        return next(doubts)

    monkeypatch.setattr(growth, "doubt", doubt)
    rows, _ = planted()
    passes = {"epochs": 20, "growth_epochs": 8, "tuning_epochs": 0}
    grown = grow(rows, n_clusters=3, n_init=3, least_share=0.0, **passes)
    n_splits = len(compared) // 3
    assert grown.network is compared[-2]
    # Starts share all weights but the split's.
    first, _, last = (network.weights.learned for network in compared[-3:])
    own = {name for name in first if first[name] is not last[name]}
    assert own == {name for name in first if name.startswith(compared[-1].prefixes(tops[-1]))}
    assert all(not first[name].equal(last[name]) for name in own if name.endswith(".weight"))
    # Two passes a start, of which only the best start's are in the curve.
    assert [at for at, _ in grown.split_losses] == [*range(21, 21 + 8 * n_splits)]


@pytest.mark.parametrize("fewest", [0.0, 1e3])
def test_doubt_is_the_entropy_of_decisions_over_that_of_the_mean_decision(fewest: float) -> None:
    network, top = small_network("gaussian", (1,)), 1
    rows = torch.randn((9, 5), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    leaves = network.topology.leaves()
    joint = growth.log_leaves(network, rows).exp().numpy()
    first, second = (joint[:, leaves.index(child)] for child in network.topology.below(top))
    expected = np.inf
    if fewest == 0.0:
        share = first.sum() / (first + second).sum()
        of_mean = -share * np.log(share) - (1 - share) * np.log(1 - share)
        each = [
            -(a + b) * sum(p * np.log(p) for p in (a / (a + b), b / (a + b)))
            for a, b in zip(first, second, strict=True)
        ]
        expected = sum(each) / (first + second).sum() / of_mean
    assert growth.doubt(network, rows, top, fewest) == pytest.approx(expected, rel=1e-9)


def test_splits_that_leave_a_side_empty_are_undone() -> None:
    rows, _ = planted()
    # Each leaf would have to have 66 of 200 points, and the root parts them into 100 and 100.
    short = {"n_clusters": 3, "n_init": 1, "epochs": 20, "growth_epochs": 3}
    grown, grown_on = (grow(rows, least_share=share, **short) for share in (1.0, 0.1))
    assert grown.network.topology.leaves() == [1, 2]
    assert grown.n_failed == {1: growth.TRIES, 2: growth.TRIES}
    names = grown.network.weights.learned
    assert {name.split(".")[1] for name in names if name.startswith("node")} == {"0", "1", "2"}
    assert any(name.startswith("node.1.decoder.") for name in names)
    assert grown_on.n_failed == {}
    assert len(grown_on.split_losses) == 3, "its first split was kept"
    assert len(grown.split_losses) == 3 * 4


def test_no_leaf_lies_deeper_than_allowed() -> None:
    rows, _ = planted()
    grown = grow(rows, n_clusters=8, max_depth=1, epochs=2, tuning_epochs=1)
    assert grown.network.topology.leaves() == [1, 2]
    assert grown.n_failed == {}


def test_leaves_with_few_points_are_not_split() -> None:
    rows, _ = planted(0, 6)
    grown = grow(rows, n_clusters=6, epochs=40, growth_epochs=5, tuning_epochs=1, least_share=0.0)
    sizes = leaf_sizes(grown.network, rows)
    assert sizes.sum() == 6
    assert len(sizes) < 6


def test_no_passes_at_all_give_a_tree() -> None:
    rows, _ = planted()
    grown = grow(rows, epochs=0, growth_epochs=0, tuning_epochs=0)
    assert grown.losses == grown.split_losses == []
    assert leaf_sizes(grown.network, rows).min() > 0


def test_reconstruction_losses_are_those_written_out() -> None:
    network = small_network("gaussian", (1,))
    rows = torch.randn((5, 5), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    literal, expected = Literal(network), np.zeros(3)
    paths = sorted(literal.paths(), key=lambda path: path[-1])
    for x in rows.numpy():
        levels = literal.units(x)
        for place, path in enumerate(paths):
            z = literal.view(0, levels[0])[0]
            for depth, node in enumerate(path[1:], start=1):
                z = literal.posterior(node, levels[depth], z)[0]
            probability = np.exp(literal.log_steps("router", path, levels))
            expected[place] -= probability * literal.log_data(path[-1], x, z)
    np.testing.assert_allclose(reconstruction_losses(network, rows), expected, rtol=1e-9)
