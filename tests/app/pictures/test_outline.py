"""A tree as text for a terminal."""

from __future__ import annotations

from typing import Any

from app.pictures.outline import outline


def nodes(*parents: int | None, names: dict[int, str] | None = None) -> list[dict[str, Any]]:
    return [
        {"id": node, "parent": parent, "name": (names or {}).get(node)}
        for node, parent in enumerate(parents)
    ]


def test_a_small_tree_fits_on_one_line() -> None:
    #   0
    #  / \
    # a   2
    #    / \
    #   b   c
    tree = nodes(None, 0, 0, 2, 2, names={1: "a", 3: "b", 4: "c"})
    assert outline(tree) == "a, b, c"


def test_larger_subtrees_branch_and_the_largest_comes_last() -> None:
    #        0
    #     /     \
    #    1       2
    #  / | \    / \
    # a  b  c  d   e
    tree = nodes(None, 0, 0, 1, 1, 1, 2, 2, names={3: "a", 4: "b", 5: "c", 6: "d", 7: "e"})
    assert outline(tree, fold=3).splitlines() == ["(5)", "├─ d, e", "└─ a, b, c"]


def test_leaves_that_split_off_one_by_one_share_a_line() -> None:
    # a caterpillar: each inner node has one leaf and the rest
    parents: list[int | None] = [None]
    names = {}
    inner = 0
    for step in range(6):
        leaf = len(parents)
        parents += [inner, inner]
        names[leaf] = f"leaf{step}"
        inner = leaf + 1
    names[inner] = "last"
    assert outline(nodes(*parents, names=names), fold=2).splitlines() == [
        "(7)",
        "├─ one by one: leaf0, leaf1, leaf2, leaf3, leaf4",
        "└─ leaf5, last",
    ]


def test_a_chain_of_100_000_nodes_and_a_single_one() -> None:
    chain = nodes(None, *range(100_000), names={100_000: "end"})
    assert outline(chain) == "end"
    assert outline(nodes(None, names={0: "alone"})) == "alone"


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in outline(nodes(None, 0, 0, names={1: "a\x1b[31m", 2: "b\r"}))
