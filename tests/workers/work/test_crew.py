"""The child's side of a fit in pieces: each piece is yielded once, with progress."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.arrays import Arrays
from models.running.progress import SHARED, Piece, Progress, silent
from workers.artifacts.results import mapped_arrays, save_arrays
from workers.model import MOST_PIECES
from workers.work.crew import LARGEST_POST, Assignment, Crew


class BoardWithHelpers:
    """A board that hands out pieces in `order`, of which helpers have already computed `theirs`."""

    def __init__(self, folder: Path, order: Sequence[int], theirs: set[int]) -> None:
        self.folder, self.order, self.theirs = folder, list(order), theirs
        self.pieces: list[Piece] = []
        self.finished: list[int | None] = []

    def post(self, pieces: Sequence[Piece], shared: Path | None) -> None:
        self.pieces, self.shared = list(pieces), shared

    def next(self, finished: int | None) -> Assignment:
        number = self.order[len(self.finished)]
        self.finished.append(finished)
        if number not in self.theirs:
            return Assignment(number=number)
        own = self.folder / str(number)
        own.mkdir()
        return Assignment(number=number, path=save_arrays(doubled(self.pieces[number]), own))


def doubled(piece: Piece, progress: Progress = silent) -> Arrays:
    for fraction in (0.0, 0.25, 0.5):
        progress(fraction, "doubling")
    return {"twice": np.array(piece["values"]) * 2}


class RecordedProgress:
    """A `Progress` that records each report."""

    def __init__(self) -> None:
        self.fractions: list[float] = []
        self.messages: list[str] = []

    def __call__(self, fraction: float, stage: str, message: str = "") -> None:
        assert stage == "doubling"
        self.fractions.append(fraction)
        self.messages.append(message)


def pieces_of(count: int) -> list[Piece]:
    return [{"values": (number, number + 0.5)} for number in range(count)]


@given(
    st.integers(2, 6).flatmap(
        lambda n: st.tuples(st.permutations(range(n)), st.sets(st.integers(0, n - 1)))
    )
)
def test_each_piece_is_yielded_once_whoever_computed_it(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[int], set[int]]
) -> None:
    order, theirs = drawn
    board = BoardWithHelpers(tmp_path_factory.mktemp("board"), order, theirs)
    progress = RecordedProgress()
    crew = Crew(doubled, progress, len(order), board)
    assert crew.n_pieces == len(order)
    results = list(crew.compute(pieces_of(len(order))))
    assert [number for number, _ in results] == order
    for number, arrays in results:
        assert arrays["twice"].tolist() == [2 * number, 2 * number + 1]
    assert board.pieces == [{"values": [number, number + 0.5]} for number in range(len(order))]
    # It reports a computed piece with its next request.
    assert board.finished == [None, *(n if n not in theirs else None for n in order[:-1])]
    if len(theirs) < len(order):
        assert all(a <= b for a, b in pairwise(progress.fractions))
        assert progress.fractions[-1] == 0.5
        assert progress.messages[-1] == f"{len(order)} of {len(order)} pieces"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_without_a_board_it_computes_all_in_order(count: int) -> None:
    progress = RecordedProgress()
    results = list(Crew(doubled, progress, count).compute(pieces_of(count)))
    assert [number for number, _ in results] == list(range(count))
    assert progress.fractions == sorted(progress.fractions)
    assert (progress.fractions[0], progress.fractions[-1]) == (0.0, 0.5)


def added(piece: Piece, progress: Progress = silent) -> Arrays:
    """The piece's number added to the arrays that it shares."""
    return {name: array + piece["number"] for name, array in piece[SHARED].items()}


SHARED_ARRAYS = {
    "wide": np.arange(6.0).reshape(2, 3),
    "half": np.arange(3, dtype=np.float16),
    "code": np.arange(5, dtype=np.int32),
    "byte": np.array([1, 2, 3], dtype=np.int8),
    "flag": np.array([True, False]),
    "none": np.zeros((0, 4)),
}


@pytest.mark.parametrize("on_board", [True, False])
def test_pieces_share_arrays(tmp_path: Path, on_board: bool) -> None:
    board = BoardWithHelpers(tmp_path, [1, 0], set()) if on_board else None
    pieces: list[Piece] = [{"number": number} for number in (0, 1)]
    parts = dict(Crew(added, silent, 2, board, tmp_path).compute(pieces, SHARED_ARRAYS))
    for number in (0, 1):
        for name, array in SHARED_ARRAYS.items():
            np.testing.assert_array_equal(parts[number][name], array + number)
    if board is not None:
        # A helper gets the same from the file; the pieces themselves stay plain JSON.
        assert board.pieces == pieces
        assert board.shared is not None
        mapped = mapped_arrays(board.shared)
        for name, array in SHARED_ARRAYS.items():
            np.testing.assert_array_equal(mapped[name], array)
            assert mapped[name].dtype == array.dtype
            assert not mapped[name].flags.writeable


def test_one_piece_or_too_many_bytes_are_not_posted(tmp_path: Path) -> None:
    board = BoardWithHelpers(tmp_path, [], set())
    crew = Crew(doubled, silent, 2, board)
    assert len(list(crew.compute(pieces_of(1)))) == 1
    large: Piece = {"values": [1.5] * (LARGEST_POST // 8)}
    assert len(list(crew.compute([large, large]))) == 2
    assert len(list(crew.compute(pieces_of(MOST_PIECES + 1)))) == MOST_PIECES + 1
    assert board.pieces == []


def test_no_pieces_at_all(tmp_path: Path) -> None:
    assert list(Crew(doubled, silent, 2, BoardWithHelpers(tmp_path, [], set())).compute([])) == []


@pytest.mark.parametrize("odd", [float("nan"), np.int64(3), {1, 2}])
def test_a_piece_that_is_not_json_is_a_fault(tmp_path: Path, odd: object) -> None:
    board = BoardWithHelpers(tmp_path, [0, 1], set())
    with pytest.raises((TypeError, ValueError)):
        next(Crew(doubled, silent, 2, board).compute([{"values": odd}] * 2))
