"""Calibrations as a whole: the promise over every exchange, groups, splits, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from models.answers.beside_tree import ClassScores, finite
from models.arrays import Float, Int
from models.calibration.calibration import Calibration, CalibrationTerms, enough_rows
from models.calibration.climbing import ClassTree
from models.calibration.fit import FittedCalibration, fitted_calibration
from models.errors import UsageError
from models.tree.newick import read
from tests.models.calibration.calibration_kit import drawn, under, up

SEEDS = st.integers(0, 10**6)


def scores_of(classes: ClassTree, probability: Float) -> ClassScores:
    with np.errstate(divide="ignore"):
        scores = finite(np.log(probability))
    return ClassScores(classes.node, len(scores), lambda start, stop: scores[start:stop])


def fitted(
    classes: ClassTree, probability: Float, label: Int, cut: Int | None = None, **terms: Any
) -> FittedCalibration:
    given = {"temperature": 1.0, **terms}
    return fitted_calibration(
        classes.tree,
        scores_of(classes, probability),
        label,
        CalibrationTerms(**given),
        cut=cut,
    )


def held(calibration: Calibration, classes: ClassTree, probability: Float, alpha: float) -> Any:
    """The classes under the answers to rows."""
    found = calibration.answers(classes.tree, scores_of(classes, probability), alpha)
    sets = []
    for row in range(len(probability)):
        nodes = found.node[found.start[row] : found.start[row + 1]].tolist()
        own = set().union(*(under(classes, node) for node in nodes))
        assert found.n_classes[row] >= len(own)
        depths = (len(up(classes.tree, node)) - 1 for node in nodes)
        assert found.depth[row] == min(depths, default=-1)
        most = calibration.terms.most_nodes
        assert most is None or len(nodes) <= most
        assert found.mass[row] == pytest.approx(probability[row, list(own)].sum(), abs=1e-9)
        sets.append(own)
    return sets


def leaf_classes(seed: int, n_rows: int) -> tuple[ClassTree, Float, Int]:
    """As `drawn`, with classes at leaves alone."""
    return drawn(3 * seed + 1, n_rows)


@settings(max_examples=settings().max_examples // 2)
@given(
    SEEDS,
    st.sampled_from(["node", "set"]),
    st.sampled_from(["lac", "aps"]),
    st.sampled_from([None, 1, 2]),
    st.booleans(),
)
def test_the_promise_holds_over_every_exchange(
    seed: int, answer: str, score: str, most_nodes: int | None, abstains: bool
) -> None:
    """Each of n + 1 rows is the new one equally often, the others calibrate; labels are any."""
    n_rows, alpha = 10, 0.2
    classes, probability, label = leaf_classes(seed, n_rows)
    of_sets = {"score": score, "most_nodes": most_nodes, "abstains": abstains}
    terms: dict[str, Any] = {
        "answer": answer,
        "alpha": alpha,
        **(of_sets if answer == "set" else {}),
    }
    right = 0
    for new in range(n_rows):
        rest = np.arange(n_rows) != new
        own = fitted(classes, probability[rest], label[rest], **terms).calibration
        (classes_held,) = held(own, classes, probability[[new]], alpha)
        right += int(label[new]) in classes_held
    assert Fraction(right, n_rows) >= 1 - Fraction(1, 5)


@settings(max_examples=settings().max_examples // 2)
@given(
    SEEDS,
    st.sampled_from(["class", "subtree"]),
    st.sampled_from(["node", "set"]),
    st.sampled_from([None, 1, 2]),
)
def test_groups_have_their_promise_over_every_exchange(
    seed: int, per: str, answer: str, most_nodes: int | None
) -> None:
    n_rows, alpha = 9, 0.4
    of_sets: dict[str, Any] = {"most_nodes": most_nodes} if answer == "set" else {}
    classes, probability, label = leaf_classes(seed, n_rows)
    cut = np.flatnonzero(classes.tree.depth == 1)
    best = classes.node[probability.argmax(axis=1)]
    under_cut = np.array(
        [next((at for at in cut if at in up(classes.tree, leaf)), -1) for leaf in best]
    )
    key: list[Any] = under_cut.tolist()
    right = np.zeros(n_rows, dtype=bool)
    for new in range(n_rows):
        rest = np.arange(n_rows) != new
        try:
            own = fitted(
                classes,
                probability[rest],
                label[rest],
                cut if per == "subtree" else None,
                per=per,
                answer=answer,
                alpha=alpha,
                **of_sets,
            ).calibration
        except UsageError:
            return  # too few rows, as another test shows
        if per == "class":
            # The group that the new row is of: its class, some classes below a node, or none.
            groups = own.groups(alpha)
            of = int(groups.of[label[new]])
            alone = of >= 0 and (label[rest] == label[new]).sum() >= 2
            own_group = ("class", int(label[new]))
            key[new] = (
                own_group if alone else ("node", int(groups.node[label[new]])) if of >= 0 else None
            )
            known = (label[rest] == label[new]).any()
            assert of < 0 or not known or label[new] in groups.members[of]
        (classes_held,) = held(own, classes, probability[[new]], alpha)
        right[new] = int(label[new]) in classes_held
    for each in set(key):
        members = np.array([other == each for other in key])
        if each is not None:
            assert Fraction(int(right[members].sum()), int(members.sum())) >= Fraction(3, 5)


def test_classes_with_few_rows_share_a_threshold() -> None:
    #        0
    #      /   \
    #     1     2
    #    /|\   / \
    #   a b c d   e
    tree = read("((a:1,b:1,c:1):1,(d:1,e:1):1);")
    node = np.array([int(np.flatnonzero(tree.name == name)[0]) for name in "abcde"])
    classes = ClassTree.of(tree, node)
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(5), [30, 5, 7, 4, 4])
    probability = rng.dirichlet(np.ones(5), label.size)
    own = fitted(classes, probability, label, per="class", answer="set")
    groups = own.calibration.groups(0.1)
    assert [groups.members[at].tolist() for at in groups.of[:3]] == [[0], [1, 2], [1, 2]]
    assert groups.of[3:].tolist() == [-1, -1]
    thresholds = own.calibration.thresholds(0.1)
    together = np.sort(own.calibration.score[30:42])
    assert thresholds[1] == thresholds[2] == together[11]
    mean, low, high = own.calibration.held(0.1)
    assert mean[1] == pytest.approx(12 / 13)
    assert low[1] < mean[1] < high[1]
    assert np.isnan(mean[3])
    assert "of those that share a threshold (3 of 5)" in own.calibration.promise(0.1)
    text = " ".join(own.warnings)
    assert "2 of 5 classes have fewer than the 9 rows that alpha 0.1 needs ('b', 'c')" in text


def test_sizes_are_those_of_the_answers() -> None:
    classes, probability, label = leaf_classes(8, 60)
    own = fitted(classes, probability, label, answer="set", abstains=True, alpha=0.4)
    found = held(own.calibration, classes, probability, 0.4)
    size = np.array([len(each) for each in found])
    assert own.sizes.n_classes == pytest.approx(size.mean())
    assert own.sizes.abstained == pytest.approx((size == 0).mean())
    assert own.sizes.low <= size.mean() <= own.sizes.high
    first = int(label[0])
    assert own.sizes.by_class[first] == pytest.approx(size[label == first].mean())


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.15, 1 / 3])
def test_no_more_rows_than_the_misses_that_they_allow_need(alpha: float) -> None:
    """Among as many rows or fewer, those with the same number of misses allowed, of which the share
    of new rows held on average, 1 - misses / (n + 1), is nearest to 1 - alpha."""
    exact = Fraction(repr(alpha))

    def misses(n: int) -> int:
        return int((n + 1) * exact)

    n_rows = np.arange(120)
    expected = [min(n for n in range(most + 1) if misses(n) == misses(most)) for most in n_rows]
    assert enough_rows(n_rows, alpha).tolist() == expected


def test_classes_set_thresholds_by_no_more_rows_than_needed() -> None:
    classes, probability, label = leaf_classes(4, 600)
    sizes = np.array([30, 49, 60])
    kept = np.concatenate([np.flatnonzero(label == own)[:n] for own, n in enumerate(sizes)])
    own = fitted(
        classes, probability[kept], label[kept], per="class", answer="set", alpha=0.05,
        temperature="fit",
    )  # fmt: skip
    # A fifth fits the temperature; 24, 39 and 48 rows allow 1, 2 and 2 misses, as 19 and 39 do.
    assert np.diff(own.calibration.start)[:3].tolist() == [19, 39, 39]
    assert (own.n_rows, own.n_temperature) == (97, 42)
    mean, _, _ = own.calibration.held(0.05)
    assert mean[:3] == pytest.approx(0.95)


def test_rows_of_the_temperature_set_no_threshold() -> None:
    classes, probability, label = leaf_classes(5, 200)
    own = fitted(classes, probability, label, temperature="fit", seed=3)
    assert (own.n_temperature, own.n_rows) == (40, 160)
    assert own.calibration.score.shape == (160,)
    order = np.random.default_rng(3).permutation(200)
    used = order[:40]
    assert own.temperature is not None
    again = fitted(
        classes,
        np.delete(probability, used, axis=0),
        np.delete(label, used),
        temperature=own.temperature.value,
    )
    np.testing.assert_allclose(again.calibration.score, own.calibration.score, rtol=1e-12)
    np.testing.assert_allclose(again.curve.area, own.curve.area)
    other = fitted(classes, probability, label, temperature="fit", seed=4)
    assert other.temperature != own.temperature


def test_rows_without_a_label_are_left_out() -> None:
    classes, probability, label = leaf_classes(7, 60)
    some = label.copy()
    some[::3] = -1
    own = fitted(classes, probability, some)
    alone = fitted(classes, probability[some >= 0], label[some >= 0])
    assert own.n_unlabelled == 20
    assert own.calibration.score.tolist() == alone.calibration.score.tolist()
    assert "20 row(s) are not labelled" in own.warnings[0]


def test_another_alpha_is_another_threshold_of_the_same_scores() -> None:
    classes, probability, label = leaf_classes(11, 99)
    own = fitted(classes, probability, label).calibration
    for alpha in (0.01, 0.05, 0.3):
        direct = fitted(classes, probability, label, alpha=alpha).calibration
        assert own.thresholds(alpha).tolist() == direct.thresholds(alpha).tolist()
    with pytest.raises(UsageError, match="at least 999") as error:
        own.thresholds(0.001)
    assert error.value.code == "too-few-rows"
    with pytest.raises(UsageError, match="below 1"):
        own.thresholds(1.5)


def test_too_few_rows_say_how_many_are_needed() -> None:
    classes, probability, label = leaf_classes(2, 100)
    with pytest.raises(UsageError, match=r"99 labelled rows beside the 25 .* 124 in all") as error:
        fitted(classes, probability, label, alpha=0.01, temperature="fit")
    assert error.value.where["needed"] == 124
    n_rows = 124
    classes, probability, label = leaf_classes(2, n_rows)
    fitted(classes, probability, label, alpha=0.01, temperature="fit")
    with pytest.raises(UsageError, match="123"):
        fitted(classes, probability[:-1], label[:-1], alpha=0.01, temperature="fit")
    with pytest.raises(UsageError, match="at least 9 labelled rows, 9 in all; there are 0"):
        fitted(classes, probability, np.full(n_rows, -1))


def test_classes_and_subtrees_without_enough_rows_are_reported() -> None:
    #      0
    #    /   \
    #   1     2 = c
    #  / \
    # a   b
    tree = read("((a:1,b:1):1,c:2);")
    node = np.array([int(np.flatnonzero(tree.name == name)[0]) for name in "abc"])
    classes = ClassTree.of(tree, node)
    label = np.array([0] * 30 + [1] * 5)
    probability = np.eye(3)[label] * 0.7 + 0.1
    own = fitted(classes, probability, label, per="class")
    text = " ".join(own.warnings)
    assert "1 of 3 classes have no row that sets the threshold ('c')" in text
    assert "2 of 3 classes have fewer than the 9 rows" in text
    assert own.calibration.promised(0.1).tolist() == [True, False, False]
    cut = np.flatnonzero(tree.depth == 1)
    own = fitted(classes, probability, label, cut, per="subtree")
    assert "1 of 2 subtrees have fewer than the 9 rows" in " ".join(own.warnings)
    found = own.calibration.answers(tree, scores_of(classes, np.eye(3) * 0.7 + 0.1), 0.1)
    assert found.node[2] == 0
    assert found.node[0] == node[0]
    few = np.repeat([1, 2], 5)
    with pytest.raises(UsageError, match="in a subtree; the largest has 5"):
        fitted(classes, np.eye(3)[few] * 0.7 + 0.1, few, cut, per="subtree")


@pytest.mark.parametrize(
    "terms",
    [
        {"alpha": 1.0},
        {"loss": "distance", "per": "class"},
        {"loss": "cost", "answer": "set"},
        {"score": "aps"},
        {"temperature": 0.0},
        {"temperature": "warm"},
        {"temperature": 1.0, "seed": 3},
        {"alpha": 0.0},
        {"alpha": True},
        {"most_nodes": 2},
        {"abstains": True},
        {"relearn": True, "temperature": 1.0},
    ],
)
def test_terms_that_contradict_each_other(terms: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CalibrationTerms(**terms)


def test_a_promise_is_not_rounded() -> None:
    classes, probability, label = leaf_classes(2, 40)
    own = fitted(classes, probability, label).calibration
    assert own.promise(4e-7) == "Holds the class with probability at least 0.9999996."
    assert own.promise(0.1234564) == "Holds the class with probability at least 0.8765436."
