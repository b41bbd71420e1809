"""What the constraints of an agglomeration are read from, and which contradict each other."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import Cancelled, UsageError
from models.inputs.data import Data
from models.methods.features.linkage.all_pairs import Linkage
from models.tree import class_paths
from models.tree.build import from_partition
from tests.models.methods.features.linkage.constrained_kit import (
    HAC,
    Known,
    euclidean,
    fit,
    graph_as,
    heights_of,
    inputs_of,
    random_known,
    same,
)

POINTS = np.random.default_rng(0).normal(size=(8, 2))
NAMES = list("abcdefgh")
PATH = np.array([[row, row + 1] for row in range(7)])


def refused(inputs: dict[str, Any], **params: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        fit({"features": POINTS, **inputs}, **params)
    return caught.value


def test_the_drawn_tree() -> None:
    r"""Rows 0, 1 and 2 are one group; 3 and 4 are apart, so that they meet in the root.

         |
       __|___
      |      |
     _|_    _|__
    0 1 2  3  | |     (3 and its nearest, 4 and the linked rows)
    """
    points = np.array([[0.0], [5.0], [5.1], [9.0], [9.1]])
    fitted = fit(
        {
            "features": points,
            "must_link": [[0, 1], [1, 2]] @ np.eye(2),
            "cannot_link": np.array([[4, 3]]),
        },
        linkage="single",
    )
    heights = heights_of(fitted.tree)
    wanted = {frozenset([0, 1, 2]): 0.0, frozenset([0, 1, 2, 3]): 3.9}
    same(heights, {**wanted, frozenset(range(5)): float(np.nextafter(9.0 - 5.1, np.inf))})
    assert fitted.metrics == {"n_inversions": 0.0, "n_groups": 3.0, "n_forced": 1.0}
    assert len(fitted.warnings) == 1
    assert "1 merge(s) join rows that 'cannot_link' keeps apart" in fitted.warnings[0]


@pytest.mark.parametrize("linkage", get_args(Linkage))
@settings(max_examples=settings().max_examples // 2)
@given(
    role=st.sampled_from(["features", "distances", "similarity"]),
    seed=st.integers(0, 10**6),
    which=st.sampled_from(["m", "gc", "mct", "gmct"]),
)
def test_the_order_of_rows_does_not_matter(role: str, linkage: str, seed: int, which: str) -> None:
    rng = np.random.default_rng(seed)
    n = 12
    known, points = random_known(rng, n, which), rng.normal(size=(n, 3))
    order = rng.permutation(n)  # new row i is old row order[i]
    place = np.argsort(order)

    def moved(pairs: Any) -> Any:
        return None if pairs is None else [(int(place[a]), int(place[b])) for a, b in pairs]

    other = Known(n, moved(known.must), moved(known.cannot), moved(known.graph))
    other.clades = [frozenset(place[sorted(c)].tolist()) for c in known.clades]
    other.over = frozenset(place[sorted(known.over)].tolist())
    values = {"features": points, "distances": euclidean(points), "similarity": -euclidean(points)}
    drawn = {"features": points[order]}
    if role != "features":
        drawn = {role: values[role][np.ix_(order, order)]}
    one = fit({role: values[role], **inputs_of(known, rng)}, linkage=linkage)
    two = fit({**drawn, **inputs_of(other, rng)}, linkage=linkage)
    found = heights_of(two.tree)
    same({frozenset(order[sorted(rows)].tolist()): at for rows, at in found.items()},
         heights_of(one.tree))  # fmt: skip


def test_all_forms_of_a_graph_are_one() -> None:
    known = Known(8, graph=[(0, 1), (1, 4), (2, 3), (3, 5), (4, 5), (5, 6), (6, 7)])
    wanted = heights_of(fit({"features": POINTS, "graph": np.array(known.graph)}).tree)
    text = np.array([[NAMES[a], NAMES[b]] for a, b in known.graph or []], dtype=object)
    for form in ("dense", "sparse"):
        same(heights_of(fit({"features": POINTS, "graph": graph_as(known, form)}).tree), wanted)
    same(heights_of(fit({"features": POINTS, "graph": text, "names": NAMES}).tree), wanted)
    numbers = np.array([[str(a), str(b)] for a, b in known.graph or []], dtype=object)
    same(heights_of(fit({"features": POINTS, "graph": numbers}).tree), wanted)


def test_pairs_by_name_are_pairs_by_number() -> None:
    by_number = {"must_link": np.array([[0, 3]]), "cannot_link": np.array([[3, 7]])}
    by_name = {
        "must_link": np.array([["a", "d"]], dtype=object),
        "cannot_link": np.array([["d", "h"]], dtype=object),
        "names": NAMES,
    }
    wanted = heights_of(fit({"features": POINTS, **by_number}).tree)
    same(heights_of(fit({"features": POINTS, **by_name}).tree), wanted)


def test_a_leaf_has_all_rows_of_its_name() -> None:
    names = ["x", "y", "x", "y", "z", "z", "u", "x"]
    tree = class_paths.read("top/x\ntop/y\nz\nw")
    fitted = fit({"features": POINTS, "hierarchy": tree, "names": names})
    clades = set(heights_of(fitted.tree))
    for wanted in ({0, 2, 7}, {1, 3}, {4, 5}, {0, 1, 2, 3, 7}):
        assert any(set(rows) - {6} == wanted for rows in clades)
    assert "1 leaf or leaves of the known tree name no row and were left out: 'w'." in (
        fitted.warnings
    )
    assert "1 row(s) are not in the known tree; they may be anywhere in the result." in (
        fitted.warnings
    )


def test_a_partition_of_the_rows_is_a_known_tree() -> None:
    cluster = np.array([0, 1, 0, 1, 2, 2, 0, 1])
    fitted = fit({"features": POINTS, "hierarchy": from_partition(cluster, 3)})
    clades = set(heights_of(fitted.tree))
    assert {frozenset(np.flatnonzero(cluster == c).tolist()) for c in range(3)} <= clades


@pytest.mark.parametrize(
    ("inputs", "where", "parts"),
    [
        (
            {"must_link": PATH[:3], "cannot_link": np.array([[0, 3]])},
            {"role": "cannot_link", "rows": [0, 1, 2, 3]},
            ["Pairs of rows", "rows 0 and 3 are apart ('cannot_link', pair 0), yet one cluster",
             "0 and 1 are linked ('must_link', pair 0)",
             "2 and 3 are linked ('must_link', pair 2)"],
        ),
        (
            {"must_link": np.array([[2, 5], [0, 1]]), "graph": PATH[[0, 1, 3, 4, 5]]},
            {"role": "must_link", "rows": [2, 5]},
            ["'must_link' and 'graph'", "pair 0 links rows 2 and 5", "no path of edges"],
        ),
        (
            {"must_link": np.array([[0, 6], [6, 2]]),
             "hierarchy": class_paths.read("left/0\nleft/1\n2")},
            {"role": "hierarchy", "rows": [0, 2, 1]},
            ["'must_link' and 'hierarchy'", "link row 0 to row 2", "node 'left'",
             "has rows 0 and 1, not row 2"],
        ),
    ],
)  # fmt: skip
def test_contradictions_are_named(
    inputs: dict[str, Any], where: dict[str, Any], parts: list[str]
) -> None:
    error = refused(inputs)
    assert (error.code, error.where) == ("contradiction", where)
    assert not [part for part in parts if part not in error.detail]


@pytest.mark.parametrize(
    ("inputs", "code", "part"),
    [
        ({"must_link": np.array([[0, 8]])}, "wrong-input", "are numbered 0 to 7"),
        ({"must_link": np.array([[3, 3]])}, "wrong-input", "pairs row 3 with itself at row 0"),
        ({"must_link": np.array([[0, 1, 2]])}, "wrong-shape", "two columns"),
        ({"cannot_link": np.array([["0", "x"]], dtype=object)}, "wrong-input", "names 'x' at"),
        (
            {"cannot_link": np.array([["a", "b"]], dtype=object), "names": ["a", "a", *"bcdefg"]},
            "wrong-input",
            "the name of several rows",
        ),
        ({"graph": np.ones((8, 7))}, "wrong-shape", "8 rows and 7 columns"),
        ({"graph": sp.csr_array(np.ones((7, 7)))}, "wrong-shape", "7 rows and 7 columns"),
        ({"graph": np.full((8, 8), np.nan)}, "not-finite", "NaN at row 0, column 0"),
        ({"graph": np.array([[0.5, 1]])}, "wrong-input", "has 0.5 at row 0, column 0"),
        ({"hierarchy": class_paths.read("a/x\na/y")}, "wrong-input", "names no row"),
        ({"hierarchy": class_paths.read("a/0\nb/0")}, "wrong-input", "two leaves of the name '0'"),
        ({"hierarchy": from_partition([0, 0, 1], 2)}, "wrong-input", "3 in all"),
    ],
)  # fmt: skip
def test_unusable_constraints_are_named(inputs: dict[str, Any], code: str, part: str) -> None:
    error = refused(inputs)
    assert error.code == code
    assert part in error.detail


def test_a_graph_and_nearest_neighbours_exclude_each_other() -> None:
    error = refused({"graph": PATH}, connectivity="knn")
    assert error.where == {"parameter": "connectivity"}


@pytest.mark.parametrize(
    ("inputs", "part"),
    [
        ({"graph": PATH[:5]}, "The graph has 3 parts that no edge joins."),
        ({"graph": PATH[:5]}, "2 merge(s) join parts of the graph"),
        ({"graph": np.eye(8, k=1) * np.arange(1, 9)}, "The values in input 'graph' differ"),
        ({"graph": np.eye(8, k=1)}, "7 edge(s) of input 'graph' are given in one direction"),
        ({"graph": PATH, "must_link": np.array([[0, 7]])}, "1 group(s) of rows that must link are"),
        ({"cannot_link": np.array([[0, 7]])}, "The first joins two of 2 clusters"),
    ],
)
def test_what_gives_way_is_warned_of(inputs: dict[str, Any], part: str) -> None:
    warnings = fit({"features": POINTS, **inputs}).warnings
    assert any(part in warning for warning in warnings), warnings


def test_must_links_along_nearest_neighbours() -> None:
    """Rows that coincide, too, stay apart where pairs say so."""
    points = np.repeat(POINTS, 2, axis=0)
    fitted = fit(
        {"features": points, "must_link": np.array([[0, 15]]), "cannot_link": np.array([[4, 5]])},
        connectivity="knn",
        n_neighbors=3,
    )
    heights = heights_of(fitted.tree)
    assert heights[frozenset([0, 15])] == 0.0
    assert max(heights.values()) == heights[frozenset(range(16))]
    assert not any({4, 5} <= rows for rows in heights if len(rows) < 16)


@pytest.mark.parametrize("role", ["features", "distances"])
def test_merging_can_be_cancelled(role: str) -> None:
    stages = []

    def cancel(fraction: float, stage: str, message: str = "") -> None:
        stages.append(stage)
        if stage == "merging":
            raise Cancelled

    values = POINTS if role == "features" else euclidean(POINTS)
    with pytest.raises(Cancelled):
        HAC.fit(Data({role: values, "graph": PATH}), HAC.Params(), cancel)
    assert stages[-1] == "merging"


@pytest.mark.parametrize("depth", [3000])
def test_a_known_chain_is_kept(depth: int) -> None:
    r"""0 and 1 merge first, then 2, ... whatever their distances; each below its own node.

        |
       _|_
      |   2
     _|_
    0   1
    """
    parent = np.concatenate([np.arange(-1, depth - 2), np.arange(depth - 1), [depth - 2]])
    names = [None] * (depth - 1) + [str(row) for row in range(depth)]
    from models.tree.build import from_parents

    tree = from_parents(parent, np.zeros(parent.size), names, monotone=False)
    points = np.random.default_rng(0).normal(size=(depth, 1))
    graph = np.array([[row, row + 1] for row in range(depth - 1)])
    fitted = fit({"features": points, "hierarchy": tree, "graph": graph}, linkage="single")
    assert fitted.tree.max_depth == depth - 1


def test_predictions_need_no_constraints() -> None:
    fitted = fit({"features": POINTS, "must_link": PATH[:2], "graph": PATH})
    assert fitted.model is not None
    leaves = HAC.predict(fitted.model, fitted.tree, Data({"features": POINTS})).leaf
    assert (leaves == fitted.tree.leaf_of_point).all()
