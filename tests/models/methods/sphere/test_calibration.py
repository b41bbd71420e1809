"""Gibbs sampling draws from the posterior, and the calibration test detects errors."""

from __future__ import annotations

import numpy as np
import pytest

from bench.calibration import SMALL, WORLDS, priors
from bench.calibration.coverage import judged
from bench.calibration.ranks import Maker, calibrated, chi_squared, envelope, sampler
from bench.calibration.slips import Literal, slips
from bench.calibration.worlds import Plan, World
from models.inputs.data import Data
from models.methods.sphere.mixture.passes import Passes
from models.methods.sphere.mixture.rows import UnitRows
from models.numerics import sphere

WORLD, SHORT = SMALL

LEVEL = 0.01
"""One set of right samplers in a hundred would fail; seeds are fixed, so none does by chance."""


def least(world: World, plan: Plan, n_seeds: int, maker: Maker, n_bins: int) -> float:
    """The least p over statistics and tests, times their number."""
    result = calibrated(world, plan, n_seeds, maker, n_bins)
    assert len(result) == 16
    # Draws are far enough apart to count as independent.
    assert maker is not sampler or max(one.lag for one in result) < 0.2
    return 2 * len(result) * min(one.least for one in result)


def test_ranks_are_flat() -> None:
    assert least(WORLD, SHORT, 40, sampler, 5) > LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("slip", ["sigma of log kappa halved", "walk without kappa' / kappa"])
def test_a_slip_shows(slip: str) -> None:
    assert least(WORLD, SHORT, 24, slips(WORLD.priors)[slip], 5) < LEVEL


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("what", WORLDS)
def test_ranks_are_flat_over_200_seeds(what: str) -> None:
    world, plan = WORLDS[what]
    assert least(world, plan, 200, sampler, 8) > LEVEL


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("slip", slips(WORLD.priors))
def test_every_slip_shows_over_200_seeds(slip: str) -> None:
    assert least(WORLD, SHORT, 200, slips(WORLD.priors)[slip], 5) < 1e-3


def test_a_sweep_draws_what_the_formula_says() -> None:
    """Row by row with the same uniform numbers, all sums computed anew."""
    world = World(40, 4, priors(5, 0.8, 3.0, 12.0, 0.6))
    truth, rows = world.drawn(np.random.default_rng(0))
    counted = (np.arange(40) % 9 > 0).astype(float)
    with Passes(UnitRows.of(Data({"features": rows}))) as passes:
        right = sampler(passes, counted, world, SHORT)
        literal = Literal(**{name: getattr(right, name) for name in right.__dataclass_fields__})
        own, expected = truth.cluster.copy(), truth.cluster.copy()
        for turn in range(20):
            right._assign(own, truth.log_kappa, world.priors, np.random.default_rng(turn))
            literal._assign(expected, truth.log_kappa, world.priors, np.random.default_rng(turn))
            assert own.tolist() == expected.tolist()
    assert (own != truth.cluster).sum() > 5
    assert (own == truth.cluster)[counted == 0].all()


def test_p_of_flat_and_of_bent_ranks() -> None:
    flat = np.repeat(np.arange(20), 10)
    assert chi_squared(flat, 19, 5) == pytest.approx(1.0)
    assert envelope(flat, 19) > 0.99
    # Too wide a posterior has true values in its middle, too narrow a one at its ends.
    rng = np.random.default_rng(0)
    for a, b in ((2.0, 2.0), (0.5, 0.5), (1.5, 1.0)):
        bent = (20 * rng.beta(a, b, size=200)).astype(np.int64)
        assert chi_squared(bent, 19, 5) < 1e-3
        assert envelope(bent, 19) < 1e-3


def test_uniform_ranks_have_uniform_p() -> None:
    rng = np.random.default_rng(1)
    result = np.array([envelope(rng.integers(20, size=100), 19) for _ in range(500)])
    assert [(result < level).mean() for level in (0.05, 0.2, 0.5)] == pytest.approx(
        [0.05, 0.2, 0.5], abs=0.07
    )


def test_posteriors_of_concentrations_are_right_but_for_the_bound() -> None:
    """Two clusters at ease: the exact form covers; the bound gives (D - 2) r / (1 - r^2) for kappa,
    where it is about (D - r^2) r / (1 - r^2)."""
    world = World(60, 2, priors(6, 5.0, 1.0, 40.0, 0.4))
    exact = judged(world, "variational-sampling", range(30), 1)["concentrations"]
    bound = judged(world, "variational-bounding", range(30), 1)["concentrations"]
    assert abs(exact.bias) < 4 * exact.bias_se
    assert exact.ratio == pytest.approx(1.0, abs=0.3)
    assert exact.coverage > 0.88
    r = sphere.ratio(6, 40.0)
    assert bound.bias - exact.bias == pytest.approx(np.log(4 / (6 - r**2)), abs=0.04)
    assert bound.coverage < 0.8


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_gibbs_covers_where_clusters_overlap() -> None:
    world = World(100, 3, priors(6, 5.0, 1.0, 12.0, 0.4))
    exact = judged(world, "gibbs", range(40), 2)
    mean_field = judged(world, "variational-sampling", range(40), 2)
    for name in ("concentrations", "weights", "means"):
        assert exact[name].coverage > 0.88
        assert exact[name].coverage > mean_field[name].coverage
        assert abs(exact[name].bias) < 4 * exact[name].bias_se
