"""Random calls of the Lua scripts on a real Valkey do what their model says, and nothing else."""

from __future__ import annotations

import pytest
import redis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.workers.conftest import Server
from tests.workers.stores.redis.machine_kit import machine
from tests.workers.stores.redis.scripts_kit import (
    NAMES,
    SHARED,
    Mutant,
    Step,
    TimedScripts,
    mutants,
)

EQUIVALENT: dict[str, str] = {}
"""Mutants that change nothing, with the reason."""


def follow(scripts: TimedScripts, n_sequences: int, n_calls: int = 60) -> None:
    """AssertionError, with the calls, if the scripts and their model differ."""
    run_state_machine_as_test(
        machine(scripts),
        settings=settings(
            max_examples=n_sequences,
            stateful_step_count=n_calls,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
            report_multiple_bugs=False,
        ),
    )


@pytest.mark.parametrize(
    ("n_sequences", "n_calls"),
    [(40, 60), pytest.param(4000, 100, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])],
)
def test_scripts_follow_their_model(valkey: Server, n_sequences: int, n_calls: int) -> None:
    follow(TimedScripts(valkey.client()), n_sequences, n_calls)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_change_of_any_condition_or_statement_is_noticed(valkey: Server) -> None:
    """The sequences that the scripts and their model agreed on, repeated with each mutant."""
    recorder = TimedScripts(valkey.client())
    follow(recorder, 400)
    valid = [mutant for mutant in mutants() if compiles(valkey.client(), mutant)]
    survivors = [str(m) for m in valid if not is_noticed(valkey, m, recorder.sequences)]
    print(f"{len(valid)} mutants, {len(survivors)} not noticed, {len(EQUIVALENT)} are equivalent")
    assert sorted(survivors) == sorted(EQUIVALENT)


def compiles(client: redis.Redis, mutant: Mutant) -> bool:
    scripts = TimedScripts(client, {mutant.script: mutant.text})
    users = [name for name in NAMES if name != SHARED]
    try:
        for name in users if mutant.script == SHARED else [mutant.script]:
            client.script_load(scripts.source(name))
    except redis.ResponseError:
        return False
    return True


def is_noticed(valkey: Server, mutant: Mutant, sequences: list[list[Step]]) -> bool:
    """Whether any of these sequences goes otherwise with this mutant."""
    client = redis.Redis.from_url(valkey.url, decode_responses=True, socket_timeout=5.0)
    changed = TimedScripts(client, {mutant.script: mutant.text})
    try:
        return not all(changed.agrees(sequence) for sequence in sequences)
    except redis.TimeoutError:
        # It loops for ever, and a script that has written cannot be stopped otherwise.
        valkey.stop()
        valkey.start()
        return True
