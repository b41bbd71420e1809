"""What is chosen on held-out rows, against literal versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.special import expit, log_softmax
from sklearn.metrics import f1_score

from models.arrays import Arrays
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import PredictionOptions
from models.methods.classifiers.classes import classifier, validation
from models.methods.classifiers.classes.answers import Link, Scorer
from models.methods.classifiers.classes.cut_offs import CutOff
from models.methods.classifiers.classes.problem import Problem
from models.registry import method
from models.tree import class_paths
from tests.models.methods.classifiers.classes.several_kit import several


def problem(code: np.ndarray, n_classes: int, design: np.ndarray | None = None) -> Problem:
    some = np.zeros((len(code), 1)) if design is None else design
    return Problem(some, np.arange(len(code) + 1), code, n_classes)


def test_folds_spread_each_class_and_never_take_its_only_row() -> None:
    code = np.repeat([0, 1, 2, 3], [20, 7, 2, 1])
    fold = validation.folds(problem(code, 4), 5, np.random.default_rng(0))
    again = validation.folds(problem(code, 4), 5, np.random.default_rng(0))
    assert (fold == again).all()
    assert np.bincount(fold[code == 0], minlength=5).tolist() == [4] * 5
    assert set(np.bincount(fold[code == 1], minlength=5)) == {1, 2}
    assert len(set(fold[code == 2])) == 2
    assert fold[code == 3].tolist() == [validation.ALWAYS]


def test_rows_of_several_classes_go_by_their_rarest() -> None:
    # Ten rows of class 0; five of them are of class 1 too, one of class 2.
    start = np.concatenate([[0], np.cumsum([2] * 5 + [1] * 5)])
    code = np.array([0, 1] * 4 + [0, 2] + [0] * 5)
    some = Problem(np.zeros((10, 1)), start, code, 3)
    fold = validation.folds(some, 2, np.random.default_rng(0))
    assert np.bincount(fold[:4]).tolist() == [2, 2]
    assert fold[4] == validation.ALWAYS


@pytest.mark.parametrize("one_each", [True, False])
def test_tallies_of_parts_add_up_to_the_literal_counts(one_each: bool) -> None:
    rng = np.random.default_rng(1)
    design, weights = rng.normal(size=(50, 3)), rng.normal(size=(4, 3))
    score = design @ weights.T
    has = np.eye(4, dtype=bool)[rng.integers(4, size=50)]
    if not one_each:
        has |= rng.random(has.shape) < 0.3
    start = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    whole = Problem(design, start, np.nonzero(has)[1], 4)
    halves = [np.arange(50) < 20, np.arange(50) >= 20]
    total = validation.added(
        [
            validation.tally(whole.part(rows), Scorer(weights, one_each), "logistic", one_each)
            for rows in halves
        ]
    )
    gets = np.eye(4, dtype=bool)[score.argmax(axis=1)] if one_each else score >= 0
    assert total["right"].tolist() == (has & gets).sum(axis=0).tolist()
    for criterion, average in (("micro_f1", "micro"), ("macro_f1", "macro")):
        expected = f1_score(has, gets, average=average)
        assert validation.f1(total, criterion) == pytest.approx(expected)


def loss(score: np.ndarray, code: np.ndarray, link: str, slope: float) -> float:
    scaled = slope * score
    if link == "logistic":
        scaled = np.log(expit(scaled))
    return -float(log_softmax(scaled, axis=1)[np.arange(len(code)), code].sum())


@pytest.mark.parametrize("link", ["softmax", "logistic"])
def test_the_slope_is_the_most_likely(link: Any) -> None:
    rng = np.random.default_rng(2)
    design = rng.normal(size=(400, 3))
    weights = rng.normal(size=(5, 3))
    score = design @ weights.T
    code = (3.0 * score + rng.gumbel(size=score.shape)).argmax(axis=1)
    total = validation.tally(problem(code, 5, design), Scorer(weights, True), link, True)
    slope = validation.calibration(total).slope
    least = loss(score, code, link, slope)
    assert all(least <= loss(score, code, link, slope * factor) for factor in (0.9, 1.1))
    if link == "softmax":
        assert slope == pytest.approx(3.0, rel=0.2)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_best_cuts_make_fewest_errors(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    score = rng.integers(-3, 4, size=(8, n_classes)) + rng.normal(size=(8, n_classes)) / 100
    has = rng.random(score.shape) < 0.4
    for values, own, cut in zip(score, has, validation.best_cuts(score, has), strict=True):
        tried = [*values, values.max() + 1.0]
        errors = [int(((values >= threshold) != own).sum()) for threshold in tried]
        assert int(((values >= cut) != own).sum()) == min(errors)


def fit(values: dict[str, Any], name: str = "rr-lr", **params: Any) -> Any:
    used = method(name)
    return used.fit(Data(values), used.Params(**params))


HIERARCHY = class_paths.read("a/0\na/1\nb/2\nb/3")


def noisy(n_rows: int, seed: int) -> dict[str, Any]:
    """Four classes in eight noisy dimensions."""
    centers = np.random.default_rng(0).normal(size=(4, 8))
    rng = np.random.default_rng(seed)
    code = rng.integers(4, size=n_rows)
    features = centers[code] + 1.2 * rng.normal(size=(n_rows, 8))
    return {"features": features, "labels": code, "hierarchy": HIERARCHY}


@pytest.mark.parametrize("name", ["rr-lr", "rr-svm", "mlr", "rmlr"])
def test_auto_takes_the_c_with_the_best_f1_on_the_folds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "models.methods.classifiers.classes.classifier.CANDIDATES", (1e-3, 1e-1, 10.0)
    )
    data = noisy(80, 1)
    seen: list[float] = []
    used = method(name)
    chosen = used.fit(
        Data(data),
        used.Params(C="auto", n_folds=3),
        lambda fraction, stage, message="": seen.append(fraction),
    )
    assert seen == sorted(seen)
    curve = dict(chosen.curves["validation_micro_f1"])
    assert len(curve) == 3
    code = data["labels"]
    fold = validation.folds(problem(code, 4), 3, np.random.default_rng(0))
    for place, C in enumerate((1e-3, 1e-1, 10.0), 1):
        right = 0
        for number in range(3):
            part = {**data, "features": data["features"][fold != number]}
            own = Data({**part, "labels": code[fold != number]})
            fitted = used.fit(own, used._hurried(used.Params(C=C)))
            new = Data({"features": data["features"][fold == number]})
            answers = used.predict(fitted.model, fitted.tree, new).classes
            right += int((answers.code == code[fold == number]).sum())
        assert curve[place] == pytest.approx(right / 80)
    assert chosen.metrics["C"] == (1e-3, 1e-1, 10.0)[int(np.argmax(list(curve.values())))]
    assert chosen.metrics["validation_micro_f1"] == max(curve.values())
    same = fit(data, name, C=chosen.metrics["C"])
    np.testing.assert_array_equal(same.model.arrays["weights"], chosen.model.arrays["weights"])


def log_loss(name: str, fitted: Any, rows: dict[str, Any]) -> float:
    answers = (
        method(name)
        .predict(
            fitted.model,
            fitted.tree,
            Data({"features": rows["features"]}),
            PredictionOptions(every=True),
        )
        .classes
    )
    chance = answers.every[np.arange(len(rows["labels"])), rows["labels"]]
    return float(-np.log(chance).mean())


def test_calibration_makes_probabilities_of_new_rows_more_likely() -> None:
    train, test = noisy(200, 1), noisy(500, 2)
    raw = fit(train, "rr-svm", C=0.002)
    calibrated = fit(train, "rr-svm", C=0.002, calibrate=True)
    np.testing.assert_array_equal(raw.model.arrays["weights"], calibrated.model.arrays["weights"])
    assert log_loss("rr-svm", calibrated, test) < 0.97 * log_loss("rr-svm", raw, test)


def test_cut_offs_of_several_labels_beat_one_half() -> None:
    has, features = several(300, 1)
    labels = LabelSets(
        np.concatenate([[0], np.cumsum(has.sum(axis=1))]),
        np.nonzero(has)[1],
        [str(number) for number in range(12)],
        np.zeros(300, dtype=bool),
    )
    flat = class_paths.read("\n".join(str(number) for number in range(12)))
    data = {"features": features, "labels": labels, "hierarchy": flat}
    true, new = several(500, 2)
    f1 = []
    for calibrate in (False, True):
        fitted = fit(data, C=0.02, calibrate=calibrate)
        options = PredictionOptions(threshold=None if calibrate else 0.5)
        rows = Data({"features": new})
        answers = method("rr-lr").predict(fitted.model, fitted.tree, rows, options).classes
        gets = np.zeros_like(true)
        row = np.repeat(np.arange(500), np.diff(answers.start))
        gets[row, np.array([int(name) for name in answers.name])[answers.code]] = True
        f1.append(f1_score(true, gets, average="micro"))
    assert f1[1] > f1[0] + 0.05


@pytest.mark.parametrize("C", ["3", True, 0.0, -1.0, "best", None])
def test_c_is_a_positive_number_or_auto(C: Any) -> None:
    with pytest.raises(ValidationError):
        method("rr-lr").Params(C=C)


def test_the_best_c_at_the_edge_of_the_grid_is_a_warning() -> None:
    tallies = []
    for right in (0.0, 1.0, 2.0):
        counts = {"right": np.array([right])} | dict.fromkeys(["predicted", "actual"], np.ones(1))
        none = {"products": np.zeros((0, 0)), "targets": np.zeros(0)}
        tallies.append({**counts, **none, "log_slope": np.array([0.0, 1.0])})
    tuning = validation.tuning_of((0.1, 1.0, 10.0), tallies, "micro_f1")
    assert tuning.C == 10.0
    assert "largest that was tried, 10" in tuning.warnings[0]
    assert not validation.tuning_of(
        (0.1, 1.0, 10.0), tallies[:1] + tallies[1:][::-1], "micro_f1"
    ).warnings


@pytest.mark.parametrize("name", ["bsvm", "td-svm"])
def test_a_fold_with_all_rows_of_two_labels_is_judged_by_the_link_of_the_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = []

    def noted(out: Problem, scorer: Scorer, link: Link, one_each: bool, cut_off: CutOff) -> Arrays:
        links.append(link)
        return validation.tally(out, scorer, link, one_each, cut_off)

    monkeypatch.setattr(classifier, "tally", noted)
    # The first row has two labels, the others one.
    start, code = np.append(0, np.arange(2, 32)), np.append([0, 1], np.arange(29) % 3)
    labels = LabelSets(start, code, ["cat", "dog", "rose"], np.zeros(30, dtype=bool))
    features = np.random.default_rng(0).normal(size=(30, 2))
    used = method(name)
    used.fit(Data({"features": features, "labels": labels}), used.Params(calibrate=True, n_folds=3))
    assert links == ["logistic"] * 3
