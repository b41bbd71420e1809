"""Training times in relation to liblinear and scikit-learn, at the same distance from the optimum.

ImCLEF07A with C = 1, CPU seconds on one thread, the least of three runs of all ways in turn. A
rival's tolerance is the loosest of a row that brings its objective within the wanted distance of
the minimum; `off` is that distance, and of our methods the one that they prove. `times` is our time
over the rival's. Flat logistic regression by scikit-learn is one class against the rest. With its
defaults liblinear's SVMs end at their limit of iterations, at 0.7% above the minimum.

The last rows are the sweeps of `rmlr` by the log-concavity bound until its objective on glass is
within 1e-4 of the minimum.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench import Size
from bench.classifiers.sets import NAMES, Labelled, at_hand
from bench.measure import least_cpu_s
from bench.report import Report
from bench.rmlr import standardised
from models.arrays import Float, Int
from models.inputs.data import Data
from models.registry import method

REPEATS: dict[Size, int] = {"quick": 1, "default": 3, "full": 3}
HINGE, LOGISTIC = 1e-3, 1e-6
"""Wanted distances from the optimum, as shares of the objective."""

TOLERANCES = tuple(10.0 ** (-power / 2) for power in range(15))
"""From 1 down to 1e-7."""

SWEEPS_TO = 1e-4
MOST_SWEEPS = 300


def table(report: Report, size: Size) -> None:
    for labelled in at_hand(report, NAMES[:1]):
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _against_liblinear(report, labelled, REPEATS[size])
            _against_logistic(report, labelled, REPEATS[size])
    glass = standardised("glass")
    if glass is None:
        report.note(
            "classifiers", "Left out: glass is not in the folder that UMBEL_TEST_DATA names."
        )
    else:
        _sweeps(report, glass[0][:, :-1], glass[1])


class _Flat:
    """Linear classifiers of scikit-learn, each class against the rest, with C = 1."""

    def __init__(
        self, labelled: Labelled, method_id: str, loss: Callable[[Float], Float], wanted: float
    ) -> None:
        """method_id : our method of the same objective. loss : of margins. wanted : the distance
        from the optimum."""
        features = labelled.train.features
        self._design = np.column_stack([features, np.ones(len(features))])
        classes, code = np.unique(labelled.train.labels, return_inverse=True)
        self._signs = np.where(code[:, None] == np.arange(classes.size), 1.0, -1.0)
        used = method(method_id)
        fitted = used.fit(labelled.data(with_hierarchy=False), used.Params(tol=wanted / 100))
        self._loss, self._wanted = loss, wanted
        self._least = fitted.metrics["objective"]

    def off(self, weights: Float) -> float:
        """The objective's distance from the minimum, as its share."""
        losses = self._loss(self._signs * (self._design @ weights.T))
        return (0.5 * float((weights**2).sum()) + float(losses.sum())) / self._least - 1.0

    def fit(self, estimator: Any) -> Float:
        """(n_classes, n_columns) the weights, `estimator` fitted to each class."""
        return np.concatenate([estimator.fit(self._design, sign).coef_ for sign in self._signs.T])

    def loosest(self, make: Callable[[float], Any]) -> tuple[Any, float]:
        """The estimator of the loosest tolerance that comes as near as wanted, and its distance."""
        for tolerance in TOLERANCES:
            estimator = make(tolerance)
            off = self.off(self.fit(estimator))
            if off <= self._wanted:
                break
        return estimator, off


@dataclass(frozen=True, slots=True)
class _Way:
    """off : distance from the optimum at its end; None if it is not known."""

    run: Callable[[], Any]
    off: float | None


def _own(labelled: Labelled, method_id: str, proof: str | None = None, **params: Any) -> _Way:
    """One of our methods. proof : its metric that bounds the distance from the optimum."""
    used = method(method_id)
    data, checked = labelled.data(with_hierarchy=True), used.Params(**params)
    metrics = used.fit(data, checked).metrics
    off = None if proof is None else metrics[proof] / metrics["objective"]
    return _Way(lambda: used.fit(data, checked), off)


def _against_liblinear(report: Report, labelled: Labelled, repeats: int) -> None:
    from sklearn.svm import LinearSVC

    flat = _Flat(labelled, "bsvm", lambda margin: np.maximum(0.0, 1.0 - margin), HINGE)
    near, off = flat.loosest(
        lambda tolerance: LinearSVC(
            loss="hinge", fit_intercept=False, tol=tolerance, max_iter=100_000
        )
    )
    default = LinearSVC(loss="hinge", fit_intercept=False)
    ways = {
        "rr-svm": _own(labelled, "rr-svm", "gap", tol=HINGE),
        "bsvm": _own(labelled, "bsvm", "gap", tol=HINGE),
        f"liblinear, tol {near.tol:.2g}": _Way(lambda: flat.fit(near), off),
        "liblinear, its defaults": _Way(lambda: flat.fit(default), flat.off(flat.fit(default))),
    }
    _rows(report, ways, repeats, {"rr-svm": 2.0, "bsvm": None})


def _against_logistic(report: Report, labelled: Labelled, repeats: int) -> None:
    from sklearn.linear_model import LogisticRegression

    flat = _Flat(labelled, "blr", lambda margin: np.logaddexp(0.0, -margin), LOGISTIC)
    ways = {
        "rr-lr": _own(labelled, "rr-lr", "bound", tol=LOGISTIC),
        "hblr": _own(labelled, "hblr"),
        "blr": _own(labelled, "blr", "bound", tol=LOGISTIC),
    }
    for solver in ("liblinear", "lbfgs", "newton-cholesky"):

        def make(tolerance: float, solver: str = solver) -> Any:
            return LogisticRegression(
                solver=solver, fit_intercept=False, tol=tolerance, max_iter=10_000
            )

        near, off = flat.loosest(make)
        ways[f"{solver}, tol {near.tol:.2g}"] = _Way(partial(flat.fit, near), off)
    _rows(report, ways, repeats, {"rr-lr": 1.5, "hblr": 10.0})


def _rows(
    report: Report, ways: dict[str, _Way], repeats: int, targets: dict[str, float | None]
) -> None:
    """A row for each of our methods, which `targets` names, against each other way."""
    seconds = least_cpu_s({name: way.run for name, way in ways.items()}, repeats)
    for own, target in targets.items():
        for rival in [name for name in ways if name not in targets]:
            report.row(
                "classifiers",
                method=own.ljust(6),
                cpu_s=seconds[own],
                off=ways[own].off,
                rival=rival.ljust(28),
                rival_cpu_s=seconds[rival],
                rival_off=ways[rival].off,
                times=seconds[own] / seconds[rival],
                target=target,
            )


def _sweeps(report: Report, features: Float, code: Int) -> None:
    used = method("rmlr")
    data = Data({"features": features, "labels": code})
    least = used.fit(data, used.Params(bound="lbfgs", tol=1e-10)).metrics["objective"]
    for acceleration in ("none", "centering", "anderson"):
        params = used.Params(
            bound="log-concavity",
            acceleration=acceleration,
            max_iter=MOST_SWEEPS,
            tol=SWEEPS_TO / 100,
        )
        curve = used.fit(data, params).curves["objective"]
        near = [sweep for sweep, value in curve if value / least - 1.0 <= SWEEPS_TO]
        report.row(
            "classifiers",
            method=f"rmlr, log-concavity, acceleration {acceleration}".ljust(46),
            sweeps_to_1e4=near[0] if near else None,
            target=MOST_SWEEPS,
        )
