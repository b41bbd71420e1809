"""Correctness of the samplers of the von Mises-Fisher family, and error of its variational bounds.

First, simulation-based calibration of Gibbs sampling (`.ranks`): for each statistic the p-values
of uniform ranks, by chi-squared and by the envelope of their distribution, and the mean lag-1
autocorrelation of the draws. Then the same for samplers with planted errors, which the tests must
detect (`.slips`). Last, bias, spread and coverage of the variational posteriors (`.coverage`), with
Gibbs as the control, for separate and for overlapping clusters.
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
"""Numbers of seeds for ranks and for posteriors."""


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
"""Few rows, so that uncertainty is large and chains mix."""

SMALL = World(16, 3, priors(3, 1.5, 6.0, 8.0, 1.0)), Plan(20, 19, 3)
"""So few rows that the priors matter, and that a chain mixes within a few sweeps."""

_FEATURES: dict[Size, tuple[int, ...]] = {
    "quick": (3, 50),
    "default": (3, 10, 50, 200),
    "full": (3, 10, 50, 200),
}
_MEDIANS = {3: (200.0, 10.0), 10: (25.0, 7.0), 50: (35.0, 15.0), 200: (60.0, 27.0)}
"""Medians of kappa: about 1 row in 100 is ambiguous for separate clusters, 1 in 6 otherwise."""

_RUNS: dict[How, int] = {"variational-sampling": 5, "variational-bounding": 5, "gibbs": 2}


def table(report: Report, size: Size) -> None:
    n_seeds = _SEEDS[size]
    for what, (world, plan) in list(WORLDS.items())[: 1 if size == "quick" else None]:
        _ranks(report, what, world, plan, n_seeds)
    world, plan = SMALL
    makers: dict[str, Maker] = {"none": sampler, **slips(world.priors)}
    for slip, maker in makers.items():
        calibrations = calibrated(world, plan, min(n_seeds, 200), maker, 5)
        worst = min(calibrations, key=lambda calibration: calibration.least)
        report.row(
            "calibration: planted slips",
            what=slip,
            least_p=f"{worst.least:.1e}",
            times_tests=f"{min(1.0, 2 * len(calibrations) * worst.least):.1e}",
            seeds=min(n_seeds, 200),
            of=worst.statistic,
        )
    report.heading("bias and coverage of posteriors")
    for n_features in _FEATURES[size]:
        for apart, median in zip((True, False), _MEDIANS[n_features], strict=True):
            _coverage(report, n_features, apart, median, _FITS[size])


def _ranks(report: Report, what: str, world: World, plan: Plan, n_seeds: int) -> None:
    calibrations = calibrated(world, plan, n_seeds)
    for calibration in calibrations:
        report.row(
            "calibration",
            what=f"{what}: {calibration.statistic}",
            chi2_p=calibration.chi_squared,
            ecdf_p=calibration.envelope,
            lag_1=calibration.lag,
            seeds=n_seeds,
        )
    least = min(calibration.least for calibration in calibrations)
    report.note(
        "calibration",
        f"{what}: the least p is {least:.3g}, times the {2 * len(calibrations)} tests of it "
        f"{min(1.0, 2 * least * len(calibrations)):.3g}.",
    )


def _coverage(report: Report, n_features: int, apart: bool, median: float, n_fits: int) -> None:
    world = World(400, 4, priors(n_features, 5.0, 1.0, median, 0.4))
    seeds = range(n_fits)
    mixed = mixed_up(world, seeds)
    for how, n_init in _RUNS.items():
        judgements = judged(world, how, seeds, n_init)
        for name, judgement in judgements.items():
            row: dict[str, Any] = {
                "what": f"D = {n_features}, {'apart' if apart else 'overlapping'}: {name}",
                "how": f"{how:20}",
                "bias": f"{judgement.bias:+.3f} +-{judgement.bias_se:.3f}",
                "sd_ratio": f"{judgement.ratio:.2f}",
                "coverage": f"{judgement.coverage:.3f}",
                "mixed_up": f"{mixed:.3f}",
                "fits": n_fits,
            }
            report.row("calibration: posteriors", **row)
