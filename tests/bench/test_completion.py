"""Hidden nodes, and when one counts as found and as placed."""

from __future__ import annotations

import numpy as np

from bench.completion import NewNodes, Puzzle, by_ward, drawn, outcome, precision

PATHS = [(top, f"{top}{leaf}") for top in "abcdef" for leaf in range(5) for _ in range(10)]


def test_a_fifth_is_hidden_and_parents_keep_two_children() -> None:
    puzzle = drawn(PATHS, np.random.default_rng(0))
    kinds = list(puzzle.hidden.values())
    assert (kinds.count("subtree"), kinds.count("leaf"), kinds.count("within")) == (1, 6, 5)
    for top in "abcdef":
        left = {path for path in PATHS if path[0] == top and path not in puzzle.hidden}
        assert len(left) >= 2 or (top,) in puzzle.hidden
    hidden_rows = [path in puzzle.hidden for path in PATHS]
    assert not puzzle.known[hidden_rows].any()
    assert 0.3 < puzzle.known[~np.array(hidden_rows)].mean() < 0.7


def test_found_and_placed() -> None:
    path_of = [("a", "x"), ("a", "y"), ("b", "u"), ("b", "v")] * 4
    hidden = {("a", "y"): "leaf", ("b",): "subtree", ("b", "u"): "within", ("b", "v"): "within"}
    known = np.array([path == ("a", "x") for path in path_of])
    rows = [[path[0] == "b" for path in path_of], *([p == own for p in path_of] for own in hidden)]
    kept = np.array([rows[0], rows[1], rows[3]])  # b, a/y, b/u; b/v is not found
    puzzle = Puzzle(path_of, hidden, known)
    right = outcome(puzzle, NewNodes(kept, [(), ("a",), 0]))
    assert right[("a", "y")] == (1.0, 1.0, 1.0)
    assert right[("b",)] == (1.0, 1.0, 1.0)
    assert right[("b", "u")] == (1.0, 1.0, 1.0)
    # The best match of b/v is b itself, with two thirds, which is no node below b.
    assert right[("b", "v")][1:] == (1.0, 0.0)
    assert precision(puzzle, NewNodes(kept, [(), ("a",), 0])) == 1.0
    none = np.array([[path == ("a", "x") for path in path_of]])
    assert precision(puzzle, NewNodes(np.vstack([kept, none]), [(), ("a",), 0, ()])) == 0.75
    assert precision(puzzle, NewNodes(none[:0], [])) == 0.0
    wrong = outcome(puzzle, NewNodes(kept, [("a",), (), ("a",)]))
    assert [score[2] for score in wrong.values()] == [0.0] * 4


def test_wards_tree_is_cut_to_as_many_nodes() -> None:
    puzzle = drawn(PATHS, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    leaf = np.unique(np.array(["/".join(path) for path in PATHS]), return_inverse=True)[1]
    points = (20.0 * rng.normal(size=(30, 5))[leaf] + rng.normal(size=(len(PATHS), 5))).astype("f4")
    many, few = (by_ward(points, puzzle, n_nodes) for n_nodes in (58, 7))
    assert (len(many.parent), len(few.parent)) == (58, 6)
    # The uppermost ones: each of the few is among the many, and none holds a labelled row.
    every = {rows.tobytes() for rows in many.rows}
    assert all(rows.tobytes() in every for rows in few.rows)
    assert not (many.rows & puzzle.known).any()
    is_found = [score[1] for path, score in outcome(puzzle, many).items() if len(path) == 2]
    assert np.mean(is_found) == 1.0
    assert precision(puzzle, many) < 0.5
