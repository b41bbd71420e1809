"""Known clusters from groups of rows, against a naive closure."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.inputs.pairs import Contradiction, Groups, contradictions, known

NAMES = ("cats", "cluster 1")


def groups_of(
    n_rows: int,
    groups: list[tuple[list[int], str | None]],
    apart: list[tuple[int, int]] | None = None,
) -> Groups:
    """`groups` : the rows of each, and its name."""
    names = sorted({name for _, name in groups if name is not None})
    return Groups(
        n_rows,
        np.array([row for rows, _ in groups for row in rows], dtype=np.int64),
        np.repeat(np.arange(len(groups)), [len(rows) for rows, _ in groups]).astype(np.int64),
        np.array([-1 if name is None else names.index(name) for _, name in groups], np.int64),
        names,
        np.array(apart or [], dtype=np.int64).reshape(-1, 2),
    )


@st.composite
def some_groups(draw: st.DrawFn) -> tuple[int, list[tuple[list[int], str | None]], list[tuple]]:
    n_rows = draw(st.integers(1, 9))
    rows = st.lists(st.integers(0, n_rows - 1), min_size=1, max_size=3, unique=True)
    name = st.one_of(st.none(), st.none(), st.sampled_from(NAMES))
    groups = draw(st.lists(st.tuples(rows, name), min_size=1, max_size=6))
    pair = st.tuples(*2 * [st.integers(0, len(groups) - 1)]).filter(lambda ends: ends[0] < ends[1])
    apart = draw(st.lists(pair, max_size=3)) if len(groups) > 1 else []
    return n_rows, groups, apart


def closure(groups: list[tuple[list[int], str | None]]) -> np.ndarray:
    """Which groups are of one cluster: closed by trying every triple, until nothing changes."""
    n = len(groups)
    one = np.eye(n, dtype=bool)
    for a, b in product(range(n), repeat=2):
        (rows, name), (others, other) = groups[a], groups[b]
        one[a, b] |= bool(set(rows) & set(others)) or (name is not None and name == other)
    for _ in range(n):
        for a, b, c in product(range(n), repeat=3):
            one[a, c] |= one[a, b] and one[b, c]
    return one


def meeting(groups: list[tuple[list[int], str | None]]) -> set[tuple[int, int]]:
    """Groups with different names that share a row, or meet through groups without one."""
    found = set()
    for a, b in combinations(range(len(groups)), 2):
        if None in (groups[a][1], groups[b][1]) or groups[a][1] == groups[b][1]:
            continue
        linking = [groups[a], groups[b], *(group for group in groups if group[1] is None)]
        if closure([(rows, None) for rows, _ in linking])[0, 1]:
            found.add((a, b))
    return found


@given(some_groups())
def test_clusters_and_contradictions_are_those_of_the_closure(drawn) -> None:
    n_rows, groups, apart = drawn
    number, described = contradictions(groups_of(n_rows, groups, apart))
    one, met = closure(groups), meeting(groups)
    broken = [place for place, (a, b) in enumerate(apart) if one[a, b]]
    assert [each.pair for each in described if each.pair is not None] == broken
    named = {(each.groups[0], each.groups[-1]) for each in described if each.pair is None}
    # Each group that contradicts another is shown with one that it contradicts.
    assert named <= met
    assert {end for pair in named for end in pair} == {end for pair in met for end in pair}
    assert number == len(described) == len(named) + len(broken)
    for each in described:
        check_chain(groups, apart, each)
    if not number:
        clusters = known(groups_of(n_rows, groups, apart))
        listed = {row for rows, _ in groups for row in rows}
        assert {row for row in range(n_rows) if clusters.code[row] >= 0} == listed
        assert (
            len(set(clusters.names))
            == len(clusters.names)
            == np.unique(clusters.code[sorted(listed)]).size
        )
        for a, b in product(range(len(groups)), repeat=2):
            row, other = groups[a][0][0], groups[b][0][0]
            assert (clusters.code[row] == clusters.code[other]) == one[a, b]
        for rows, name in groups:
            if name is not None:
                assert clusters.names[clusters.code[rows[0]]] == name
                assert clusters.code[rows[0]] < clusters.n_named


def check_chain(groups, apart, each: Contradiction) -> None:
    """Each group of the chain has its link in common with the next."""
    if each.pair is not None:
        assert (each.groups[0], each.groups[-1]) == apart[each.pair]
    assert len(each.links) == len(each.groups) - 1
    common = set()
    for (first, second), link in zip(
        zip(each.groups, each.groups[1:], strict=False), each.links, strict=True
    ):
        if isinstance(link, str):
            assert groups[first][1] == groups[second][1] == link
        else:
            assert link in groups[first][0]
            assert link in groups[second][0]
        common |= set(groups[first][0]) & set(groups[second][0])
    assert each.rows == tuple(sorted(common))
    assert each.n_rows == len(common)


def test_given_names_come_first_and_free_ones_by_their_first_row() -> None:
    clusters = known(
        groups_of(8, [([6, 7], None), ([1, 2], "cluster 1"), ([3, 4], None), ([4, 5], None)])
    )
    assert clusters.names == ["cluster 1", "cluster 2", "cluster 3"]
    assert clusters.n_named == 1
    np.testing.assert_array_equal(clusters.code, [-1, 0, 0, 1, 1, 1, 2, 2])


def test_the_chain_is_the_shortest() -> None:
    groups = [([0, 1], "a"), ([1, 2], None), ([2, 3], None), ([1, 3], None), ([3, 4], "b")]
    number, (each,) = contradictions(groups_of(5, groups))
    assert number == 1
    assert each.groups == (0, 3, 4)
    assert each.links == (1, 3)
    assert (each.n_rows, each.rows) == (2, (1, 3))


def test_many_contradictions_are_counted() -> None:
    n = 50
    groups = [([row], "a") for row in range(n)] + [([row], "b") for row in range(n)]
    number, described = contradictions(groups_of(n, groups))
    assert (number, len(described)) == (n, 20)
