"""Questions answered by one who knows the tree, and bounds on what nested nodes can find."""

from __future__ import annotations

import numpy as np

from bench.completion import NewNodes, Puzzle
from bench.taxonomy import Doubt, measured, nested, right_place, worth_asking
from models.arrays import Array

PATHS = [(top, f"{top}{leaf}") for top in "abcd" for leaf in range(4) for _ in range(12)]
HIDDEN = {("a", "a0"): "leaf", ("b", "b0"): "leaf"}


def puzzle() -> tuple[Puzzle, Array]:
    """Two leaves are hidden; leaves far apart."""
    rng = np.random.default_rng(0)
    known = np.array([path not in HIDDEN for path in PATHS])
    known &= np.arange(len(PATHS)) % 2 == 0
    number = {path: at for at, path in enumerate(sorted(set(PATHS)))}
    centers = rng.normal(size=(4, 6)).repeat(4, axis=0) * 8 + rng.normal(size=(16, 6)) * 4
    leaf = np.array([number[path] for path in PATHS])
    points = centers[leaf] + 0.2 * rng.normal(size=(len(PATHS), 6))
    return Puzzle(PATHS, HIDDEN, known), points.astype(np.float32)  # type: ignore[arg-type]


def test_answers_are_those_of_one_who_knows() -> None:
    one = Doubt(7, ["a", "the root"])
    assert one.answers("a") == ["7 under a"]
    assert one.answers("b") == ["7 not under a", "7 not under the root"]
    own, _ = puzzle()
    rows = np.array([[path == ("a", "a0") for path in PATHS], [path[0] == "c" for path in PATHS]])
    found = NewNodes(rows, [("b",), ("d",)])
    # The first is a0, and the second no hidden node: its row is of c/c1.
    assert right_place(own, found, 0) == "a"
    assert right_place(own, found, PATHS.index(("c", "c1"))) == "c"
    # Only a0 is found and hangs wrong.
    may = [Doubt(0, ["b", "a"]), Doubt(PATHS.index(("c", "c1")), ["d", "c"])]
    assert worth_asking(own, found, may) == may[:1]


def test_all_is_found_where_leaves_lie_far_apart() -> None:
    own, points = puzzle()
    assert nested(points, np.flatnonzero(~own.known), own) == {"leaf found": 1.0}
    shares = measured(points, own, 0)
    assert shares["at once"]["leaf found"] == 1.0
    assert shares["at once"]["any new node"] == 1.0
    assert shares["nothing hidden"] == {"any new node": 0.0}
    assert shares["trained"] == {"leaf found": 1.0}
    for what in ("", ", answers", ", random", ", ideal"):
        own_share = shares[f"classes{what}"]["leaf placed"]
        assert own_share >= shares["classes"]["leaf placed"]
    assert shares["classes, ideal"]["leaf placed"] == 1.0
