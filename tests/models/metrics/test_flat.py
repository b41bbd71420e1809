"""Flat metrics against their definitions and against scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.metrics.cluster import contingency_matrix

from models.metrics import flat
from models.metrics.flat import Contingency, contingency

Both = tuple[list[int], list[int]]
both = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
    )
)


def table_of(cluster: list[int], class_: list[int]) -> Contingency:
    # More clusters than are used, so that empty ones are there; classes are those that occur.
    _, code = np.unique(class_, return_inverse=True)
    return contingency(np.array(cluster), code, 6, int(code.max()) + 1)


def naive_pairs(cluster: list[int], class_: list[int]) -> list[tuple[bool, bool]]:
    return [
        (cluster[i] == cluster[j], class_[i] == class_[j])
        for i, j in combinations(range(len(cluster)), 2)
    ]


def naive_ri(cluster: list[int], class_: list[int]) -> float:
    pairs = naive_pairs(cluster, class_)
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else 1.0


def naive_ari(cluster: list[int], class_: list[int]) -> float:
    pairs = naive_pairs(cluster, class_)
    if not pairs:
        return 1.0
    together = sum(a and b for a, b in pairs)
    expected = Fraction(sum(a for a, _ in pairs) * sum(b for _, b in pairs), len(pairs))
    largest = Fraction(sum(a for a, _ in pairs) + sum(b for _, b in pairs), 2)
    return 1.0 if largest == expected else float((together - expected) / (largest - expected))


def naive_entropy(group: list[int]) -> float:
    shares = [group.count(value) / len(group) for value in set(group)]
    return -sum(share * log(share) for share in shares)


def naive_mi(cluster: list[int], class_: list[int]) -> float:
    joint = naive_entropy([10 * a + b for a, b in zip(cluster, class_, strict=True)])
    return naive_entropy(cluster) + naive_entropy(class_) - joint


def naive_nmi(cluster: list[int], class_: list[int]) -> float:
    total = naive_entropy(cluster) + naive_entropy(class_)
    return 2 * naive_mi(cluster, class_) / total if total else 1.0


def naive_majority(cluster: list[int], class_: list[int]) -> list[int]:
    """The class that each point's cluster stands for; of equally large ones the lowest."""
    given_ = []
    for own in cluster:
        inside = [b for a, b in zip(cluster, class_, strict=True) if a == own]
        given_.append(min(set(inside), key=lambda label: (-inside.count(label), label)))
    return given_


def naive_purity(cluster: list[int], class_: list[int]) -> float:
    hits = [a == b for a, b in zip(naive_majority(cluster, class_), class_, strict=True)]
    return sum(hits) / len(class_)


def naive_macro_f1(cluster: list[int], class_: list[int]) -> float:
    given_ = naive_majority(cluster, class_)
    scores = []
    for label in set(class_):
        tp = sum(a == b == label for a, b in zip(given_, class_, strict=True))
        precision = tp / given_.count(label) if label in given_ else 0.0
        recall = tp / class_.count(label)
        scores.append(2 * precision * recall / (precision + recall) if tp else 0.0)
    return sum(scores) / len(scores)


def naive_accuracy(cluster: list[int], class_: list[int]) -> float:
    """The best over every one-to-one assignment of clusters to classes or to no class."""
    clusters = sorted(set(cluster))
    targets = [*sorted(set(class_)), *[-1] * len(clusters)]
    best = 0
    for chosen in set(permutations(targets, len(clusters))):
        stands_for = dict(zip(clusters, chosen, strict=True))
        best = max(best, sum(stands_for[a] == b for a, b in zip(cluster, class_, strict=True)))
    return best / len(class_)


@pytest.mark.parametrize(
    ("metric", "naive"),
    [
        (flat.ri, naive_ri),
        (flat.ari, naive_ari),
        (flat.mi, naive_mi),
        (flat.nmi, naive_nmi),
        (flat.purity, naive_purity),
        (flat.micro_f1, naive_purity),
        (flat.macro_f1, naive_macro_f1),
    ],
    ids=lambda function: function.__name__,
)
@given(pair=both)
def test_definition(
    metric: Callable[[Contingency], float | None],
    naive: Callable[[list[int], list[int]], float | None],
    pair: Both,
) -> None:
    expected = naive(*pair)
    got = metric(table_of(*pair))
    if expected is None:
        assert got is None
    else:
        assert got == pytest.approx(expected, abs=1e-12)


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(0, 2), min_size=n, max_size=n),
            st.lists(st.integers(0, 2), min_size=n, max_size=n),
        )
    )
)
def test_accuracy(pair: Both) -> None:
    assert flat.accuracy(table_of(*pair)) == pytest.approx(naive_accuracy(*pair))


@pytest.mark.parametrize(("n_clusters", "n_classes"), [(30, 5), (5, 30), (12, 12), (1, 7)])
def test_sparse_matching_equals_hungarian(
    n_clusters: int, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(n_clusters)
    for _ in range(20):
        cluster = rng.integers(0, n_clusters, 60)
        class_ = np.where(rng.random(60) < 0.5, cluster % n_classes, rng.integers(0, n_classes, 60))
        table = contingency(cluster, class_, n_clusters, n_classes)
        dense = flat.accuracy(table)
        monkeypatch.setattr(flat, "DENSE_CELLS", 0)
        assert flat.accuracy(table) == dense
        monkeypatch.undo()


@given(both)
def test_scikit_learn_agrees(pair: Both) -> None:
    cluster, class_ = pair
    table = table_of(cluster, class_)
    assert flat.nmi(table) == pytest.approx(
        sk.normalized_mutual_info_score(class_, cluster), abs=1e-9
    )
    assert flat.mi(table) == pytest.approx(sk.mutual_info_score(class_, cluster), abs=1e-9)
    if len(class_) > 1:
        assert flat.ri(table) == pytest.approx(sk.rand_score(class_, cluster))
        assert flat.ari(table) == pytest.approx(sk.adjusted_rand_score(class_, cluster))
    given_ = naive_majority(cluster, class_)
    labels = sorted(set(class_))
    for average, metric in (("macro", flat.macro_f1), ("micro", flat.micro_f1)):
        expected = sk.f1_score(class_, given_, labels=labels, average=average, zero_division=0)
        assert metric(table) == pytest.approx(expected)


@given(both)
def test_both_ways_of_counting(pair: Both) -> None:
    cluster, class_ = (np.array(side) for side in pair)
    expected = contingency_matrix(cluster, class_)
    # 10**6 x 4 cells take the sorted way, 6 x 4 the table.
    for table in (contingency(cluster, class_, 6, 4), contingency(cluster, class_, 10**6, 4)):
        dense = np.zeros((6, 4), dtype=np.int64)
        dense[table.cluster, table.class_] = table.count
        assert (dense[np.ix_(np.unique(cluster), np.unique(class_))] == expected).all()
        assert table.count.sum() == len(cluster)
        assert (table.cluster_sizes[:6] == np.bincount(cluster, minlength=6)).all()
        assert (table.class_sizes == np.bincount(class_, minlength=4)).all()


def test_counts_far_past_32_bits_stay_exact() -> None:
    # 2 clusters x 2 classes of 10**9 points each: products of sums of pairs reach 10**37.
    big = 10**9
    table = Contingency(
        np.array([0, 0, 1, 1]),
        np.array([0, 1, 0, 1]),
        np.array([big, big, big, big + 2], dtype=np.int64),
        2,
        2,
    )
    sizes = [[big, big], [big, big + 2]]
    choose2 = [n * (n - 1) // 2 for row in sizes for n in row]
    side = [n * (n - 1) // 2 for n in (2 * big, 2 * big + 2)]
    n = 4 * big + 2
    pairs = n * (n - 1) // 2
    both_, one = sum(choose2), sum(side)
    assert flat.ri(table) == float(Fraction(pairs - 2 * one + 2 * both_, pairs))
    expected = Fraction(both_ * pairs - one * one, one * pairs - one * one)
    assert flat.ari(table) == float(expected)
    assert flat.purity(table) == float(Fraction(2 * big + 2, n))


def test_edges() -> None:
    table = table_of([3], [1])
    assert flat.ri(table) == sk.rand_score([3], [1]) == 1.0
    assert flat.ari(table) == sk.adjusted_rand_score([3], [1]) == 1.0
    assert flat.nmi(table) == 1.0
    assert flat.mi(table) == 0.0
    none = contingency(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 1, 0)
    for metric in (flat.purity, flat.mi, flat.nmi, flat.ri, flat.ari, flat.accuracy):
        assert metric(none) is None
    assert flat.macro_f1(none) is None
    assert flat.micro_f1(none) is None
    single_cluster = table_of([0] * 6, [0, 1, 2, 0, 1, 2])
    assert flat.nmi(single_cluster) == 0.0
    assert flat.ari(single_cluster) == 0.0
