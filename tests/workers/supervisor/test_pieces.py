"""An attempt's pieces: the child receives each of them once, with helpers and without."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from models.arrays import Arrays
from models.running.progress import SHARED, Piece, Progress, silent
from tests.workers.conftest import Server
from tests.workers.jobs_kit import Sent, end
from tests.workers.pieces_kit import (
    ENDS,
    ROWS,
    Link,
    at_once,
    attempt_pieces,
    begun,
    boards,
    computed,
    cut,
    lapse_piece,
    merged,
    squares,
    stored,
)
from tests.workers.waiting_kit import until
from workers.artifacts.results import mapped_arrays, save_arrays
from workers.assembly import Assembly, assemble
from workers.errors import FatalError
from workers.model import PieceClaim
from workers.settings import WorkerSettings
from workers.stores.objects import layout
from workers.supervisor.pieces import AttemptPieces
from workers.work.crew import Crew


@pytest.mark.parametrize("n_cut", [1, 2, 7])
def test_without_helpers_the_child_computes_all_in_order(
    assembly: Assembly, settings: WorkerSettings, n_cut: int
) -> None:
    claim = begun(assembly)
    link = Link(attempt_pieces(assembly, settings, claim))
    parts = Crew(squares, silent, n_cut, link).compute(cut(n_cut))
    np.testing.assert_array_equal(merged(parts, n_cut), ROWS**2)
    assert [piece.number for piece in link.assignments] == (list(range(n_cut)) if n_cut > 1 else [])
    link.pieces.close()
    assert boards(assembly, settings) == []


def test_a_helper_computes_free_pieces(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, sent: Sent
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    assembly.ledger.workers.seen("w")
    assembly.ledger.workers.seen("other")
    sent.clear()
    assert pieces.join(claim.request.id) is None
    parts = Crew(
        squares, silent, 5, link := Link(attempt_pieces(assembly, settings, claim))
    ).compute(cut(5))
    number, arrays = next(parts)
    assert (number, link.assignments[0].path) == (0, None)
    # No more hints than workers.
    assert sent == [("cpu", claim.request.id)] * 2
    piece_claims = []
    for _ in range(3):
        piece_claim = pieces.join(claim.request.id)
        assert piece_claim is not None
        assert piece_claim.request == claim.request
        assert pieces.beat(piece_claim)
        piece_claims.append(piece_claim)
    assert [piece_claim.number for piece_claim in piece_claims] == [1, 2, 3]
    assert pieces.finish(piece_claims[2], computed(piece_claims[2], tmp_path))
    assert pieces.finish(piece_claims[0], computed(piece_claims[0], tmp_path))
    assert len(stored(assembly)) == 2
    results = {number: arrays}
    for _ in range(3):
        number, arrays = next(parts)
        results[number] = arrays
    # Finished pieces come first, then free ones.
    assert [piece.number for piece in link.assignments] == [0, 3, 1, 4]
    assert [piece.path is None for piece in link.assignments] == [
        True,
        False,
        False,
        True,
    ]
    assert pieces.join(claim.request.id) is None
    assert pieces.finish(piece_claims[1], computed(piece_claims[1], tmp_path))
    results |= dict(parts)
    np.testing.assert_array_equal(merged(iter(results.items()), 5), ROWS**2)
    assert results[3]["sum"].shape == ()
    link.pieces.close()
    assert stored(assembly) == []
    assert boards(assembly, settings) == []


def test_a_piece_of_a_silent_helper_is_free_again(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    parts = Crew(squares, silent, 3, Link(attempt_pieces(assembly, settings, claim))).compute(
        cut(3)
    )
    next(parts)
    lost, second = pieces.join(claim.request.id), pieces.join(claim.request.id)
    assert lost is not None
    assert second is not None
    assert pieces.join(claim.request.id) is None
    lapse_piece(assembly, settings, lost)
    retaken = pieces.join(claim.request.id)
    assert retaken is not None
    assert retaken.number == lost.number
    # The first helper comes back too late; its upload is not left behind.
    assert not pieces.beat(lost)
    assert not pieces.finish(lost, computed(lost, tmp_path))
    pieces.give_back(lost, spend=True)
    pieces.leave(lost)
    assert stored(assembly) == []
    assert pieces.beat(retaken)
    assert pieces.finish(retaken, computed(retaken, tmp_path))
    assert next(parts)[0] == retaken.number


def test_a_piece_that_fails_at_a_helper_is_reserved_for_the_attempt(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    link = Link(attempt_pieces(assembly, settings, claim))

    def fails(piece: Piece, _: Progress) -> Arrays:
        if piece == cut(3)[1]:
            raise FatalError("odd")
        return squares(piece)

    parts = Crew(fails, silent, 3, link).compute(cut(3))
    next(parts)
    piece_claim = pieces.join(claim.request.id)
    assert piece_claim is not None
    assert piece_claim.number == 1
    pieces.leave(piece_claim)
    assert not pieces.beat(piece_claim)
    second = pieces.join(claim.request.id)
    assert second is not None
    assert second.number == 2
    assert pieces.join(claim.request.id) is None
    with pytest.raises(FatalError, match="odd"):
        next(parts)


def test_helpers_get_the_arrays_that_pieces_share(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces

    def shifted(piece: Piece, _: Progress = silent) -> Arrays:
        return {"squared": squares(piece)["squared"] + piece[SHARED]["shift"]}

    link = Link(attempt_pieces(assembly, settings, claim))
    crew = Crew(shifted, silent, 3, link, tmp_path)
    for shift in (1.0, 2.0):
        parts = crew.compute(cut(3), {"shift": np.array([shift])})
        results = dict([next(parts)])
        piece_claim = pieces.join(claim.request.id)
        assert piece_claim is not None
        path = pieces.shared(piece_claim)
        assert path is not None
        own = tmp_path / piece_claim.token
        own.mkdir()
        arrays = shifted({**piece_claim.piece, SHARED: mapped_arrays(path)})
        assert pieces.finish(piece_claim, save_arrays(arrays, own))
        results |= dict(parts)
        np.testing.assert_array_equal(merged(iter(results.items()), 3), ROWS**2 + shift)
        # One file that they share and one piece of the helper's: what earlier ones left is gone.
        assert sum(key.endswith(".shared") for key in stored(assembly)) == 1
        assert len(stored(assembly)) == 2
    # Pieces without arrays share nothing, and what earlier ones left is gone too.
    link.pieces.post(cut(2))
    assert stored(assembly) == []
    plain = pieces.join(claim.request.id)
    assert plain is not None
    assert pieces.shared(plain) is None
    link.pieces.close()
    assert stored(assembly) == []


def test_a_shared_file_that_is_a_link_is_refused(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    (tmp_path / "target").write_bytes(b"another's")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    attempt = attempt_pieces(assembly, settings, begun(assembly))
    with pytest.raises(FatalError, match="no plain file"):
        attempt.post(cut(2), tmp_path / "link")


@pytest.mark.parametrize("how", ENDS)
def test_a_helper_loses_its_piece_once_the_attempt_is_over(
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
    # The attempt continues without a board until the supervisor learns that the lease is lost.
    link = Link(attempt_pieces(assembly, settings, claim))
    np.testing.assert_array_equal(
        merged(Crew(squares, silent, 4, link).compute(cut(4)), 4), ROWS**2
    )
    pieces.close(claim)
    assert stored(assembly) == []


def test_a_missing_piece_is_computed_again(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    link = Link(attempt_pieces(assembly, settings, claim))
    parts = Crew(squares, silent, 3, link).compute(cut(3))
    results = dict([next(parts)])
    piece_claim = pieces.join(claim.request.id)
    assert piece_claim is not None
    assert pieces.finish(piece_claim, computed(piece_claim, tmp_path))
    assembly.blobs.delete_under(layout.pieces("ada", claim.request.id, claim.fence))
    results |= dict(parts)
    assert all(piece.path is None for piece in link.assignments)
    np.testing.assert_array_equal(merged(iter(results.items()), 3), ROWS**2)


def test_the_wait_for_a_hanging_helper_is_bounded(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    short = settings.model_copy(update={"lease_s": 0.4})
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    link = Link(attempt_pieces(assembly, short, claim))
    parts = Crew(squares, silent, 2, link).compute(cut(2))
    next(parts)
    piece_claim = pieces.join(claim.request.id)
    assert piece_claim is not None
    began = time.monotonic()
    assert next(parts)[0] == piece_claim.number
    assert time.monotonic() - began > 0.4
    assert link.assignments[1].path is None
    # It still beats, so on the board it holds the piece, which nobody needs any more.
    assert pieces.beat(piece_claim)
    assert list(parts) == []


def test_a_piece_computed_twice_counts_once(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    short = settings.model_copy(update={"lease_s": 0.2})
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    piece_claim: PieceClaim | None = None

    def slow(piece: Piece, _: Progress) -> Arrays:
        nonlocal piece_claim
        if piece == cut(3)[0]:
            piece_claim = pieces.join(claim.request.id)
        elif piece_claim is not None and piece == piece_claim.piece:
            # The supervisor has stopped waiting; now the helper finishes as well.
            assert pieces.finish(piece_claim, computed(piece_claim, tmp_path))
        return squares(piece)

    link = Link(attempt_pieces(assembly, short, claim))
    np.testing.assert_array_equal(merged(Crew(slow, silent, 3, link).compute(cut(3)), 3), ROWS**2)
    assert piece_claim is not None
    assert sorted(piece.number for piece in link.assignments) == [0, 1, 2]


def test_a_fit_may_post_pieces_more_than_once(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    link = Link(attempt_pieces(assembly, settings, claim))
    crew = Crew(squares, silent, 4, link)
    first = crew.compute(cut(4))
    next(first)
    old = pieces.join(claim.request.id)
    assert old is not None
    # Abandoned midway: the fit needs other pieces now.
    second = crew.compute(cut(3))
    results = dict([next(second)])
    assert not pieces.finish(old, computed(old, tmp_path))
    piece_claim = pieces.join(claim.request.id)
    assert piece_claim is not None
    assert piece_claim.piece == cut(3)[1]
    assert pieces.finish(piece_claim, computed(piece_claim, tmp_path))
    results |= dict(second)
    np.testing.assert_array_equal(merged(iter(results.items()), 3), ROWS**2)
    assert [piece.path is None for piece in link.assignments] == [True, True, False, True]
    link.pieces.close()
    assert stored(assembly) == []


def test_without_redis_the_child_continues_alone(
    assembly: Assembly, settings: WorkerSettings, valkey: Server, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    piece_claims: list[PieceClaim | None] = []

    def come_back() -> None:
        valkey.start()
        assert piece_claims[0] is not None
        assert pieces.finish(piece_claims[0], computed(piece_claims[0], tmp_path))

    def nothing() -> None: ...

    changes = iter([nothing, nothing, valkey.stop, nothing, nothing, come_back])
    link = Link(attempt_pieces(assembly, settings, claim), lambda: next(changes)())
    parts = Crew(squares, silent, 6, link).compute(cut(6))
    results = dict([next(parts)])
    piece_claims += [pieces.join(claim.request.id) for _ in range(2)]
    results |= dict(parts)
    np.testing.assert_array_equal(merged(iter(results.items()), 6), ROWS**2)
    # As it does not know what helpers do, the child begins with the pieces they would take last.
    assert [piece.number for piece in link.assignments] == [0, 3, 5, 4, 2, 1]
    assert [piece.path is None for piece in link.assignments] == [True] * 5 + [False]
    # It has also computed a piece that a helper holds.
    assert piece_claims[1] is not None
    assert not pieces.beat(piece_claims[1])
    link.pieces.close()
    # The helper may still store it, and die: a sweep looks once more.
    assert boards(assembly, settings) == ["umbel:boards"]


def test_redis_unreachable_when_pieces_are_posted(
    assembly: Assembly, settings: WorkerSettings, valkey: Server
) -> None:
    claim = begun(assembly)
    valkey.stop()
    link = Link(attempt_pieces(assembly, settings, claim))
    np.testing.assert_array_equal(
        merged(Crew(squares, silent, 3, link).compute(cut(3)), 3), ROWS**2
    )
    link.pieces.close()
    valkey.start()
    assert stored(assembly) == []


def test_help_is_requested_again_while_a_piece_is_free(
    assembly: Assembly, settings: WorkerSettings, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = begun(assembly)
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    attempt = attempt_pieces(assembly, settings.model_copy(update={"resend_s": 0.05}), claim)
    assembly.ledger.workers.seen("w")
    attempt.post(cut(2))
    sent.clear()
    attempt.invite()
    assert sent == []
    clock[0] += 0.06
    attempt.invite()
    assert sent == [("cpu", claim.request.id)]
    # A single hint that no worker has fetched is enough.
    assembly.redis.lpush(f"{settings.key_prefix}queue:cpu", "hint")
    clock[0] += 0.06
    attempt.invite()
    assert len(sent) == 1
    assembly.redis.delete(f"{settings.key_prefix}queue:cpu")
    for _ in range(2):
        assert assembly.ledger.pieces.join(claim.request.id) is not None
    clock[0] += 0.06
    attempt.invite()
    assert len(sent) == 1


def first_of(attempt: AttemptPieces, n_cut: int) -> None:
    """Assign the first piece to the child."""
    attempt.post(cut(n_cut))
    attempt.request(None)
    attempt.assignment(at_once)


@pytest.mark.parametrize(
    "talk",
    [
        lambda attempt: attempt.request(None),
        lambda attempt: (attempt.post(cut(3)), attempt.request(0)),
        lambda attempt: (attempt.post(cut(3)), attempt.request(None), attempt.request(None)),
        lambda attempt: (first_of(attempt, 3), attempt.request(1)),
        lambda attempt: (first_of(attempt, 3), attempt.request(-3)),
        lambda attempt: (first_of(attempt, 1), attempt.request(0)),
    ],
)
def test_a_nonsensical_request_of_a_child_is_a_fault(
    assembly: Assembly, settings: WorkerSettings, talk: Callable[[AttemptPieces], object]
) -> None:
    with pytest.raises(FatalError):
        talk(attempt_pieces(assembly, settings, begun(assembly)))


def test_helpers_in_threads(assembly: Assembly, settings: WorkerSettings, tmp_path: Path) -> None:
    """Five helpers that now and then fall silent, fail, or give a piece back."""
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
                piece_claim = pieces.join(job_id)
                if piece_claim is None:
                    time.sleep(0.005)
                    continue
                fate = rng.random()
                if fate < 0.1:
                    continue  # Killed.
                if fate < 0.2:
                    time.sleep(0.45)  # Frozen.
                elif fate < 0.3:
                    pieces.give_back(piece_claim, spend=bool(rng.random() < 0.5))
                    continue
                elif fate < 0.35:
                    pieces.leave(piece_claim)
                    continue
                time.sleep(rng.random() * 0.02)
                if pieces.finish(piece_claim, computed(piece_claim, tmp_path)):
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
        link = Link(attempt_pieces(parts, short, claim), lambda: time.sleep(0.01))
        np.testing.assert_array_equal(
            merged(Crew(squares, silent, 40, link).compute(cut(40)), 40), ROWS**2
        )
        assert assembly.ledger.finish(claim, end(claim, "failed"))
        link.pieces.close()
        over.set()
        for thread in crew:
            thread.join()
        assert wrong == []
    assert done[0] > 10

    def nothing_left() -> bool:
        parts.ledger.sweep()
        return (stored(assembly), boards(assembly, settings)) == ([], [])

    until(nothing_left)
