"""Whether the samplers of the von Mises-Fisher family are right, and how wrong the bounds' forms.

First simulation-based calibration of Gibbs sampling (`.ranks`): of each statistic p of its ranks
being uniform, by chi-squared and by the envelope of their distribution, and the mean correlation of
a draw with the next. Then the same of samplers with a slip planted, which is to be seen (`.slips`).
Last, bias, spread and coverage of the variational posteriors (`.coverage`), with Gibbs as the
control, for clusters well apart and overlapping.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import Size
from bench.calibration.coverage import How, judged, mixed_up
from bench.calibration.ranks import Maker, calibrated, sampler
from bench.calibration.slips import slips
from bench.calibration.worlds import Plan, World
from bench.report import Report
from models.methods.sphere.bayes.priors import Priors

_SEEDS: dict[Size, int] = {"quick": 24, "default": 200, "full": 1000}
_FITS: dict[Size, int] = {"quick": 4, "default": 40, "full": 200}
"""Seeds, of ranks and of posteriors."""


def priors(n_features: int, alpha: float, c0: float, median: float, sigma: float) -> Priors:
    return Priors(alpha, np.eye(n_features)[0], c0, float(np.log(median)), sigma)


WORLDS: dict[str, tuple[World, Plan]] = {
    "20 x 2 rows, K = 2": (World(20, 2, priors(2, 1.0, 1.0, 5.0, 1.0)), Plan(150, 39, 8)),
    "24 x 3 rows, K = 3": (World(24, 3, priors(3, 1.5, 2.0, 8.0, 0.7)), Plan(150, 39, 8)),
    "60 x 10 rows, K = 4": (World(60, 4, priors(10, 1.5, 2.0, 20.0, 0.7)), Plan(200, 39, 10)),
    "80 x 50 rows, K = 3, sparse": (
        World(80, 3, priors(50, 2.0, 5.0, 60.0, 0.5), sparse=True, n_out=10),
        Plan(200, 39, 8),
    ),
    "24 x 3 rows, K = 3, one kappa": (
        World(24, 3, priors(3, 1.5, 2.0, 8.0, 0.7), spread="shared"),
        Plan(150, 39, 8),
    ),
    "24 x 3 rows, K to 6": (
        World(24, 6, priors(3, 1.0, 1.0, 8.0, 0.7), process=True),
        Plan(150, 39, 10),
    ),
    "30 x 10 rows, K to 5, one kappa, sparse": (
        World(30, 5, priors(10, 1.0, 2.0, 25.0, 0.5), True, 5, "shared", True),
        Plan(150, 39, 10),
    ),
}
"""Few rows, so that much is uncertain and chains mix."""

SMALL = World(16, 3, priors(3, 1.5, 6.0, 8.0, 1.0)), Plan(20, 19, 3)
"""So little is certain of so few rows that priors tell, and a chain forgets in a few sweeps."""

_FEATURES: dict[Size, tuple[int, ...]] = {
    "quick": (3, 50),
    "default": (3, 10, 50, 200),
    "full": (3, 10, 50, 200),
}
_MEDIANS = {3: (200.0, 10.0), 10: (25.0, 7.0), 50: (35.0, 15.0), 200: (60.0, 27.0)}
"""Of kappa, for clusters apart, about one row in 100 beyond telling, and overlapping, one in 6."""

_RUNS: dict[How, int] = {"variational-sampling": 5, "variational-bounding": 5, "gibbs": 2}


def table(report: Report, size: Size) -> None:
    n_seeds = _SEEDS[size]
    for what, (world, plan) in list(WORLDS.items())[: 1 if size == "quick" else None]:
        _ranks(report, what, world, plan, n_seeds)
    world, plan = SMALL
    makers: dict[str, Maker] = {"none": sampler, **slips(world.priors)}
    for slip, maker in makers.items():
        found = calibrated(world, plan, min(n_seeds, 200), maker, 5)
        worst = min(found, key=lambda one: one.least)
        report.row(
            "calibration: planted slips",
            what=slip,
            least_p=f"{worst.least:.1e}",
            times_tests=f"{min(1.0, 2 * len(found) * worst.least):.1e}",
            seeds=min(n_seeds, 200),
            of=worst.statistic,
        )
    report.heading("bias and coverage of posteriors")
    for n_features in _FEATURES[size]:
        for apart, median in zip((True, False), _MEDIANS[n_features], strict=True):
            _coverage(report, n_features, apart, median, _FITS[size])


def _ranks(report: Report, what: str, world: World, plan: Plan, n_seeds: int) -> None:
    found = calibrated(world, plan, n_seeds)
    for one in found:
        report.row(
            "calibration",
            what=f"{what}: {one.statistic}",
            chi2_p=one.chi_squared,
            ecdf_p=one.envelope,
            lag_1=one.lag,
            seeds=n_seeds,
        )
    least = min(one.least for one in found)
    report.note(
        "calibration",
        f"{what}: the least p is {least:.3g}, times the {2 * len(found)} tests of it "
        f"{min(1.0, 2 * least * len(found)):.3g}.",
    )


def _coverage(report: Report, n_features: int, apart: bool, median: float, n_fits: int) -> None:
    world = World(400, 4, priors(n_features, 5.0, 1.0, median, 0.4))
    seeds = range(n_fits)
    mixed = mixed_up(world, seeds)
    for how, n_init in _RUNS.items():
        found = judged(world, how, seeds, n_init)
        for name, one in found.items():
            row: dict[str, Any] = {
                "what": f"D = {n_features}, {'apart' if apart else 'overlapping'}: {name}",
                "how": f"{how:20}",
                "bias": f"{one.bias:+.3f} +-{one.bias_se:.3f}",
                "sd_ratio": f"{one.ratio:.2f}",
                "coverage": f"{one.coverage:.3f}",
                "mixed_up": f"{mixed:.3f}",
                "fits": n_fits,
            }
            report.row("calibration: posteriors", **row)
