"""Geometry of drawings against a naive recursive version."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tree.layout import along, layout, readable_scale


@st.composite
def parents(draw: st.DrawFn) -> npt.NDArray[np.int32]:
    n = draw(st.integers(1, 30))
    return np.array([-1] + [draw(st.integers(0, i - 1)) for i in range(1, n)], dtype=np.int32)


def naive(parent: npt.NDArray[np.int32], weight: npt.NDArray[np.float64]) -> list[list[float]]:
    """x, left and right of each node, from the definition: tips side by side, depth first."""
    children = [np.flatnonzero(parent == node).tolist() for node in range(len(parent))]
    tips = [node for node, below in enumerate(children) if not below]
    total = sum(weight[tips])
    out = [[0.0, 0.0, 0.0] for _ in parent]
    edge = 0.0

    def visit(node: int) -> None:
        nonlocal edge
        start = edge
        for child in children[node]:
            visit(child)
        if not children[node]:
            edge += weight[node] / total
            x = (start + edge) / 2
        else:
            x = (out[children[node][0]][0] + out[children[node][-1]][0]) / 2
        out[node] = [x, start, edge]

    visit(0)
    return out


@given(parents(), st.integers(0, 2**32 - 1))
def test_across_is_the_definition(parent: npt.NDArray[np.int32], seed: int) -> None:
    weight = np.random.default_rng(seed).uniform(0.5, 9, len(parent))
    got = layout(parent, np.zeros(len(parent)), weight=weight)
    expected = np.array(naive(parent, weight))
    np.testing.assert_allclose(np.stack([got.x, got.left, got.right], axis=1), expected, atol=1e-12)
    assert (got.left <= got.x).all()
    assert (got.x <= got.right).all()


#        0          heights 4, 2, 0, 0, 1, 0
#      /   \
#     1     4
#    / \     \
#   2   3     5
PARENT = np.array([-1, 0, 1, 1, 0, 4])
HEIGHT = np.array([4.0, 2, 0, 0, 1, 0])


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("height", [0, 0.5, 1, 1, 0.75, 1]),
        ("sqrt", [0, 1 - 0.5**0.5, 1, 1, 0.5, 1]),
        ("rank", [0, 1 / 3, 1, 1, 2 / 3, 1]),
        ("depth", [0, 0.5, 1, 1, 0.5, 1]),
        ("level", [0, 0.5, 1, 1, 0.5, 1]),
    ],
)
def test_along_by_each_scale(scale: str, expected: list[float]) -> None:
    np.testing.assert_allclose(along(PARENT, HEIGHT, scale), expected)  # type: ignore[arg-type]


def test_lowest_moves_the_ground() -> None:
    assert along(PARENT[:1], HEIGHT[:1], lowest=0.0).tolist() == [0.0]
    np.testing.assert_allclose(along(PARENT, HEIGHT, lowest=-4.0)[2], 0.5)


def test_equal_heights_become_levels() -> None:
    assert along(PARENT, np.full(6, 7.0)).tolist() == along(PARENT, HEIGHT, "level").tolist()
    assert readable_scale(PARENT, np.full(6, 7.0)) == "level"


def test_heights_out_of_order_and_huge_stay_in_the_square() -> None:
    for height in ([0.0, 9, -3, 1, 2, 2], [1.7e308, 0, -1.7e308, 0, 0, 0]):
        y = along(PARENT, np.array(height))
        assert np.isfinite(y).all()
        assert y.min() >= 0
        assert y.max() <= 1


def test_readable_scale_looks_where_the_inner_nodes_are() -> None:
    # A chain of 100 merges: its leaves lie at height 0.
    n = 100
    parent = np.array([-1] + [2 * (i // 2) for i in range(2 * n - 2)])
    inner = np.zeros(2 * n - 1, dtype=bool)
    inner[::2] = True
    inner[-1] = False
    orders = np.where(inner, np.arange(2 * n - 1)[::-1].astype(float), 0.0)
    assert readable_scale(parent, orders) == "height"
    assert readable_scale(parent, orders**3) == "sqrt"
    assert readable_scale(parent, orders**20) == "rank"


def test_a_chain_of_200_000_nodes() -> None:
    n = 200_000
    got = layout(np.arange(-1, n - 1), np.arange(n)[::-1].astype(float))
    assert got.x.tolist() == [0.5] * n
    assert got.y[-1] == 1.0
