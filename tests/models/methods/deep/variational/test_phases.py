"""Training in phases: what a split trains and what it leaves alone, weights of divergences."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

from models.errors import UsageError
from models.methods.deep.variational import phases
from models.methods.deep.variational.network import (
    Architecture,
    TreeNetwork,
    score,
    units,
)
from models.methods.deep.variational.phases import (
    Phase,
    Schedule,
    log_leaves,
    mean_terms,
    points_of_leaves,
    reach,
)
from tests.models.methods.deep.variational.literal_kit import Literal, small_network
from tests.models.tensors_kit import assert_close

pytestmark = pytest.mark.needs("torch")

STEADY = Schedule(3, 1.0, 1.0, 0)


def rows_of(n_rows: int = 50) -> Tensor:
    return torch.rand((n_rows, 5), generator=torch.Generator().manual_seed(1))


def grown(rows: Tensor) -> TreeNetwork:
    """0 -> (1 -> (3, 4), 2), the split of 1 being new."""
    generator = torch.Generator().manual_seed(0)
    network = TreeNetwork.stump(Architecture(5, (6, 4), 2, 3, "bernoulli"), generator)
    phase = Phase(network, rows, None, STEADY, 10, 0.01)
    for epoch in range(3):
        phase.epoch(epoch, generator, lambda share: None)
    network.topology = network.topology.split(1)
    network.add_children(1, generator)
    return network


def snapshot(network: TreeNetwork) -> dict[str, np.ndarray]:
    weights = network.weights
    return {
        f"{kind} {name}": tensor.clone().numpy()
        for kind, tensors in (("learned", weights.learned), ("moving", weights.moving))
        for name, tensor in tensors.items()
    }


@pytest.mark.parametrize("cached", [1 << 26, 0])
def test_a_split_trains_its_own_networks_alone(
    cached: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "_CACHED", cached)
    rows = rows_of()
    network = grown(rows)
    before = snapshot(network)
    Phase(network, rows, 1, STEADY, 10, 0.01).epoch(
        0, torch.Generator().manual_seed(0), lambda share: None
    )
    after = snapshot(network)
    own = ("node.1.router.", "node.1.prior_router.", "node.3.", "node.4.")
    assert before.keys() == after.keys()
    for name in before:
        is_own = name.partition(" ")[2].startswith(own)
        assert (before[name] != after[name]).any() == is_own, name


def test_kept_units_and_computed_ones_train_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of()
    losses = []
    for cached in (1 << 26, 0):
        monkeypatch.setattr(phases, "_CACHED", cached)
        phase = Phase(grown(rows), rows, 1, STEADY, 10, 0.01)
        generator = torch.Generator().manual_seed(0)
        losses.append([phase.epoch(epoch, generator, lambda share: None) for epoch in range(3)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_all_is_trained_where_no_split_is() -> None:
    rows = rows_of()
    network = grown(rows)
    network.weights.remove(("node.1.decoder.",))
    before = snapshot(network)
    Phase(network, rows, None, STEADY, 10, 0.01).epoch(
        0, torch.Generator().manual_seed(0), lambda share: None
    )
    assert all((before[name] != each).any() for name, each in snapshot(network).items())


def test_a_split_is_trained_on_the_rows_that_reach_it() -> None:
    rows = rows_of()
    network = grown(rows)
    levels = units(network.weights, network.architecture, rows, False)
    odds = score(network.weights, 0, levels[0], False)
    # Decisions become certain, and half of the rows go either way.
    learned = network.weights.learned
    learned["node.0.router.1.offset"] -= odds.median()
    for name in ("weight", "offset"):
        learned[f"node.0.router.1.{name}"] *= 1e4
    above = reach(network, rows, 1)
    phase = Phase(network, rows, 1, STEADY, 10, 0.01)
    assert phase.n_rows == int((above >= 0.5).sum())
    assert 2 < phase.n_rows < 48
    learned["node.0.router.1.offset"] -= 1e9
    assert reach(network, rows, 1).max() == 0.0
    assert Phase(network, rows, 1, STEADY, 10, 0.01).n_rows == 2, "a batch needs two rows"


def test_steps_shorten_from_pass_to_pass() -> None:
    rows = rows_of(10)
    schedule, moves = Schedule(10, 1.0, 1.0, 0), []
    for epoch in (0, 5, 9):
        network = grown(rows_of())
        before = snapshot(network)
        # One batch: the first step of Adam moves each weight by the rate, whatever its gradient.
        phase = Phase(network, rows, 1, schedule, 10, 0.01)
        phase.epoch(epoch, torch.Generator().manual_seed(0), lambda share: None)
        after = snapshot(network)
        learned = [name for name in before if name.startswith("learned")]
        moves.append(max(float(np.abs(after[name] - before[name]).max()) for name in learned))
    assert moves == pytest.approx([0.01, 0.005, 0.01 * (1.0 - np.cos(0.1 * np.pi)) / 2], rel=1e-3)


@pytest.mark.parametrize("top", [None, 1])
def test_steps_are_those_of_adam_down_differences_of_the_bound(top: int | None) -> None:
    """Two steps of one batch each; the slope of the bound is measured weight by weight."""
    rows = rows_of(40)
    network = grown(rows)
    if top is None:
        network.weights.remove(("node.1.decoder.",))
    rate, reach_of_step = 0.01, 3e-3

    def noise(epoch: int) -> torch.Generator:
        return torch.Generator().manual_seed(epoch)

    def bound(epoch: int, name: str, place: int, added: float) -> float:
        other = copy.deepcopy(network)
        other.weights.learned[name].view(-1)[place] += added
        return Phase(other, rows, top, STEADY, 40, 0.0).epoch(0, noise(epoch), lambda share: None)

    phase = Phase(network, rows, top, STEADY, 40, rate)
    learned = network.weights.learned
    rng = np.random.default_rng(0)
    chosen = [
        (name, int(rng.integers(learned[name].numel())))
        for name in network.trained_names(top)
        if name.endswith((".weight", ".offset"))
    ][:: 3 if top is None else 1]
    mean, square = dict.fromkeys(chosen, 0.0), dict.fromkeys(chosen, 0.0)
    n_seen = 0
    for epoch in range(2):
        before = {one: float(learned[one[0]].view(-1)[one[1]]) for one in chosen}
        slopes = {
            one: (bound(epoch, *one, reach_of_step) - bound(epoch, *one, -reach_of_step))
            / (2 * reach_of_step)
            for one in chosen
        }
        phase.epoch(epoch, noise(epoch), lambda share: None)
        for one, slope in slopes.items():
            mean[one] = 0.9 * mean[one] + 0.1 * slope
            square[one] = 0.999 * square[one] + 0.001 * slope**2
            if abs(slope) < 0.03:
                continue
            n_seen += 1
            step = mean[one] / (1 - 0.9 ** (epoch + 1))
            step /= np.sqrt(square[one] / (1 - 0.999 ** (epoch + 1)))
            moved = float(learned[one[0]].view(-1)[one[1]]) - before[one]
            share = (1 + np.cos(np.pi * epoch / 3)) / 2
            assert moved == pytest.approx(-share * rate * step, abs=0.1 * share * rate), one
    assert n_seen > 4


def test_the_weight_of_divergences_rises_and_stays() -> None:
    schedule = Schedule(10, 0.1, 0.5, 4)
    weights = [schedule.kl_weight(epoch) for epoch in range(10)]
    assert weights == pytest.approx([0.1, 0.2, 0.3, 0.4, *[0.5] * 6])
    assert Schedule(10, 0.1, 0.5, 0).kl_weight(0) == 0.5


def test_a_heavier_weight_pulls_embeddings_to_their_prior() -> None:
    rows = rows_of(100)
    informed = []
    for weight in (0.0, 0.1, 1.0):
        generator = torch.Generator().manual_seed(0)
        network = TreeNetwork.stump(Architecture(5, (6,), 2, 1, "gaussian"), generator)
        phase = Phase(network, rows, None, Schedule(15, weight, weight, 0), 20, 0.04)
        for epoch in range(15):
            phase.epoch(epoch, generator, lambda share: None)
        informed.append(mean_terms(network, rows, generator)["kl_root"])
    assert informed[0] > 2 * informed[1] > 4 * informed[2]


def test_the_posterior_of_leaves_is_the_product_of_decisions() -> None:
    network = small_network("gaussian", (1, 2, 3))
    rows = torch.randn((4, 5), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    logits, literal = log_leaves(network, rows), Literal(network)
    for row, x in enumerate(rows.numpy()):
        levels = literal.units(x)
        paths = sorted(literal.paths(), key=lambda path: path[-1])
        expected = [literal.log_steps("router", path, levels) for path in paths]
        assert logits[row].tolist() == pytest.approx(expected, rel=1e-9)
    assert (points_of_leaves(network, rows) == logits.argmax(dim=1).numpy()).all()
    # 0 -> (1 -> (3 -> (7, 8), 4), 2 -> (5, 6))
    assert_close(reach(network, rows, 3), logits[:, [3, 4]].exp().sum(dim=1))


def test_the_metrics_add_up_to_the_bound() -> None:
    network = small_network("bernoulli", (1,))
    rows = rows_of(30).double()
    terms = mean_terms(network, rows, torch.Generator().manual_seed(0))
    assert terms["elbo"] == pytest.approx(
        terms["reconstruction"] - terms["kl_root"] - terms["kl_nodes"] - terms["kl_decisions"]
    )
    assert min(terms[name] for name in ("kl_root", "kl_nodes", "kl_decisions")) > 0


def test_divergence_is_refused_with_advice() -> None:
    rows = rows_of()
    network = grown(rows)
    network.weights.remove(("node.1.decoder.",))
    phase = Phase(network, rows, None, STEADY, 10, 1e30)
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(UsageError, match="Lower 'learning_rate'") as caught:
        phase.epoch(0, generator, lambda share: None)
    assert caught.value.code == "diverged"
    assert caught.value.where == {"parameter": "learning_rate"}
