"""The scripts against their model: random calls by a few clients, and all of Redis compared."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture.engine import ConjectureRunner
from hypothesis.stateful import (
    run_state_machine_as_test,
)

from tests.workers.stores.redis.piece_rules_kit import PieceRules
from tests.workers.stores.redis.scripts_kit import TimedScripts
from tests.workers.stores.redis.store_rules_kit import StoreRules
from tests.workers.stores.redis.webhook_rules_kit import WebhookRules


class Machine(WebhookRules, PieceRules, StoreRules):
    """Subclasses, made by `machine`, have the scripts."""


def machine(scripts: TimedScripts) -> type[Machine]:
    """A machine that calls these scripts."""
    return type("BoundMachine", (Machine,), {"scripts": scripts})


def follow(scripts: TimedScripts, n_sequences: int, n_calls: int = 60) -> None:
    """AssertionError, with the calls, if the scripts and their model differ."""
    # Hypothesis follows each sequence by up to five that repeat most of it.
    with patch.object(ConjectureRunner, "generate_mutations_from", lambda *_: None):
        run_state_machine_as_test(
            machine(scripts),
            settings=settings(
                max_examples=n_sequences,
                stateful_step_count=n_calls,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.generate],
                deadline=None,
                report_multiple_bugs=False,
            ),
        )
