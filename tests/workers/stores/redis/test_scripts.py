"""Random calls of the Lua scripts on a real Valkey do what their model says, and nothing else."""

from __future__ import annotations

import pytest

from tests.workers.conftest import Server
from tests.workers.stores.redis.machine_kit import follow
from tests.workers.stores.redis.scripts_kit import TimedScripts


@pytest.mark.parametrize(
    ("n_sequences", "n_calls"),
    [(40, 60), pytest.param(4000, 100, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])],
)
def test_scripts_follow_their_model(valkey: Server, n_sequences: int, n_calls: int) -> None:
    follow(TimedScripts(valkey.client()), n_sequences, n_calls)
