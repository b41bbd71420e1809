"""The metrics of a classifier, against their definitions and scikit-learn."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from sklearn.metrics import f1_score, log_loss, top_k_accuracy_score
from sklearn.preprocessing import MultiLabelBinarizer

from models.metrics.classification.outcomes import EPSILON
from models.metrics.classification.scores import METRIC_IDS, METRICS
from tests.models.metrics.classification.rows_kit import LabelledRows, labelled_rows

TOP_K = 2


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def f1(hits: float, n_given: float, n_true: float) -> float | None:
    return 2 * hits / (n_given + n_true) if n_given + n_true else None


def by_definition(case: LabelledRows) -> dict[str, float | None]:
    rows = case.labelled
    true = {row: case.true(row) for row in rows}
    given = {row: case.predicted(row) for row in rows}
    classes = set().union(*true.values(), *given.values())
    each = []
    counts = np.zeros(3)
    for name in classes:
        hits = sum(name in true[row] and name in given[row] for row in rows)
        of_class = (
            hits,
            sum(name in given[row] for row in rows),
            sum(name in true[row] for row in rows),
        )
        counts += of_class
        each.append(f1(*of_class) or 0.0)
    true_paths = {row: case.paths(true[row]) for row in rows}
    given_paths = {row: case.paths(given[row]) for row in rows}
    return {
        "accuracy": mean([float(true[row] == given[row]) for row in rows]),
        "micro_f1": f1(*counts),
        "macro_f1": mean(each),
        "hierarchical_f1": f1(
            sum(len(true_paths[row] & given_paths[row]) for row in rows),
            sum(len(given_paths[row]) for row in rows),
            sum(len(true_paths[row]) for row in rows),
        ),
        "hierarchical_loss": mean([len(true_paths[row] ^ given_paths[row]) for row in rows]),
        "top_k_accuracy": mean(
            [float(bool(true[row] & best(case, row, TOP_K))) for row in rows if true[row]]
        ),
        "log_loss": mean([loss for row in rows if (loss := loss_of(case, row)) is not None]),
        "expected_calibration_error": calibration_error(case),
        "precision_at_k": mean([len(true[row] & best(case, row, TOP_K)) / TOP_K for row in rows
                                if true[row]]),
        "r_precision": mean([len(true[row] & best(case, row, len(true[row]))) / len(true[row])
                             for row in rows if true[row]]),
        "propensity_precision_at_k": propensity_precision(case),
    }  # fmt: skip


def gain(case: LabelledRows, label: str) -> float:
    """1 / p as Jain et al. (2016) write it, with labels that are no node as rare as can be."""
    n_rows = case.tree.size[0]
    n_label = 0 if label.startswith("u") else case.tree.size[int(label[1:])]
    c = max(0.0, (math.log(n_rows) - 1) * (1.5 + 1) ** 0.55)
    return 1 / (1 / (1 + c * math.exp(-0.55 * math.log(n_label + 1.5))))


def propensity_precision(case: LabelledRows) -> float | None:
    got, possible = 0.0, 0.0
    for row in case.labelled:
        true = case.true(row)
        got += sum(gain(case, label) for label in true & best(case, row, TOP_K))
        possible += sum(sorted((gain(case, label) for label in true), reverse=True)[:TOP_K])
    return got / possible if possible else None


def best(case: LabelledRows, row: int, n_best: int) -> set[str]:
    ranked = sorted(range(case.class_node.size), key=lambda code: -case.probability[row, code])
    return {f"n{case.class_node[code]}" for code in ranked[:n_best]}


def loss_of(case: LabelledRows, row: int) -> float | None:
    true = case.true(row)
    names = [f"n{node}" for node in case.class_node.tolist()]
    probability = dict(zip(names, case.probability[row].tolist(), strict=True))
    if case.one_each:
        if len(true) != 1:
            return None
        return -math.log(max(probability.get(next(iter(true)), 0.0), EPSILON))
    unknown = sum(-math.log(EPSILON) for label in true if label not in probability)
    return unknown + sum(
        -math.log(share if name in true else 1.0 - share) for name, share in probability.items()
    )


def calibration_error(case: LabelledRows) -> float:
    gaps: dict[int, float] = {}
    for row in case.labelled:
        confidence = case.probability[row].max()
        right = bool(case.true(row) & best(case, row, 1))
        place = max(0, math.ceil(confidence * 15) - 1)
        gaps[place] = gaps.get(place, 0.0) + right - confidence
    return sum(map(abs, gaps.values())) / len(case.labelled)


@given(case=labelled_rows())
def test_every_metric_is_its_definition(case: LabelledRows) -> None:
    evaluation = case.evaluate(metrics=METRIC_IDS, top_k=TOP_K)
    expected = by_definition(case)
    assert tuple(evaluation.metrics) == tuple(METRICS) == METRIC_IDS == tuple(expected)
    for name, value in evaluation.metrics.items():
        known = expected[name]
        assert value == (None if known is None else pytest.approx(known, rel=1e-12)), name
    undefined = [name for name, value in expected.items() if value is None]
    assert any(", ".join(undefined) in text for text in evaluation.warnings) or not undefined


@given(case=labelled_rows())
def test_f1_is_that_of_scikit_learn(case: LabelledRows) -> None:
    true = [case.true(row) for row in case.labelled]
    predicted = [case.predicted(row) for row in case.labelled]
    # One column alone would be a problem of two classes.
    assume(len(set().union(*true, *predicted)) > 1)
    binarizer = MultiLabelBinarizer().fit([*true, *predicted])
    tables = binarizer.transform(true), binarizer.transform(predicted)
    metrics = case.evaluate(metrics=["micro_f1", "macro_f1"], by=[]).metrics
    for average in ("micro", "macro"):
        expected = f1_score(*tables, average=average, zero_division=0)
        assert metrics[f"{average}_f1"] == pytest.approx(expected)


@given(case=labelled_rows(one_each=True))
def test_single_labels_have_the_metrics_of_scikit_learn(case: LabelledRows) -> None:
    names = [f"n{node}" for node in case.class_node.tolist()]
    rows = np.array([row for row in case.labelled if (case.labels[row] or set()) <= {*names}])
    assume(rows.size)
    case = case.rows(rows)
    true = [names.index(next(iter(labels or ()))) for labels in case.labels]
    metrics = case.evaluate(metrics=METRIC_IDS, top_k=1, by=[]).metrics
    codes = np.arange(len(names))
    assert metrics["log_loss"] == pytest.approx(log_loss(true, case.probability, labels=codes))
    if len(names) > 2:
        ranks = -np.argsort(np.argsort(-case.probability, axis=1, kind="stable"), axis=1)
        expected = top_k_accuracy_score(true, ranks.astype(float), k=1, labels=codes)
        assert metrics["top_k_accuracy"] == pytest.approx(expected)
    predicted = case.probability.argmax(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = f1_score(true, predicted, average="macro")
    assert metrics["macro_f1"] == pytest.approx(expected)
    assert metrics["micro_f1"] == pytest.approx(metrics["accuracy"])


@given(case=labelled_rows(one_each=True))
def test_the_loss_of_single_labels_counts_edges(case: LabelledRows) -> None:
    def edges(row: int) -> int:
        first, second = next(iter(case.true(row))), next(iter(case.predicted(row)))
        return len(case.path(first) ^ case.path(second))

    expected = mean([edges(row) for row in case.labelled])
    metrics = case.evaluate(metrics=["hierarchical_loss"], by=[]).metrics
    assert metrics == {"hierarchical_loss": pytest.approx(expected)}
