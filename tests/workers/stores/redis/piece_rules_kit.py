"""Rules about the pieces of an attempt."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    precondition,
    rule,
)

from tests.workers.stores.redis.calls_kit import (
    Calls,
    S,
    few,
    leases,
    pieces,
    seconds,
    tokens,
    usual,
)


class PieceRules(Calls):
    @rule(
        data=st.data(),
        holds=usual,
        first=st.sampled_from([1, 1, 3]),
        n_pieces=st.sampled_from([1, 3]),
        check=seconds,
    )
    @precondition(Calls.begun)
    def board_post(
        self, data: st.DataObject, holds: bool, first: int, n_pieces: int, check: int
    ) -> None:
        id = self.running(data)
        texts = [f"[{number}]" for number in range(n_pieces)]
        row: tuple[Any, ...] = (id, self.fence_of(id, holds), "ada", check, first, *texts)
        self.call("board_post", self.book.board_post(*row), *row)

    @rule(
        data=st.data(),
        holds=usual,
        n_seen=st.sampled_from([0, 1, 5]),
        finishes=st.booleans(),
        finished=st.lists(pieces, max_size=1),
    )
    @precondition(lambda self: self.book.board)
    def board_next(
        self,
        data: st.DataObject,
        holds: bool,
        n_seen: int,
        finishes: bool,
        finished: list[str],
    ) -> None:
        id = self.with_board(data)
        fence = self.fence_of(id, holds)
        mine = self.book.board[id, fence].mine
        if finishes and mine is not None and mine not in finished:
            finished = [*finished, mine]
        row: tuple[Any, ...] = (id, fence, n_seen, *finished)
        self.call("board_next", self.book.board_next(*row), *row)

    @rule(data=st.data(), token=tokens, lease=leases, most=st.sampled_from([1, 2]))
    @precondition(lambda self: self.book.board)
    def board_take(self, data: st.DataObject, token: str, lease: int, most: int) -> None:
        row = (self.with_board(data), token, lease, most)
        self.call("board_take", self.book.board_take(*row), *row)

    @rule(
        data=st.data(),
        holds=usual,
        lease=leases,
        what=st.sampled_from(["beat", "done", "done", "back", "forgiven", "own"]),
    )
    @precondition(lambda self: self.book.board)
    def board_tell(self, data: st.DataObject, holds: bool, lease: int, what: str) -> None:
        """A helper speaks of a piece that it or another one has, or had."""
        boards = list(self.book.board)
        id, fence = data.draw(st.sampled_from(boards))
        board = self.book.board[id, fence]
        k = data.draw(st.sampled_from([*board.holders] * 2 or ["1"]))
        token = board.holders.get(k, "none") if holds else data.draw(tokens)
        if token == fence:
            return  # The attempt itself is no helper.
        row = (id, fence, k, token, lease, what)
        self.call("board_tell", self.book.board_tell(*row), *row)

    @rule(
        data=st.data(),
        calls=st.lists(
            st.sampled_from(["take", "take", "tell", "tell", "next", "next", "wait"]),
            min_size=4,
            max_size=12,
        ),
    )
    @precondition(lambda self: self.book.board)
    def pieces_are_computed(self, data: st.DataObject, calls: list[str]) -> None:
        """Several calls about boards in turn: single ones seldom come far."""
        reports = st.sampled_from(["done", "done", "beat", "forgiven", "own"])
        for call in calls:
            if call == "take":
                self.board_take(data, data.draw(tokens), S, data.draw(st.sampled_from([1, 2])))
            elif call == "tell":
                self.board_tell(data, True, data.draw(leases), data.draw(reports))
            elif call == "next":
                finished = data.draw(st.sampled_from([[], [], ["1"], ["2"]]))
                self.board_next(data, True, data.draw(st.sampled_from([0, 1])), True, finished)
            else:
                self.book.now += data.draw(leases)

    @rule(data=st.data(), holds=usual, late=leases)
    @precondition(lambda self: self.book.board)
    def board_close(self, data: st.DataObject, holds: bool, late: int) -> None:
        id = self.with_board(data)
        row = (id, self.fence_of(id, holds), "ada", late)
        self.call("board_close", self.book.board_close(*row), *row)

    @rule(most=few, check=leases, again=leases, late=leases)
    @precondition(lambda self: self.book.boards)
    def board_sweep(self, most: int, check: int, again: int, late: int) -> None:
        row = (most, check, again, late)
        self.call("board_sweep", self.book.board_sweep(*row), *row)
