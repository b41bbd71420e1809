"""What moved between two samples: naive counts and tests, planted changes, and no change.

TreeBH against its definition, computed literally, and against Benjamini and Hochberg's procedure.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import false_discovery_control

from models.arrays import Float, Int
from models.drift import drift as module
from models.drift.drift import Drift, Sample, drift, focused, selected
from models.drift.proportions import Tables, proportion_tests
from models.errors import UsageError
from models.tree.build import from_parents
from models.tree.newick import read
from models.tree.tree import Tree
from tests.models.consensus.sets_kit import random_tree


def naive(parent: list[int], p_value: list[float], level: float) -> tuple[list[float], set[int]]:
    """Combined p-values from the last hypothesis up, families from the first down."""
    below: dict[int, list[int]] = {}
    for own, above in enumerate(parent):
        below.setdefault(above, []).append(own)
    combined = list(p_value)
    for own in reversed(range(len(parent))):
        if own in below:
            ordered = sorted(combined[each] for each in below[own])
            combined[own] = min(len(ordered) * p / (i + 1) for i, p in enumerate(ordered))
    rejected: set[int] = set()
    waiting = [(-1, level)]
    while waiting:
        above, own_level = waiting.pop()
        family = sorted(below.get(above, []), key=lambda each: combined[each])
        most = 0
        for rank, each in enumerate(family, 1):
            if combined[each] <= own_level * rank / len(family):
                most = rank
        rejected.update(family[:most])
        waiting += [(each, own_level * most / len(family)) for each in family[:most]]
    return combined, rejected


@st.composite
def hypotheses(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    n = draw(st.integers(1, 25))
    parent = [draw(st.integers(max(-1, own - 6), own - 1)) for own in range(n)]
    # Powers of two, so that a level times a share is met exactly or clearly missed.
    exponents = st.integers(1, 14).map(lambda power: 0.9 * 2.0**-power)
    return parent, [draw(exponents) for _ in range(n)]


@given(hypotheses(), st.sampled_from([0.05, 0.3]))
def test_as_the_definition(case: tuple[list[int], list[float]], level: float) -> None:
    parent, p_value = case
    found = selected(np.array(parent), np.array(p_value), level)
    combined, rejected = naive(parent, p_value, level)
    np.testing.assert_allclose(found.p_value, combined, rtol=1e-12)
    assert set(np.flatnonzero(found.rejected).tolist()) == rejected


def test_one_family_is_the_procedure_of_benjamini_and_hochberg() -> None:
    rng = np.random.default_rng(0)
    p_value = np.concatenate([rng.random(200), 1e-4 * rng.random(20), [1e-300, 0.0]])
    found = selected(np.full(p_value.size, -1), p_value, 0.1)
    np.testing.assert_array_equal(found.rejected, false_discovery_control(p_value) <= 0.1)
    assert found.rejected.sum() >= 20


@given(st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=15))
def test_focused_rejects_by_how_many_would_be_listed(cases: list[tuple[int, bool]]) -> None:
    ordered = sorted(cases, key=lambda case: -case[0])
    p_value = [0.9 * 2.0**-power for power, _ in ordered]
    listed = [True, *(each for _, each in ordered[1:])]
    found = focused(np.array(p_value), np.array(listed))
    for level in (0.02, 0.1, 0.5):
        most = 0
        for n_rejected in range(1, len(p_value) + 1):
            n_listed = sum(listed[:n_rejected])
            if len(p_value) * p_value[n_rejected - 1] <= level * n_listed:
                most = n_rejected
        assert (found <= level).tolist() == [place < most for place in range(len(p_value))]
    plain = focused(np.array(p_value), np.ones(len(p_value), dtype=bool))
    np.testing.assert_allclose(plain, false_discovery_control(p_value))


def test_nothing_to_select_from_and_a_long_chain() -> None:
    assert selected(np.zeros(0, dtype=np.int64), np.zeros(0), 0.1).rejected.shape == (0,)
    n = 5000
    found = selected(np.arange(n) - 1, np.full(n, 0.04), 0.05)
    assert found.rejected.all()
    assert found.p_value == pytest.approx(0.04)


def test_where_nothing_is_to_be_found_something_is_found_at_the_level() -> None:
    rng = np.random.default_rng(1)
    parent = np.array([-1, -1, *[0] * 12, *[1] * 5, *[2] * 3])
    n_runs = 2000
    any_found = sum(
        selected(parent, rng.random(parent.size), 0.1).rejected.any() for _ in range(n_runs)
    )
    # Simes' test is exact for independent p-values: three standard errors.
    assert abs(any_found / n_runs - 0.1) < 3 * np.sqrt(0.1 * 0.9 / n_runs)


LEVEL = 0.05


def drawn(
    tree: Tree, rng: np.random.Generator, n_rows: int, weight: Float | None = None, lower: int = -1
) -> Sample:
    """Rows at leaves by weight, each leaf with its own labels and confidence; the confidence
    under node `lower` is less."""
    share = np.arange(1.0, tree.n_leaves + 1) if weight is None else weight
    code = rng.choice(tree.n_leaves, n_rows, p=share / share.sum())
    leaf = tree.leaves[code]
    confidence = 1.0 - 0.5 * rng.beta(1, 1 + code % 5, n_rows)
    if lower >= 0:
        confidence -= 0.3 * np.isin(leaf, under(tree, lower))
    label = (code + (rng.random(n_rows) < 0.3)) // 3
    label[rng.random(n_rows) < 0.1] = -1
    return Sample(leaf, confidence, label)


def under(tree: Tree, node: int) -> list[int]:
    """The leaves under a node, by walking up from each."""
    found = []
    for leaf in tree.leaves.tolist():
        at = leaf
        while at not in (node, -1):
            at = int(tree.parent[at])
        if at == node:
            found.append(leaf)
    return found


def rows_under(tree: Tree, sample: Sample, node: int) -> Int:
    return np.flatnonzero(np.isin(sample.leaf, under(tree, node)))


def test_every_number_of_every_node() -> None:
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 14)
    before, after = drawn(tree, rng, 300), drawn(tree, rng, 170)
    assert before.label is not None
    assert after.label is not None
    found = drift(tree, before, after, LEVEL)
    assert found.majority is not None
    for node in range(tree.n_nodes):
        own = [rows_under(tree, sample, node) for sample in (before, after)]
        assert (found.count_before[node], found.count_after[node]) == tuple(map(len, own))
        if node:
            above = [rows_under(tree, sample, int(tree.parent[node])) for sample in (before, after)]
            table = [
                [len(some), len(all_) - len(some)] for some, all_ in zip(own, above, strict=True)
            ]
            expected = stats.fisher_exact(table).pvalue
            p_value = found.nodes["mass"].p_value[node]
            assert np.isnan(p_value) or p_value == pytest.approx(expected, rel=1e-7)
        values = [
            sample.confidence[rows] for sample, rows in zip((before, after), own, strict=True)
        ]
        tests = found.nodes["confidence"]
        if all(map(len, values)):
            assert tests.before[node] == pytest.approx(values[0].mean())
            assert tests.after[node] == pytest.approx(values[1].mean())
        if np.isfinite(tests.p_value[node]):
            expected = stats.mannwhitneyu(values[1], values[0], method="asymptotic").pvalue
            assert tests.p_value[node] == pytest.approx(expected)
        labels = [
            [label for label in sample.label[rows].tolist() if label >= 0]
            for sample, rows in zip((before, after), own, strict=True)
            if sample.label is not None
        ]
        counts = Counter(chain(*labels))
        most = min(counts, key=lambda label: (-counts[label], label))
        assert found.majority[node] == most
        hits = [each.count(most) for each in labels]
        expected = stats.fisher_exact(
            [[some, len(each) - some] for some, each in zip(hits, labels, strict=True)]
        ).pvalue
        p_value = found.nodes["purity"].p_value[node]
        assert np.isnan(p_value) or p_value == pytest.approx(expected, rel=1e-7)
        if all(map(len, labels)):
            assert found.nodes["purity"].before[node] == pytest.approx(hits[0] / len(labels[0]))


#           0
#        /     \
#       1       2
#     / | \    / \
#    a  b  c  3   d
#            / \
#           e   f
PLANTED = read("((a:1,b:1,c:1):1,((e:1,f:1):1,d:1):1);")
NODE = {str(name): node for node, name in enumerate(PLANTED.name) if name}


def weights(**changed: float) -> Float:
    names = [str(name) for name in PLANTED.name[PLANTED.leaves]]
    return np.array([changed.get(name, 1.0) for name in names])


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"e": 1.6, "f": 0.4}, {"e", "f"}),
        ({"a": 0.4, "b": 1.6}, {"a", "b"}),
        ({"a": 1.5, "b": 1.5, "c": 1.5}, {None}),
    ],
)
def test_a_planted_change_of_mass_is_found_at_its_split(
    changed: dict[str, float], expected: set[str | None]
) -> None:
    rng = np.random.default_rng(3)
    before = drawn(PLANTED, rng, 3000, weights())
    after = drawn(PLANTED, rng, 3000, weights(**changed))
    found = drift(PLANTED, before, after, LEVEL)
    mass = {PLANTED.name[node] for aspect, node in found.moves(PLANTED) if aspect == "mass"}
    assert mass == expected
    at = {int(PLANTED.parent[node]) for aspect, node in found.moves(PLANTED) if aspect == "mass"}
    assert len(at) == 1
    assert found.split_p_value[at.pop()] < 1e-6


def test_a_planted_change_of_confidence() -> None:
    rng = np.random.default_rng(4)
    node = int(PLANTED.parent[NODE["e"]])
    before = drawn(PLANTED, rng, 2000, weights())
    after = drawn(PLANTED, rng, 2000, weights(), lower=node)
    found = drift(PLANTED, before, after, LEVEL)
    # At the node, at the leaves below, and diluted above, where the mean falls as well.
    where = np.flatnonzero(found.nodes["confidence"].rejected)
    above = int(PLANTED.parent[node])
    assert set(where.tolist()) == {node, NODE["e"], NODE["f"], above, 0}
    assert (found.nodes["confidence"].direction[where] == -1).all()
    assert found.moves(PLANTED) == [("confidence", node)]
    assert found.moved == {"mass": False, "confidence": True, "purity": False}


def test_the_surest_node_of_each_path_stands_for_the_others() -> None:
    rng = np.random.default_rng(7)
    for _ in range(30):
        tree = random_tree(rng, 12)
        p_value = rng.choice([1e-9, 1e-6, 1e-3, 0.01], tree.n_nodes)
        rejected = rng.random(tree.n_nodes) < 0.6
        tests = module.NodeTests(*[p_value] * 4, np.ones(tree.n_nodes, int), p_value, rejected)
        found = Drift({"confidence": tests}, {}, {}, p_value, *[tree.size] * 2, None, ())
        leaves = {node: set(under(tree, node)) for node in np.flatnonzero(rejected).tolist()}
        left = sorted(leaves, key=lambda node: (p_value[node], -tree.depth[node], node))
        expected = set()
        while left:
            surest = left[0]
            expected.add(surest)
            left = [node for node in left if not leaves[node] & leaves[surest]]
        moves = found.moves(tree)
        assert {node for _, node in moves} == expected
        assert [p_value[node] for _, node in moves] == sorted(p_value[list(expected)])


def test_where_nothing_moved_hardly_anything_is_found() -> None:
    rng = np.random.default_rng(5)
    tree = random_tree(rng, 7)
    n_runs, n_found = 100, 0
    for _ in range(n_runs):
        before, after = drawn(tree, rng, 150), drawn(tree, rng, 100)
        n_found += bool(drift(tree, before, after, 0.1).moves(tree))
    assert n_found / n_runs < 0.1 + 3 * np.sqrt(0.1 * 0.9 / n_runs)
    assert n_found > 0


def test_a_majority_of_the_reference_alone_would_look_purer_there() -> None:
    """Why purity is of the label that is most frequent in both samples together."""
    rng = np.random.default_rng(6)
    tree = read("(a:1,b:1);")
    n_runs = 150
    before, after = rng.integers(0, 20, (n_runs, 30)), rng.integers(0, 20, (n_runs, 300))
    both = np.zeros(n_runs)
    for run, pair in enumerate(zip(before, after, strict=True)):
        samples = [
            Sample(np.ones(label.size, dtype=np.int64), np.ones(label.size), label)
            for label in pair
        ]
        both[run] = drift(tree, samples[0], samples[1], 0.5).nodes["purity"].p_value[1]
    most = np.array([np.bincount(label).argmax() for label in before])[:, None]
    hits = ((before == most).sum(axis=1), (after == most).sum(axis=1))
    rows = (np.full(n_runs, 30), np.full(n_runs, 300))
    own = proportion_tests(Tables(hits[0], rows[0], hits[1], rows[1])).p_value
    assert (own < 0.05).mean() > 0.25
    assert (both < 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_runs)


def test_nodes_with_too_few_rows_are_not_tested() -> None:
    few = Sample(np.array([NODE["a"], NODE["e"]]), np.array([0.5, 0.6]))
    found = drift(PLANTED, few, few, LEVEL)
    assert found.nodes["mass"].n_tested == 0
    assert found.moved == {}
    assert "not even a total change" in found.warnings[0]
    # At nodes with 1 and 2 children, 6 rows each show a total change: 2 of 924 ways.
    leaf = np.array([NODE["a"]] * 6)
    other = np.array([NODE["d"]] * 6)
    found = drift(PLANTED, Sample(leaf, np.ones(6)), Sample(other, np.ones(6)), LEVEL)
    children = [int(PLANTED.parent[NODE[name]]) for name in "ad"]
    assert [node for _, node in found.moves(PLANTED)] == sorted(children)
    assert "confidence is not compared" in " ".join(found.warnings)


def test_only_children_are_not_tested_twice() -> None:
    tree = from_parents([-1, 0, 1, 1], [3.0, 2.0, 0.0, 0.0], [None] * 4, np.array([2, 3]))
    rng = np.random.default_rng(0)
    samples = [
        Sample(rng.integers(2, 4, 40), rng.random(40), np.zeros(40, dtype=np.int64))
        for _ in range(2)
    ]
    found = drift(tree, samples[0], samples[1], LEVEL)
    tested = {aspect: np.isfinite(tests.p_value).tolist() for aspect, tests in found.nodes.items()}
    assert tested["mass"] == [False, False, True, True]
    assert tested["confidence"] == [False, True, True, True]


def test_a_deep_tree_is_compared_from_the_root_down_as_far_as_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n = 400
    parent = [-1, *[2 * ((node - 1) // 2) for node in range(1, 2 * n + 1)]]
    depth = np.zeros(len(parent))
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    leaves = np.setdiff1d(np.arange(len(parent)), parent)
    tree = from_parents(parent, depth.max() - depth, [None] * len(parent), leaves)
    rng = np.random.default_rng(1)
    leaf = np.repeat(tree.leaves, 3)
    samples = [Sample(leaf, rng.random(leaf.size)) for _ in range(2)]
    monkeypatch.setattr(module, "MOST_RANKED", 10 * 2 * leaf.size)
    found = drift(tree, samples[0], samples[1], LEVEL)
    assert not found.moves(tree)
    (warning,) = (each for each in found.warnings if "too long" in each)
    tested = np.flatnonzero(np.isfinite(found.nodes["confidence"].p_value))
    assert f"at {tested.size} of" in warning
    assert 0 in tested


def test_labels_of_one_sample_alone() -> None:
    some = Sample(np.array([NODE["a"]]), np.ones(1), np.zeros(1, dtype=np.int64))
    other = Sample(np.array([NODE["a"]]), np.ones(1))
    with pytest.raises(UsageError, match="one sample alone"):
        drift(PLANTED, some, other, LEVEL)
    unknown = Sample(some.leaf, some.confidence, np.full(1, -1))
    with pytest.raises(UsageError, match="No row has a label"):
        drift(PLANTED, unknown, unknown, LEVEL)
