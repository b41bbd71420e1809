"""A receiver of webhooks, and senders that are stopped after the test."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

import pytest

from tests.workers.webhooks.receiver_kit import Receiver, receiving
from tests.workers.webhooks.sender_kit import (
    Sending,
)
from workers.assembly import Assembly, assemble
from workers.settings import WorkerSettings
from workers.webhooks.sender import Sender

LOCAL = (ipaddress.ip_network("127.0.0.0/8"),)


@pytest.fixture
def settings(settings: WorkerSettings) -> WorkerSettings:
    return settings.model_copy(update={"webhook_allow": LOCAL, "sweep_s": 0.05})


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def sending(assembly: Assembly, settings: WorkerSettings) -> Iterator[Sending]:
    """Starts a sender; with `apart` as if in another process."""
    senders = []

    def start(apart: bool = False, **options: Any) -> Sender:
        changed = options.pop("settings", settings)
        parts = assemble(changed, lambda *_: None) if apart else assembly
        sender_options = {"schedule_s": (0.0, 0.02, 0.02), "timeout_s": 60.0, **options}
        senders.append(Sender(parts.ledger.webhooks, changed, **sender_options))
        senders[-1].start()
        return senders[-1]

    yield start
    for sender in senders:
        sender.stop(0.0)
