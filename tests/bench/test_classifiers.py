"""Training rows are drawn by class, differences are paired, distances are from the optimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.classifiers import few_shot, measured, orders, sets
from bench.classifiers.entries import BSVM, ELSEWHERE, MLR, ON_IMCLEF, ORDERS, RR_SVM
from bench.classifiers.runs import Entry, Published, scored, verdict
from bench.classifiers.speed import _Flat
from bench.report import Report
from models.registry import method

PATHS = np.array(["a/x", "a/y", "b/z"], dtype=object)


def planted(rng: np.random.Generator, n_rows: int) -> sets.Examples:
    """Three overlapping classes; the last has half as many rows."""
    code = rng.choice(3, size=n_rows, p=[0.4, 0.4, 0.2])
    centers = np.array([[0.0, 2.0, 5.0], [2.0, 0.0, 5.0], [3.0, 3.0, 5.0]])
    return sets.Examples(centers[code] + rng.normal(size=(n_rows, 3)), PATHS[code])


@pytest.fixture(scope="module")
def labelled() -> sets.Labelled:
    rng = np.random.default_rng(0)
    return sets.prepared(sets.NAMES[0], planted(rng, 200), planted(rng, 100))


def test_features_are_standardised_by_training_rows(labelled: sets.Labelled) -> None:
    for some in (labelled, labelled.of_each_class(5, np.random.default_rng(1))):
        features = some.train.features
        np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(features.std(axis=0), 1.0)
        assert np.abs(some.test.features.mean(axis=0)).max() > 1e-3
    constant = sets.Examples(np.ones((4, 1)), np.repeat(PATHS[:2], 2))
    assert (sets.prepared("one", constant, constant).test.features == 0).all()


def test_rows_are_drawn_of_each_class(labelled: sets.Labelled) -> None:
    times = dict(zip(*np.unique(labelled.train.labels, return_counts=True), strict=True))
    for n_rows in (1, 5, 60):
        some = labelled.of_each_class(n_rows, np.random.default_rng(2))
        drawn = dict(zip(*np.unique(some.train.labels, return_counts=True), strict=True))
        assert drawn == {path: min(n_rows, n) for path, n in times.items()}
    first, second = (labelled.of_each_class(5, np.random.default_rng(s)) for s in (3, 4))
    assert not np.array_equal(first.train.features, second.train.features)


def test_a_fifth_of_each_class_is_for_the_test() -> None:
    rows = sets.Examples(np.arange(40.0)[:, None], np.repeat(PATHS[:2], [30, 10]))
    train, test = sets.cut(rows, np.random.default_rng(0))
    assert np.unique(test.labels, return_counts=True)[1].tolist() == [6, 2]
    both = np.concatenate([train.features, test.features]).ravel()
    assert sorted(both.tolist()) == list(range(40))
    for part in (train, test):
        assert (part.labels == np.where(part.features[:, 0] < 30, *PATHS[:2])).all()


def test_nouns_are_in_the_class_of_their_concept_at_the_depth() -> None:
    path = [1, 2, 3, 4, 5, 6, 7, 8]
    many, few, shallow = path, [1, 2, 3, 4, 5, 6, 9], path[: sets.NOUN_DEPTH]
    classes = sets.classes_of_nouns([many] * 20 + [few] * 19 + [shallow] * 30)
    assert classes == ["1/2/3/4/5/6/7"] * 20 + [None] * 49


def test_scores_are_those_of_the_answers_and_resamples_are_paired(
    labelled: sets.Labelled,
) -> None:
    run = scored(labelled, BSVM, resamples=200)
    again = scored(labelled, Entry("again", "bsvm", params={"seed": 0}), resamples=200)
    other = scored(labelled, MLR, resamples=200)
    for measure in ("macro_f1", "micro_f1"):
        assert 60 < run.values[measure] < 100
        assert run.resamples[measure].std() > 1
        np.testing.assert_array_equal(run.resamples[measure], again.resamples[measure])
        apart = run.resamples[measure] - other.resamples[measure]
        assert apart.std() < 0.8 * run.resamples[measure].std()


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(1, 3, "yes"), (-3, -1, "no"), (-1, 1, "open")]
)
def test_the_verdict_is_by_the_interval(low: float, high: float, expected: str) -> None:
    assert verdict(np.linspace(low, high, 101)) == expected


def test_tables_have_the_figures_of_the_thesis_beside(labelled: sets.Labelled) -> None:
    report = Report({})
    runs = measured(report, labelled, [BSVM, RR_SVM])
    orders(report, labelled, runs)
    first, _, *differences = report.tables["classifiers"]
    assert (first["thesis_macro"], first["thesis_micro"], first["thesis_s"]) == (48.59, 77.53, 9.0)
    assert [row["measure"] for row in differences] == ["macro_f1", "micro_f1"]
    assert differences[0]["thesis"] == pytest.approx(53.92 - 48.59)
    assert differences[0]["difference"] == pytest.approx(
        runs["RR-SVM"].values["macro_f1"] - runs["BSVM"].values["macro_f1"]
    )
    assert Published().over(BSVM.published, "macro_f1") is None


def test_every_entry_is_a_method_and_every_order_of_entries() -> None:
    entries = [*ON_IMCLEF["full"], *(entry for some in ELSEWHERE.values() for entry in some)]
    for entry in entries:
        method(entry.method_id).Params(**entry.params)
    assert {name for order in ORDERS for name in order} <= {entry.name for entry in entries}


def test_few_shots_are_a_row_for_each_number_and_method(
    labelled: sets.Labelled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_shot, "at_hand", lambda report, names: [labelled])
    report = Report({})
    few_shot.table(report, "quick")
    rows = report.tables["few_shot"]
    assert [row["rows_per_class"] for row in rows] == [1] * 4 + [5] * 4
    assert [row["rows"] for row in rows] == [3] * 4 + [15] * 4
    own, flat = rows[0], rows[1]
    differences = report.tables["differences"]
    assert differences[0]["micro_f1"] == pytest.approx(own["micro_f1"] - flat["micro_f1"])
    assert len(differences) == 4


def test_the_distance_from_the_optimum_is_that_of_the_objective(labelled: sets.Labelled) -> None:
    from sklearn.svm import LinearSVC

    flat = _Flat(labelled, "bsvm", lambda margin: np.maximum(0.0, 1.0 - margin), 1e-3)
    near, off = flat.loosest(
        lambda tol: LinearSVC(loss="hinge", fit_intercept=False, tol=tol, max_iter=100_000)
    )
    assert -1e-5 <= off <= 1e-3
    assert near.tol < 1
    weights = flat.fit(near)
    assert weights.shape == (3, 4)
    assert flat.off(np.zeros_like(weights)) > 0.1


def test_a_missing_set_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UMBEL_TEST_DATA", str(tmp_path))
    report = Report({})
    assert not list(sets.at_hand(report, sets.NAMES))
    assert len(report.notes["classifiers"]) == len(sets.NAMES)
