"""Hidden nodes, and when one counts as found and as placed."""

from __future__ import annotations

import numpy as np

from bench.completion import Found, Puzzle, drawn, outcome

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
    right = outcome(puzzle, Found(kept, [(), ("a",), 0]))
    assert right[("a", "y")] == (1.0, 1.0, 1.0)
    assert right[("b",)] == (1.0, 1.0, 1.0)
    assert right[("b", "u")] == (1.0, 1.0, 1.0)
    # The best match of b/v is b itself, with two thirds, which is no node below b.
    assert right[("b", "v")][1:] == (1.0, 0.0)
    wrong = outcome(puzzle, Found(kept, [("a",), (), ("a",)]))
    assert [score[2] for score in wrong.values()] == [0.0] * 4
