"""The pieces of a fit: who may compute which, over a real Valkey and a real store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.conftest import Server
from tests.workers.jobs_kit import end, request
from tests.workers.pieces_kit import begun, boards, computed, cut, lapse_piece, look_now, stored
from workers.artifacts.results import load_arrays, save_arrays
from workers.assembly import Assembly
from workers.errors import StoreUnavailable
from workers.jobs.pieces import n_pieces
from workers.model import MOST_PIECES
from workers.settings import WorkerSettings
from workers.stores.objects import layout


@pytest.mark.parametrize(
    ("n_bytes", "split", "piece", "expected"),
    [
        (100, 100, 10, 1),
        (101, 100, 10, 11),
        (101, 100, 200, 1),
        (1 << 50, 100, 10, MOST_PIECES),
        (1 << 50, 0, 10, 1),
        (0, 100, 10, 1),
    ],
)
def test_how_many_pieces(n_bytes: int, split: int, piece: int, expected: int) -> None:
    assert n_pieces(n_bytes, WorkerSettings(split_bytes=split, piece_bytes=piece)) == expected


def test_waiting_jobs_come_before_helping(assembly: Assembly) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(2))
    waiting, elsewhere = request(), request(queue="gpu")
    assembly.ledger.submit(elsewhere)
    assembly.ledger.submit(waiting)
    assert pieces.join(claim.request.id) is None
    assert assembly.ledger.claim(waiting.id, "w") is not None
    assert pieces.join(claim.request.id) is not None


def test_a_lapsed_piece_still_counts_unless_another_helper_took_it(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(2))
    piece_claim = pieces.join(claim.request.id)
    assert piece_claim is not None
    lapse_piece(assembly, settings, piece_claim)
    assert pieces.finish(piece_claim, computed(piece_claim, tmp_path))
    # The reply may get lost; the helper then reports again.
    assert pieces.finish(piece_claim, tmp_path / piece_claim.token / "piece.safetensors")
    assert pieces.next(claim, 0, []).number == piece_claim.number
    assert pieces.next(claim, 1, []).kind == "take"


def test_pieces_taken_too_often_are_reserved_for_the_attempt(
    assembly: Assembly, settings: WorkerSettings
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(3))
    for _ in range(settings.max_attempts):
        piece_claim = pieces.join(claim.request.id)
        assert piece_claim is not None
        assert piece_claim.number == 0
        pieces.give_back(piece_claim, spend=True)
    forgiven = pieces.join(claim.request.id)
    assert forgiven is not None
    assert forgiven.number == 1
    for _ in range(2 * settings.max_attempts):
        pieces.give_back(forgiven, spend=False)
        again = pieces.join(claim.request.id)
        assert again is not None
        assert again.number == 1
        forgiven = again
    # Pieces that helpers failed at come first, so that a doomed fit fails early.
    assert pieces.next(claim, 0, []).number == 0
    assert pieces.next(claim, 0, [0]).number == 2


def test_a_piece_uploaded_after_the_end_is_removed(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    """The helper is killed after its upload, before it asks whether the piece is still needed."""
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(3))
    piece_claim = pieces.join(claim.request.id)
    assert piece_claim is not None
    assembly.ledger.finish(claim, end(claim, "failed"))
    pieces.close(claim)
    key = layout.piece("ada", claim.request.id, claim.fence, piece_claim.number, piece_claim.token)
    assembly.blobs.put_file(key, computed(piece_claim, tmp_path))
    # Its lease has not expired yet.
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
    piece_claim, silent = pieces.join(claim.request.id), pieces.join(claim.request.id)
    assert piece_claim is not None
    assert silent is not None
    assert pieces.finish(piece_claim, computed(piece_claim, tmp_path))
    look_now(assembly, settings)
    assembly.ledger.sweep()
    # The attempt lives: its board stays.
    assert len(stored(assembly)) == 1
    assert pieces.beat(silent)
    lapse(claim.request.id)
    again = assembly.ledger.claim(claim.request.id, "other")
    assert again is not None
    pieces.post(again, 0, cut(2))
    # What is stored is worth nothing any more, nor what the helper that was silent stores yet.
    key = layout.piece("ada", claim.request.id, claim.fence, silent.number, silent.token)
    look_now(assembly, settings)
    assembly.ledger.sweep()
    assert stored(assembly) == []
    assembly.blobs.put_file(key, computed(silent, tmp_path))
    look_now(assembly, settings)
    assembly.ledger.sweep()
    assert stored(assembly) == []
    assert all(claim.fence not in key for key in boards(assembly, settings))
    assert pieces.join(claim.request.id) is not None


def test_what_pieces_share_is_not_left_behind_by_an_attempt_that_is_over(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path
) -> None:
    """The attempt was cancelled during the upload, which goes on."""
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    (tmp_path / "shared").write_bytes(b"arrays")
    assembly.ledger.cancel("ada", claim.request.id)
    pieces.close(claim)
    pieces.post(claim, 0, cut(3), tmp_path / "shared")
    assert stored(assembly) == []


def test_what_pieces_share_is_swept_if_the_attempt_dies_after_its_upload(
    assembly: Assembly,
    settings: WorkerSettings,
    tmp_path: Path,
    lapse: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim = begun(assembly)
    (tmp_path / "shared").write_bytes(b"arrays")

    def died(*_: object) -> None:
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(assembly.ledger.pieces, "_scripts", died)
        patch.setattr(assembly.blobs, "delete", died)
        with pytest.raises(StoreUnavailable):
            assembly.ledger.pieces.post(claim, 0, cut(3), tmp_path / "shared")
    assert len(stored(assembly)) == 1
    look_now(assembly, settings)
    assembly.ledger.sweep()
    assert len(stored(assembly)) == 1
    lapse(claim.request.id)
    look_now(assembly, settings)
    assembly.ledger.sweep()
    assert stored(assembly) == []


def test_a_rebuild_removes_pieces_without_a_board(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, valkey: Server
) -> None:
    claim, surviving = begun(assembly), begun(assembly)
    pieces = assembly.ledger.pieces
    for attempt in (claim, surviving):
        pieces.post(attempt, 0, cut(3))
        piece_claim = pieces.join(attempt.request.id)
        assert piece_claim is not None
        assert pieces.finish(piece_claim, computed(piece_claim, tmp_path))
    assembly.redis.delete(f"{settings.key_prefix}job:{claim.request.id}")
    assembly.ledger.rebuild()
    (key,) = stored(assembly)
    assert surviving.fence in key
    valkey.client().flushall()
    assembly.ledger.rebuild()
    assert stored(assembly) == []


def test_a_failed_upload_completes_no_piece(
    assembly: Assembly, settings: WorkerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = begun(assembly)
    pieces = assembly.ledger.pieces
    pieces.post(claim, 0, cut(2))
    piece_claim = pieces.join(claim.request.id)
    assert piece_claim is not None

    def away(key: str, path: Path) -> None:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(assembly.blobs, "put_file", away)
        with pytest.raises(StoreUnavailable):
            pieces.finish(piece_claim, computed(piece_claim, tmp_path))
    pieces.give_back(piece_claim, spend=True)
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
def test_arrays_of_a_piece_survive_a_round_trip(
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
