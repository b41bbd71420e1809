"""A fit over rows by a crew: the same bits whoever computes the pieces, and after a loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.inputs.data import Data
from models.method import Checkpoint, Fitted, Method
from models.running.progress import Alone, Crew
from tests.models.crew_kit import Scattered
from umbel.testing.lost_worker import MemoryCheckpoint, WorkerLost


def assert_same_whoever_computes(method: Method[Any], data: Data, params: Any) -> Fitted:
    """The fit by one process; fits by 2, 3 and 7 workers that get lost, with one thread and two,
    and one that is itself lost after three iterations, are the same to the last bit."""

    def workers(n_pieces: int) -> Scattered:
        n_threads = n_pieces % 2 + 1
        return Scattered(
            lambda given, at: method.piece(data, params, given, at, threads=n_threads),
            n_pieces,
            n_pieces,
        )

    def fit(crew: Crew | None, checkpoint: Checkpoint | None = None) -> Fitted:
        return method.fit(data, params, crew=crew, checkpoint=checkpoint)

    alone = fit(Alone(lambda given, at: method.piece(data, params, given, at)))
    lost = MemoryCheckpoint(lost_after=3)
    with pytest.raises(WorkerLost):
        fit(workers(2), lost)
    crews = [workers(2), workers(3), workers(7)]
    others = [fit(crew) for crew in crews]
    others += [fit(None), fit(workers(3), MemoryCheckpoint(lost.state))]
    assert sum(crew.n_lost for crew in crews) > 0
    assert alone.model is not None
    for other in others:
        assert other.metrics == alone.metrics
        assert other.tree.leaf_of_point.tolist() == alone.tree.leaf_of_point.tolist()
        assert other.model is not None
        for name, array in alone.model.arrays.items():
            np.testing.assert_array_equal(other.model.arrays[name], array)
    return alone
