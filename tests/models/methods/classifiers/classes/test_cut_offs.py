"""RCut and SCut against trying every cut-off, and rows that get a label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import PredictionOptions
from models.methods.classifiers.classes import cut_offs, validation
from models.methods.classifiers.classes.answers import Scorer
from models.methods.classifiers.classes.problem import Problem
from models.registry import method
from models.tree import class_paths
from tests.models.methods.classifiers.classes.several_kit import several

N = 12


def tallies(cut_off: cut_offs.CutOff) -> tuple[np.ndarray, np.ndarray, Any]:
    """Scores, labels, and the tallies of two halves, added."""
    has, features = several(80, 3)
    has[:, 7] = False
    has[~has.any(axis=1), 0] = True
    weights = np.random.default_rng(0).normal(size=(N, 10))
    start = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    whole = Problem(features, start, np.nonzero(has)[1], N)
    parts = [np.arange(80) < 30, np.arange(80) >= 30]
    total = validation.added(
        [
            validation.tally(whole.part(part), Scorer(weights, False), "logistic", False, cut_off)
            for part in parts
        ]
    )
    return features @ weights.T, has, total


@pytest.mark.parametrize("criterion", ["micro_f1", "macro_f1"])
def test_the_rank_is_the_best_of_all(criterion: validation.Criterion) -> None:
    values, has, total = tallies("rank")
    place = np.argsort(np.argsort(-values, axis=1, kind="stable"), axis=1)
    reached = []
    for t in range(1, cut_offs.MOST_RANKS + 1):
        gets = place < t
        some = (has | gets).any(axis=0)
        average = criterion.removesuffix("_f1")
        reached.append(f1_score(has[:, some], gets[:, some], average=average))
    tuning = validation.tuning_of((None,), [total], criterion, "rank")
    assert tuning.calibration.n_best == int(np.argmax(reached)) + 1
    assert tuning.metrics["n_best"] == tuning.calibration.n_best
    assert tuning.metrics[f"validation_{criterion}"] == pytest.approx(max(reached))


def one_f1(has: np.ndarray, gets: np.ndarray) -> float:
    return 2.0 * float((has & gets).sum()) / max(float(has.sum() + gets.sum()), 1.0)


def test_each_threshold_is_the_best_of_all() -> None:
    values, has, total = tallies("class")
    tuning = validation.tuning_of((None,), [total], "macro_f1", "class")
    each = []
    for number, threshold in enumerate(tuning.calibration.thresholds):
        reached = [one_f1(has[:, number], values[:, number] >= edge) for edge in cut_offs.EDGES]
        own = one_f1(has[:, number], values[:, number] >= threshold)
        assert own == pytest.approx(max(reached))
        each.append(own)
    # A class that no held-out row has keeps the usual threshold.
    assert tuning.calibration.thresholds[7] == 0.0
    some = (has | (values >= np.array(tuning.calibration.thresholds))).any(axis=0)
    expected = float(np.mean(np.array(each)[some]))
    assert tuning.metrics["validation_macro_f1"] == pytest.approx(expected)


def fitted(has: np.ndarray, features: np.ndarray, name: str = "rr-lr", **params: Any) -> Any:
    start = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    names = [str(number) for number in range(N)]
    labels = LabelSets(start, np.nonzero(has)[1], names, np.zeros(len(has), dtype=bool))
    used = method(name)
    data = {"features": features, "labels": labels}
    if "hierarchy" in used.inputs:
        data["hierarchy"] = class_paths.read("\n".join(names))
    return used.fit(Data(data), used.Params(C=0.02, n_folds=3, **params))


def given(found: Any, features: np.ndarray, name: str = "rr-lr", **options: Any) -> np.ndarray:
    """(n_rows, N) the labels of new rows."""
    answers = (
        method(name)
        .predict(
            found.model, found.tree, Data({"features": features}), PredictionOptions(**options)
        )
        .classes
    )
    gets = np.zeros((len(features), N), dtype=bool)
    row = np.repeat(np.arange(len(features)), np.diff(answers.start))
    gets[row, np.array([int(each) for each in answers.name])[answers.code]] = True
    return gets


@pytest.mark.parametrize("name", ["rr-lr", "bsvm"])
def test_every_row_has_a_label_and_cut_offs_beat_one_half(name: str) -> None:
    has, features = several(240, 1)
    true, new = several(300, 2)
    f1 = {}
    for cut_off in ("half", "instance", "rank", "class"):
        found = fitted(has, features, name, cut_off=cut_off)
        gets = given(found, new, name)
        assert gets.any(axis=1).all()
        f1[cut_off] = f1_score(true, gets, average="micro")
        if cut_off == "rank":
            assert (gets.sum(axis=1) == found.metrics["n_best"]).all()
    # Rows have one to three labels, which one rank for all cannot meet.
    assert min(f1["class"], f1["instance"]) > f1["half"] + 0.01


def test_a_threshold_of_the_request_is_kept_and_rows_of_no_class_stay_possible() -> None:
    has, features = several(120, 1)
    found = fitted(has, features, cut_off="half")
    assert not given(found, features, threshold=0.999).any(axis=1).all()
    has[:20] = False
    features[:20] = 0.0
    none = fitted(has, features, cut_off="half")
    assert none.model.facts["at_least_one"] is False
    assert not given(none, features).any(axis=1).all()


def test_rows_of_one_class_are_not_cut_off() -> None:
    features = np.random.default_rng(0).normal(size=(40, 3))
    used = method("bsvm")
    data = Data({"features": features, "labels": np.arange(40) % 3})
    plain, ranked = (used.fit(data, used.Params(cut_off=one)) for one in ("auto", "rank"))
    assert "n_best" not in ranked.metrics
    assert plain.metrics == ranked.metrics
