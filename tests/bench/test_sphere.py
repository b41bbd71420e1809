"""Orders are judged by paired runs, docstrings become documents, and models recover classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bench.report import Report
from bench.sphere import detection, documents, drifting, likelihood, recovery, sets
from bench.sphere.fitting import fitted, shown
from bench.sphere.orders import ORDERS, Scores, verdict
from models.numerics.sphere import draw_vmf, uniform

TEXT = " ".join(["spectra of signals are smoothed by windows before their peaks are found"] * 4)


@pytest.fixture
def report() -> Report:
    return Report({})


@pytest.fixture(scope="module")
def planted() -> sets.LabelledSet:
    """Twenty clusters with little overlap."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 15)
    return sets.LabelledSet("planted", draw_vmf(uniform(20, 16, rng)[labels], 300.0, rng), labels)


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ([0.1, 0.2, 0.15], "yes"),
        ([-0.1, -0.2, -0.15], "no"),
        ([0.1, -0.1, 0.05], "open"),
        ([0.1, 0.3], "open"),
        ([0.2, 0.2], "yes"),
        ([0.0, 0.0], "open"),
        ([5.0], "open"),
    ],
)
def test_the_verdict_follows_the_interval_of_the_difference(
    apart: list[float], expected: str
) -> None:
    assert verdict(apart) == expected


def test_differences_are_between_runs_with_the_same_seed(report: Report) -> None:
    scores = Scores()
    scores.add("one", "nmi", "vMFmix", [0.2, 0.5, 0.8], 20)
    scores.add("one", "nmi", "B-vMFmix", [0.3, 0.6, 0.9], 20)
    scores.add("one", "nmi", "LDA", [0.1, 0.6, 0.7], 20)
    scores.add("other", "nmi", "B-vMFmix", [0.3], 20)
    scores.add("one", "log-likelihood", "B-vMFmix", [0.3], 20)
    scores.table(report)
    rows = {row["what"]: row for row in report.tables["sphere"]}
    assert set(rows) == {
        f"{of}{what}"
        for of in ("one: ", "")
        for what in ("B-vMFmix over vMFmix", "vMFmix over LDA")
    }
    assert [rows["B-vMFmix over vMFmix"][answer] for answer in ("yes", "open", "no")] == [1, 0, 0]
    surely = rows["one: B-vMFmix over vMFmix"]
    assert (surely["holds"], surely["above"]) == ("yes", "3 of 3")
    assert surely["difference"].startswith("0.1 +-")
    assert rows["one: vMFmix over LDA"]["holds"] == "open"


def test_every_order_is_about_measured_models() -> None:
    measured = {
        *(recovery.OF_ROWS + recovery.OF_COUNTS),
        *(f"{model} by tf" for model in recovery.OF_TF),
        *likelihood.FLAT,
        "H-vMFmix",
        *drifting.MODELS,
        *detection.MODELS,
    }
    assert {model for order in ORDERS for model in (order.better, order.worse)} <= measured


def test_docstrings_are_documents_of_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(documents, "N_DOCUMENTS", 2)
    sources = {
        "__init__.py": f'"""The whole. {TEXT}"""\nraise AssertionError("imported")',
        "waves/__init__.py": f'"""Waves. {TEXT}"""',
        "waves/deep/one.py": f'class A:\n    """A. {TEXT}"""\n    def f(self):\n        """Few."""',
        "waves/again.py": f'"""A. {TEXT}"""',
        "waves/tests/test_one.py": f'"""Tests. {TEXT}"""',
        "alone/one.py": f'"""Alone. {TEXT}"""',
        "_hidden/one.py": f'"""Hidden. {TEXT}"""\ndef f():\n    """More hidden. {TEXT}"""',
    }
    for name, source in sources.items():
        path = tmp_path / "planted_package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    collected = documents.docstrings("planted_package")
    assert collected is not None
    texts, topics = collected
    assert sorted(text.split(".")[0] for text in texts) == ["A", "Waves"]
    assert topics == ["waves", "waves"]
    assert documents.docstrings("no_such_package") is None


def test_documents_go_through_the_steps_of_a_job() -> None:
    texts = ["The cats were running", "A cat runs and runs", "Running cats", "It is", "ran one"]
    prepared = sets.of_documents("cats", texts, ["b", "b", "a", "a", "c"])
    assert isinstance(prepared.counts, sp.csr_array)
    # "cat" and "run": the fourth document has only stop words, the fifth only rare words.
    assert prepared.counts.shape == (3, 2)
    assert prepared.labels.tolist() == [1, 1, 0]
    assert prepared.n_classes == 2
    assert prepared.tf is not None
    assert np.allclose(sp.linalg.norm(prepared.tf, axis=1), 1.0)


def test_planted_classes_are_recovered_and_other_rows_detected(
    report: Report, planted: sets.LabelledSet
) -> None:
    scores = Scores()
    recovery.table(report, scores, planted, "default", 1)
    rows = report.tables["sphere"]
    assert [row["what"] for row in rows] == [f"planted: {model}" for model in recovery.OF_ROWS]
    assert all(float(row["nmi"].split()[0]) > 0.9 for row in rows)
    shares = detection.detected("vMFmix", planted.features, planted, 0)
    assert shares.auc > 0.95
    assert shares.out_of_sample_right > 0.9


@pytest.mark.slow
def test_likelihoods_cover_every_number_of_clusters_and_hierarchy(
    report: Report, planted: sets.LabelledSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(likelihood.COUNTS, "quick", (20,))
    monkeypatch.setitem(likelihood.HIERARCHIES, "quick", ((2, 4), (3, 9)))
    likelihood.table(report, Scores(), planted, "quick", 1)
    rows = [(row["what"].split(": ")[1], row["clusters"]) for row in report.tables["sphere"]]
    # With 729 leaves there would be less than one row for each.
    beside = [("H-vMFmix, 2 high, 4 wide", 16), ("B-vMFmix", 16), ("vMFmix", 16)]
    assert rows == [*((model, 20) for model in likelihood.FLAT), *beside]


def test_models_with_the_same_seed_hold_out_the_same_rows(planted: sets.LabelledSet) -> None:
    alike = planted.features[planted.labels == 0]
    first, second = (
        fitted(model, alike, 3, n_clusters=1, held_out=0.5)[0] for model in ("vMFmix", "B-vMFmix")
    )
    values = [fit.metrics["held_out_log_likelihood"] for fit in (first, second)]
    spread = [
        fitted("vMFmix", alike, seed, n_clusters=1, held_out=0.5)[0].metrics[
            "held_out_log_likelihood"
        ]
        for seed in range(4)
    ]
    assert abs(values[0] - values[1]) < np.std(spread)


def test_the_model_of_periods_predicts_the_next_one_best(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(drifting.MOVING, "quick", (4, 80, 3))
    monkeypatch.setattr(drifting, "STEPS", (150.0,))
    scores = Scores()
    drifting.table(report, scores, "quick", 1)
    above = {row["what"].split(": ")[1]: row["above_vmf"] for row in report.tables["sphere"]}
    assert float(above["T-vMFmix"].split()[0]) > 1.0
    assert float(above["T-vMFmix"].split()[0]) > float(above["B-vMFmix"].split()[0])


def test_a_missing_set_gives_a_note(
    report: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("UMBEL_TEST_DATA", str(tmp_path))
    monkeypatch.setitem(sets.TEXTS, "default", ("no_such_package", "glosses"))
    assert list(sets.at_hand(report, "default")) == []
    assert len(report.notes["sphere"]) == len(sets.EMBEDDED["default"]) + 2


def test_mean_and_deviation_of_one_run_are_shown() -> None:
    assert shown([0.25]) == "0.25 +-0"
    assert shown([1.0, 3.0]) == "2 +-1.4"
