"""A fit cut into pieces: the board, the desk and helpers, over a real Valkey and a real store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.arrays import Arrays
from models.method import Piece
from models.progress import Progress, silent
from tests.workers.conftest import Server
from tests.workers.jobs_kit import Sent, end, request
from workers.artifacts.results import load_arrays, save_arrays
from workers.assembly import Assembly, assemble
from workers.child.crew import Crew, Reply
from workers.errors import FatalError, StoreUnavailable
from workers.jobs.pieces import n_pieces
from workers.model import MOST_PIECES, Claim, Share
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.supervisor.pieces import Desk

T = TypeVar("T")
ROWS = np.random.default_rng(0).normal(size=(60, 3))


def cut(n_cut: int) -> list[Piece]:
    """Ranges of the rows, of unequal lengths."""
    bounds = np.linspace(0, len(ROWS), n_cut + 1).astype(int).tolist()
    return [{"start": a, "stop": b} for a, b in pairwise(bounds)]


def squares(piece: Piece, progress: Progress = silent) -> Arrays:
    part = ROWS[piece["start"] : piece["stop"]]
    return {"squared": part**2, "sum": np.asarray(part.sum())}


def merged(parts: Iterator[tuple[int, Arrays]], n_cut: int) -> np.ndarray[Any, Any]:
    """What a fit does with them: each once, put together in order."""
    found = dict(parts)
    assert sorted(found) == list(range(n_cut))
    return np.concatenate([found[number]["squared"] for number in range(n_cut)])


class Line:
    """A child's way to a desk of the same thread; `between` is called before each question."""

    def __init__(self, desk: Desk, between: Callable[[], None] = lambda: None) -> None:
        self.desk = desk
        self.between = between
        self.given: list[Reply] = []

    def post(self, pieces: Sequence[Piece]) -> None:
        self.desk.post(pieces)

    def next(self, finished: int | None) -> Reply:
        self.between()
        self.desk.ask(finished)
        until = time.monotonic() + 20.0
        while (reply := self.desk.answer(at_once)) is None:
            assert time.monotonic() < until, "the desk gives no answer"
            self.desk.invite()
            time.sleep(0.01)
        self.given.append(reply)
        return reply


def at_once(work: Callable[[], T]) -> T:
    return work()


def begun(assembly: Assembly) -> Claim:
    """A job that runs."""
    asked = request()
    assembly.ledger.submit(asked)
    claim = assembly.ledger.claim(asked.id, "w")
    assert claim is not None
    return claim


def desk_of(assembly: Assembly, settings: WorkerSettings, claim: Claim) -> Desk:
    return Desk(assembly.ledger.pieces, claim, settings)


def computed(share: Share, folder: Path) -> Path:
    own = folder / share.token
    own.mkdir()
    return save_arrays(squares(share.piece), own)


def stored(assembly: Assembly) -> list[str]:
    return list(assembly.blobs.keys(layout.PIECES))


def boards(assembly: Assembly, settings: WorkerSettings) -> list[str]:
    """All that Redis holds of boards."""
    return sorted(assembly.redis.scan_iter(f"{settings.key_prefix}board*"))


@pytest.mark.parametrize(
    ("n_bytes", "split", "piece", "wanted"),
    [
        (100, 100, 10, 1),
        (101, 100, 10, 11),
        (101, 100, 200, 1),
        (1 << 50, 100, 10, MOST_PIECES),
        (1 << 50, 0, 10, 1),
        (0, 100, 10, 1),
    ],
)
def test_how_many_pieces(n_bytes: int, split: int, piece: int, wanted: int) -> None:
    assert n_pieces(n_bytes, WorkerSettings(split_bytes=split, piece_bytes=piece)) == wanted


@pytest.mark.parametrize("n_cut", [1, 2, 7])
def test_without_helpers_the_child_computes_all_in_order(
    assembly: Assembly, settings: WorkerSettings, n_cut: int
) -> None:
    claim = begun(assembly)
    line = Line(desk_of(assembly, settings, claim))
    parts = Crew(squares, silent, n_cut, line).compute(cut(n_cut))
    np.testing.assert_array_equal(merged(parts, n_cut), ROWS**2)
    assert [reply.number for reply in line.given] == (list(range(n_cut)) if n_cut > 1 else [])
    line.desk.close()
    assert boards(assembly, settings) == []


def test_a_helper_computes_what_is_free(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, sent: Sent
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    assembly.ledger.worker_seen("w")
    assembly.ledger.worker_seen("other")
    sent.clear()
    assert pieces.join(claim.request.id) is None
    parts = Crew(squares, silent, 5, line := Line(desk_of(assembly, settings, claim))).compute(
        cut(5)
    )
    number, arrays = next(parts)
    assert (number, line.given[0].path) == (0, None)
    # No more hints than workers.
    assert sent == [("cpu", claim.request.id)] * 2
    shares = []
    for _ in range(3):
        share = pieces.join(claim.request.id)
        assert share is not None
        assert share.request == claim.request
        assert pieces.beat(share)
        shares.append(share)
    assert [share.number for share in shares] == [1, 2, 3]
    assert pieces.finish(shares[2], computed(shares[2], tmp_path))
    assert pieces.finish(shares[0], computed(shares[0], tmp_path))
    assert len(stored(assembly)) == 2
    found = {number: arrays}
    for _ in range(3):
        number, arrays = next(parts)
        found[number] = arrays
    # What is done comes first, then what is free.
    assert [reply.number for reply in line.given] == [0, 3, 1, 4]
    assert [reply.path is None for reply in line.given] == [True, False, False, True]
    assert pieces.join(claim.request.id) is None
    assert pieces.finish(shares[1], computed(shares[1], tmp_path))
    found |= dict(parts)
    np.testing.assert_array_equal(merged(iter(found.items()), 5), ROWS**2)
    assert found[3]["sum"].shape == ()
    line.desk.close()
    assert stored(assembly) == []
    assert boards(assembly, settings) == []


def lapse_piece(assembly: Assembly, settings: WorkerSettings, share: Share) -> None:
    """Let a helper's lease run out now, as if it had been silent for long."""
    key = f"{settings.key_prefix}board:{share.request.id}:{share.fence}:left"
    assembly.redis.zadd(key, {str(share.number): MOST_PIECES + 1}, xx=True)


def look_now(assembly: Assembly, settings: WorkerSettings) -> None:
    """Let the next sweep look at every board."""
    key = f"{settings.key_prefix}boards"
    for row in assembly.redis.zrange(key, 0, -1):
        assembly.redis.zadd(key, {row: 1})


def test_a_piece_of_a_silent_helper_is_free_again(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    parts = Crew(squares, silent, 3, Line(desk_of(assembly, settings, claim))).compute(cut(3))
    next(parts)
    lost, other = pieces.join(claim.request.id), pieces.join(claim.request.id)
    assert lost is not None
    assert other is not None
    assert pieces.join(claim.request.id) is None
    lapse_piece(assembly, settings, lost)
    kept = pieces.join(claim.request.id)
    assert kept is not None
    assert kept.number == lost.number
    # The first one comes back: too late, and what it brings is not left behind.
    assert not pieces.beat(lost)
    assert not pieces.finish(lost, computed(lost, tmp_path))
    pieces.give_back(lost, spend=True)
    pieces.leave(lost)
    assert stored(assembly) == []
    assert pieces.beat(kept)
    assert pieces.finish(kept, computed(kept, tmp_path))
    assert next(parts)[0] == kept.number


def test_jobs_that_wait_come_before_help(assembly: Assembly) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(2))
    other, elsewhere = request(), request(queue="gpu")
    assembly.ledger.submit(elsewhere)
    assembly.ledger.submit(other)
    assert pieces.join(claim.request.id) is None
    assert assembly.ledger.claim(other.id, "w") is not None
    assert pieces.join(claim.request.id) is not None


def test_a_lapsed_piece_still_counts_if_nobody_else_took_it(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(2))
    share = pieces.join(claim.request.id)
    assert share is not None
    lapse_piece(assembly, settings, share)
    assert pieces.finish(share, computed(share, tmp_path))
    # The answer may get lost, and the helper says it again.
    assert pieces.finish(share, tmp_path / share.token / "piece.safetensors")
    assert pieces.next(claim, 0, []).number == share.number
    assert pieces.next(claim, 1, []).kind == "take"


def test_pieces_taken_too_often_are_left_to_the_attempt(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(3))
    for _ in range(settings.max_attempts):
        share = pieces.join(claim.request.id)
        assert share is not None
        assert share.number == 0
        pieces.give_back(share, spend=True)
    forgiven = pieces.join(claim.request.id)
    assert forgiven is not None
    assert forgiven.number == 1
    for _ in range(2 * settings.max_attempts):
        pieces.give_back(forgiven, spend=False)
        again = pieces.join(claim.request.id)
        assert again is not None
        assert again.number == 1
        forgiven = again
    # What others could not do comes first: it fails soon if it must.
    assert pieces.next(claim, 0, []).number == 0
    assert pieces.next(claim, 0, [0]).number == 2


def test_what_fails_at_a_helper_is_left_to_the_attempt(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    line = Line(desk_of(assembly, settings, claim))

    def fails(piece: Piece, _: Progress) -> Arrays:
        if piece == cut(3)[1]:
            raise FatalError("odd")
        return squares(piece)

    parts = Crew(fails, silent, 3, line).compute(cut(3))
    next(parts)
    share = pieces.join(claim.request.id)
    assert share is not None
    assert share.number == 1
    pieces.leave(share)
    assert not pieces.beat(share)
    other = pieces.join(claim.request.id)
    assert other is not None
    assert other.number == 2
    assert pieces.join(claim.request.id) is None
    with pytest.raises(FatalError, match="odd"):
        next(parts)


ENDS: dict[str, Callable[[Assembly, Claim], object]] = {
    "cancelled": lambda parts, claim: parts.ledger.cancel("ada", claim.request.id),
    "given back": lambda parts, claim: parts.ledger.give_back(claim, spend=True),
    "failed": lambda parts, claim: parts.ledger.finish(claim, end(claim, "failed")),
    "deleted": lambda parts, claim: parts.ledger.delete("ada", claim.request.id),
    "fenced off": lambda parts, claim: parts.redis.hset(
        f"umbel:job:{claim.request.id}", "fence", "x"
    ),
    "silent": lambda parts, claim: parts.redis.hset(f"umbel:job:{claim.request.id}", "lease", "1"),
    "forgotten": lambda parts, claim: parts.redis.flushall(),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_helper_has_no_right_once_the_attempt_is_over(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, how: str
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(3))
    early, late = pieces.join(claim.request.id), pieces.join(claim.request.id)
    assert early is not None
    assert late is not None
    assert pieces.finish(early, computed(early, tmp_path))
    ENDS[how](assembly, claim)
    assert not pieces.beat(late)
    assert pieces.join(claim.request.id) is None
    assert not pieces.finish(late, computed(late, tmp_path))
    assert pieces.next(claim, 0, []).kind == "lost"
    pieces.post(claim, 3, cut(2))
    assert pieces.join(claim.request.id) is None
    # The desk goes on without a board, until the supervisor hears that the lease is lost.
    line = Line(desk_of(assembly, settings, claim))
    np.testing.assert_array_equal(
        merged(Crew(squares, silent, 4, line).compute(cut(4)), 4), ROWS**2
    )
    pieces.close(claim)
    assert stored(assembly) == []


def test_an_upload_that_lands_after_the_end_is_removed(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    """The helper is killed between its upload and the question whether it is wanted."""
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(3))
    share = pieces.join(claim.request.id)
    assert share is not None
    assembly.ledger.finish(claim, end(claim, "failed"))
    pieces.close(claim)
    key = layout.piece("ada", claim.request.id, claim.fence, share.number, share.token)
    assembly.blobs.put_file(key, computed(share, tmp_path))
    # Its lease is not over yet.
    assembly.ledger.sweep()
    assert stored(assembly) == [key]
    look_now(assembly, settings)
    assembly.ledger.sweep()
    assert stored(assembly) == []
    assert boards(assembly, settings) == []


def test_the_board_of_a_dead_attempt_is_swept(
    assembly: Assembly,
    settings: WorkerSettings,
    tmp_path: Path,
    lapse: Callable[[str], None],
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(3))
    share, silent = pieces.join(claim.request.id), pieces.join(claim.request.id)
    assert share is not None
    assert silent is not None
    assert pieces.finish(share, computed(share, tmp_path))
    look_now(assembly, settings)
    assembly.ledger.sweep()
    # The attempt lives: its board stays.
    assert len(stored(assembly)) == 1
    assert pieces.beat(silent)
    lapse(claim.request.id)
    again = assembly.ledger.claim(claim.request.id, "other")
    assert again is not None
    pieces.post(again, 0, cut(2))
    for left in (1, 0):
        # While a helper may still be at work on it, the board is gone and its objects are not.
        look_now(assembly, settings)
        assembly.ledger.sweep()
        assert len(stored(assembly)) == left
    assert all(claim.fence not in key for key in boards(assembly, settings))
    assert pieces.join(claim.request.id) is not None


def test_pieces_that_no_board_knows_of_are_removed_by_a_rebuild(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, valkey: Server
) -> None:
    claim, other = begun(assembly), begun(assembly)
    pieces = assembly.ledger.pieces
    for one in (claim, other):
        pieces.post(one, 0, cut(3))
        share = pieces.join(one.request.id)
        assert share is not None
        assert pieces.finish(share, computed(share, tmp_path))
    assembly.redis.delete(f"{settings.key_prefix}job:{claim.request.id}")
    assembly.ledger.rebuild()
    (left,) = stored(assembly)
    assert other.fence in left
    valkey.client().flushall()
    assembly.ledger.rebuild()
    assert stored(assembly) == []


def test_a_piece_that_is_gone_is_computed_again(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    line = Line(desk_of(assembly, settings, claim))
    parts = Crew(squares, silent, 3, line).compute(cut(3))
    found = dict([next(parts)])
    share = pieces.join(claim.request.id)
    assert share is not None
    assert pieces.finish(share, computed(share, tmp_path))
    assembly.blobs.delete_under(layout.pieces("ada", claim.request.id, claim.fence))
    found |= dict(parts)
    assert all(reply.path is None for reply in line.given)
    np.testing.assert_array_equal(merged(iter(found.items()), 3), ROWS**2)


def test_a_helper_that_hangs_is_waited_for_a_while_only(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    short = settings.model_copy(update={"lease_s": 0.4})
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    line = Line(desk_of(assembly, short, claim))
    parts = Crew(squares, silent, 2, line).compute(cut(2))
    next(parts)
    share = pieces.join(claim.request.id)
    assert share is not None
    began = time.monotonic()
    assert next(parts)[0] == share.number
    assert time.monotonic() - began > 0.4
    assert line.given[1].path is None
    # It beats, so for the board it has the piece; nobody needs it.
    assert pieces.beat(share)
    assert list(parts) == []


def test_two_who_computed_the_same_piece_count_once(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    short = settings.model_copy(update={"lease_s": 0.2})
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    share: Share | None = None

    def slow(piece: Piece, _: Progress) -> Arrays:
        nonlocal share
        if piece == cut(3)[0]:
            share = pieces.join(claim.request.id)
        elif share is not None and piece == share.piece:
            # The desk has lost patience; now the helper is done as well.
            assert pieces.finish(share, computed(share, tmp_path))
        return squares(piece)

    line = Line(desk_of(assembly, short, claim))
    np.testing.assert_array_equal(merged(Crew(slow, silent, 3, line).compute(cut(3)), 3), ROWS**2)
    assert share is not None
    assert sorted(reply.number for reply in line.given) == [0, 1, 2]


def test_a_fit_may_be_cut_more_than_once(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    line = Line(desk_of(assembly, settings, claim))
    crew = Crew(squares, silent, 4, line)
    first = crew.compute(cut(4))
    next(first)
    old = pieces.join(claim.request.id)
    assert old is not None
    # Left in the middle: the fit wants other pieces now.
    second = crew.compute(cut(3))
    found = dict([next(second)])
    assert not pieces.finish(old, computed(old, tmp_path))
    share = pieces.join(claim.request.id)
    assert share is not None
    assert share.piece == cut(3)[1]
    assert pieces.finish(share, computed(share, tmp_path))
    found |= dict(second)
    np.testing.assert_array_equal(merged(iter(found.items()), 3), ROWS**2)
    assert [reply.path is None for reply in line.given] == [True, True, False, True]
    line.desk.close()
    assert stored(assembly) == []


def test_without_redis_the_child_goes_on_alone(
    assembly: Assembly, settings: WorkerSettings, valkey: Server, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    shares: list[Share | None] = []

    def come_back() -> None:
        valkey.start()
        assert shares[0] is not None
        assert pieces.finish(shares[0], computed(shares[0], tmp_path))

    def nothing() -> None: ...

    changes = iter([nothing, nothing, valkey.stop, nothing, nothing, come_back])
    line = Line(desk_of(assembly, settings, claim), lambda: next(changes)())
    parts = Crew(squares, silent, 6, line).compute(cut(6))
    found = dict([next(parts)])
    shares += [pieces.join(claim.request.id) for _ in range(2)]
    found |= dict(parts)
    np.testing.assert_array_equal(merged(iter(found.items()), 6), ROWS**2)
    # While nobody says what others do, the child begins with what they would come to last.
    assert [reply.number for reply in line.given] == [0, 3, 5, 4, 2, 1]
    assert [reply.path is None for reply in line.given] == [True] * 5 + [False]
    # It has done a helper's piece as well.
    assert shares[1] is not None
    assert not pieces.beat(shares[1])
    line.desk.close()
    assert boards(assembly, settings) == []


def test_redis_away_at_the_post(
    assembly: Assembly, settings: WorkerSettings, valkey: Server
) -> None:
    claim = begun(assembly)
    valkey.stop()
    line = Line(desk_of(assembly, settings, claim))
    np.testing.assert_array_equal(
        merged(Crew(squares, silent, 3, line).compute(cut(3)), 3), ROWS**2
    )
    line.desk.close()
    valkey.start()
    assert stored(assembly) == []


def test_help_is_asked_for_again_while_a_piece_is_free(
    assembly: Assembly, settings: WorkerSettings, sent: Sent
) -> None:
    claim = begun(assembly)
    desk = desk_of(assembly, settings.model_copy(update={"resend_s": 0.05}), claim)
    assembly.ledger.worker_seen("w")
    desk.post(cut(2))
    sent.clear()
    desk.invite()
    assert sent == []
    time.sleep(0.06)
    desk.invite()
    assert sent == [("cpu", claim.request.id)]
    # One that nobody has fetched is enough.
    assembly.redis.lpush(f"{settings.key_prefix}queue:cpu", "hint")
    time.sleep(0.06)
    desk.invite()
    assert len(sent) == 1
    assembly.redis.delete(f"{settings.key_prefix}queue:cpu")
    for _ in range(2):
        assert assembly.ledger.pieces.join(claim.request.id) is not None
    time.sleep(0.06)
    desk.invite()
    assert len(sent) == 1


@pytest.mark.parametrize(
    "talk",
    [
        lambda desk: desk.ask(None),
        lambda desk: (desk.post(cut(3)), desk.ask(0)),
        lambda desk: (desk.post(cut(3)), desk.ask(None), desk.ask(None)),
        lambda desk: (desk.post(cut(3)), desk.ask(None), desk.answer(at_once), desk.ask(1)),
        lambda desk: (desk.post(cut(3)), desk.ask(None), desk.answer(at_once), desk.ask(-3)),
        lambda desk: (
            desk.post(cut(1)),
            desk.ask(None),
            desk.answer(at_once),
            desk.ask(0),
        ),
    ],
)
def test_a_child_that_asks_for_nonsense_is_a_fault(
    assembly: Assembly, settings: WorkerSettings, talk: Callable[[Desk], object]
) -> None:
    with pytest.raises(FatalError):
        talk(desk_of(assembly, settings, begun(assembly)))


def test_a_failed_upload_gives_no_piece(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(2))
    share = pieces.join(claim.request.id)
    assert share is not None

    def away(key: str, path: Path) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(assembly.blobs, "put_file", away)
        with pytest.raises(StoreUnavailable):
            pieces.finish(share, computed(share, tmp_path))
    pieces.give_back(share, spend=True)
    assert pieces.next(claim, 0, []).kind == "take"


@given(
    st.dictionaries(
        st.text("abc.", min_size=1, max_size=4),
        st.tuples(
            st.sampled_from(["<f2", "<f4", "<f8", ">f8", "<i4", "<i8", "u1", "<u2", "?"]),
            st.lists(st.integers(0, 3), max_size=3),
            st.booleans(),
        ),
        max_size=3,
    )
)
def test_arrays_of_a_piece_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, shapes: dict[str, Any]
) -> None:
    arrays = {}
    for name, (dtype, shape, turned) in shapes.items():
        values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        arrays[name] = values.T if turned else values
    back = load_arrays(save_arrays(arrays, tmp_path_factory.mktemp("arrays")))
    assert set(back) == set(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(back[name], array)


def test_helpers_in_threads(assembly: Assembly, settings: WorkerSettings, tmp_path: Path) -> None:
    """Five helpers, each of which now and then falls silent, fails, or gives its piece back."""
    short = settings.model_copy(update={"lease_s": 0.3, "resend_s": 0.05})
    parts = assemble(short, lambda queue, job_id: None)
    over = threading.Event()
    wrong: list[BaseException] = []
    done = [0]
    lock = threading.Lock()

    def help(number: int, job_id: str) -> None:
        rng = np.random.default_rng(number)
        pieces = assemble(short, lambda queue, job_id: None).ledger.pieces
        try:
            while not over.is_set():
                share = pieces.join(job_id)
                if share is None:
                    time.sleep(0.005)
                    continue
                fate = rng.random()
                if fate < 0.1:
                    continue  # Killed.
                if fate < 0.2:
                    time.sleep(0.45)  # Frozen.
                elif fate < 0.3:
                    pieces.give_back(share, spend=bool(rng.random() < 0.5))
                    continue
                elif fate < 0.35:
                    pieces.leave(share)
                    continue
                time.sleep(rng.random() * 0.02)
                if pieces.finish(share, computed(share, tmp_path)):
                    with lock:
                        done[0] += 1
        except BaseException as error:
            wrong.append(error)
            raise

    for _ in range(3):
        over.clear()
        claim = begun(assembly)
        crew = [threading.Thread(target=help, args=(n, claim.request.id)) for n in range(5)]
        for thread in crew:
            thread.start()
        line = Line(desk_of(parts, short, claim), lambda: time.sleep(0.01))
        np.testing.assert_array_equal(
            merged(Crew(squares, silent, 40, line).compute(cut(40)), 40), ROWS**2
        )
        assert assembly.ledger.finish(claim, end(claim, "failed"))
        line.desk.close()
        over.set()
        for thread in crew:
            thread.join(5)
        assert wrong == []
    assert done[0] > 10
    time.sleep(0.5)
    parts.ledger.sweep()
    assert stored(assembly) == []
    assert boards(assembly, settings) == []
