"""Two classifiers on the same rows, against definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from models.metrics.classification import evaluation as rivals
from models.metrics.classification.evaluation import Rival, Versus
from models.tree.build import from_partition
from tests.models.metrics.classification.rows_kit import LabelledRows, labelled_rows


def beside(own: LabelledRows, other: LabelledRows, **options: object) -> Versus:
    found = own.evaluate(rival=Rival(other.tree, other.predict), **options).versus
    assert found is not None
    return found


def wrong(case: LabelledRows, row: int) -> int:
    return len(case.true(row) ^ case.predicted(row))


def f1_of(case: LabelledRows) -> dict[str, float]:
    true = {row: case.true(row) for row in case.labelled}
    given_ = {row: case.predicted(row) for row in case.labelled}
    found = {}
    for name in set().union(*true.values(), *given_.values()):
        t = {row for row in true if name in true[row]}
        g = {row for row in given_ if name in given_[row]}
        found[name] = 2 * len(t & g) / (len(t) + len(g))
    return found


@given(case=labelled_rows(), data=st.data())
def test_counts_and_differences_by_definition(case: LabelledRows, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(case.class_node.size)))
    other = replace(case, probability=case.probability[:, order], given=case.given[:, order])
    found = beside(case, other)
    gains = [wrong(other, row) - wrong(case, row) for row in case.labelled]
    assert found.rows.n_better == sum(gain > 0 for gain in gains)
    assert found.rows.n_worse == sum(gain < 0 for gain in gains)
    one, two = f1_of(case), f1_of(other)
    names = one.keys() | two.keys()
    differences = [one.get(name, 0.0) - two.get(name, 0.0) for name in names]
    assert found.classes.n_better == sum(value > 0 for value in differences)
    assert found.classes.n_worse == sum(value < 0 for value in differences)
    alone, its = case.evaluate().metrics, other.evaluate().metrics
    assert dict(found.metrics) == pytest.approx(its, nan_ok=True)
    for name, difference in found.differences.items():
        mine, beside_it = alone[name], its[name]
        assert mine is not None
        assert beside_it is not None
        assert difference.value == pytest.approx(mine - beside_it, abs=1e-12)
        assert difference.interval is None
    back = beside(other, case)
    assert (back.rows.n_better, back.rows.n_worse) == (found.rows.n_worse, found.rows.n_better)
    assert back.rows.p_value == pytest.approx(found.rows.p_value)
    assert back.classes.p_value == pytest.approx(found.classes.p_value)


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (5, 0), (3, 3), (12, 4), (1, 9)])
def test_signs_against_the_binomial(better: int, worse: int) -> None:
    n = better + worse
    tail = binom.cdf(min(better, worse), n, 0.5)
    assert rivals.tested_signs(better, worse).p_value == pytest.approx(min(1.0, 2.0 * tail))


@pytest.mark.parametrize(
    "difference",
    [[0.5], [0.1, -0.2, 0.3, 0.4, 0.7], [0.1, 0.1, -0.1, 0.2, 0.2, 0.2, 0.0], [0.0, 0.0], []],
)
def test_ranks_against_all_signs(difference: list[float]) -> None:
    values = np.array([value for value in difference if value])
    found = rivals.tested_ranks(np.array(difference))
    assert found.n_better + found.n_worse == values.size
    if not values.size:
        assert found.p_value == 1.0
        return
    size = np.abs(values)
    rank = np.array([(size < one).sum() + ((size == one).sum() + 1) / 2 for one in size])
    sums = np.array(
        [rank[np.array(signs)].sum() for signs in product([False, True], repeat=rank.size)]
    )
    own = rank[values > 0].sum()
    tails = [(sums <= own + 1e-9).mean(), (sums >= own - 1e-9).mean()]
    assert found.p_value == pytest.approx(min(1.0, 2.0 * min(tails)))


def two_of(n_rows: int, own: float, other: float) -> tuple[LabelledRows, LabelledRows]:
    """Two classifiers of two classes that are right on these shares of the rows, each at random."""
    tree = from_partition(np.zeros(0, dtype=np.int64), 2, names=["n1", "n2"])
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, n_rows)
    labels: list[set[str] | None] = [{f"n{1 + code}"} for code in truth.tolist()]
    cases = []
    for share in (own, other):
        code = np.where(rng.random(n_rows) < share, truth, 1 - truth)
        given_ = np.arange(2) == code[:, None]
        probability = np.where(given_, 0.75, 0.25)
        cases.append(LabelledRows(tree, np.array([1, 2]), labels, probability, given_, True))
    return cases[0], cases[1]


def test_what_is_beyond_chance_is_found_and_nothing_else() -> None:
    found = beside(*two_of(400, 0.9, 0.7), bootstrap=200)
    assert found.rows.p_value < 1e-6
    low, high = found.differences["accuracy"].interval or (0.0, 0.0)
    assert 0.0 < low < found.differences["accuracy"].value < high
    same = beside(*two_of(400, 0.8, 0.8), bootstrap=200)
    assert same.rows.p_value > 0.05
    low, high = same.differences["accuracy"].interval or (0.0, 0.0)
    assert low < 0.0 < high


def test_a_classifier_beside_itself() -> None:
    case, _ = two_of(50, 0.8, 0.5)
    found = beside(case, case, bootstrap=20)
    assert (found.rows.p_value, found.classes.p_value) == (1.0, 1.0)
    for difference in found.differences.values():
        assert (difference.value, difference.interval) == (0.0, (0.0, 0.0))


def test_metrics_of_other_trees_are_not_compared() -> None:
    own, other = two_of(20, 0.8, 0.6)
    tree = from_partition(np.zeros(0, dtype=np.int64), 3, names=["n1", "n2", "n3"])
    evaluation = own.evaluate(rival=Rival(tree, replace(other, tree=tree).predict))
    found = evaluation.versus
    assert found is not None
    assert "accuracy" in found.differences
    assert not {"hierarchical_f1", "hierarchical_loss"} & found.metrics.keys()
    assert evaluation.warnings[-1] == (
        "Not compared, since the two models' trees or numbers of labels a row differ: "
        "hierarchical_f1, hierarchical_loss."
    )
