"""Room that an upload reserves while it is received, so that several together keep a quota."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType

from app.http import threads
from app.http.dependencies import Service
from app.http.keyring import Access
from workers.artifacts.beside import Room
from workers.errors import OverLimit, TransientError
from workers.settings import Limits, WorkerSettings, admission, of_tenant

HOLD_S = 120.0
"""A reservation that is not renewed for this long is void: its process died."""

STEP_BYTES = 8 << 20
"""How much an upload of unknown length reserves ahead."""


def limits_of_tenant(settings: WorkerSettings, tenant: str) -> Limits:
    """What a tenant may use, by the settings."""
    named = {what: getattr(settings, f"quota_{what}") for what in Limits.model_fields}
    return Limits(**{what: of_tenant(numbers, tenant) for what, numbers in named.items()})


def limits_of(service: Service, caller: Access) -> str:
    """The limits of a caller as the scripts take them, "" where nothing is limited."""
    key = Limits() if caller.key is None else caller.key.limits
    return admission(limits_of_tenant(service.settings, caller.tenant), key)


def room_of(service: Service, caller: Access) -> Room:
    """Room for what a caller adds to a tree, dataset or job. Blocks."""
    return partial(_reserved, service, caller)


@contextmanager
def _reserved(service: Service, caller: Access, n_bytes: int) -> Iterator[None]:
    limits = limits_of(service, caller)
    if not limits:
        yield
        return
    token = secrets.token_hex(8)
    service.usage.reserve(
        caller.tenant,
        None if caller.key is None else caller.key.id,
        token,
        n_bytes=n_bytes,
        datasets=0,
        hold_s=HOLD_S,
        limits=limits,
        more=False,
    )
    try:
        yield
    finally:
        with suppress(TransientError):
            service.usage.release(caller.tenant, token)


class Allowance:
    """The room of one upload; an asynchronous context manager, whose end gives it back.

    datasets : how many it makes. stated : its length, None if it is not known. lenient : it repeats
    an earlier request, which has been admitted. made : the id of the dataset that it makes, if it
    is one: its room is given back in the moment in which the dataset is counted. Entering it and
    `grow` raise OverLimit.
    """

    def __init__(
        self,
        service: Service,
        caller: Access,
        *,
        datasets: int,
        stated: int | None,
        lenient: bool = False,
        made: str | None = None,
    ) -> None:
        self._usage = service.usage
        self._caller = caller
        self._limits = "" if lenient else limits_of(service, caller)
        self._datasets = datasets
        self._stated = stated
        self._token = made or secrets.token_hex(8)
        self._reserved = 0
        self._renewed = 0.0

    async def __aenter__(self) -> Allowance:
        if self._limits:
            await self._reserve(self._stated or 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._limits:
            return
        try:
            await threads.run_sync(self._usage.release, self._caller.tenant, self._token)
        except TransientError:
            return  # It lapses by itself.

    async def grow(self, size: int) -> None:
        """Keep the reservation once `size` bytes have arrived; more than was stated is reserved."""
        if not self._limits:
            return
        if size > self._reserved:
            await self._reserve(size + STEP_BYTES, least=size)
        elif time.monotonic() - self._renewed > HOLD_S / 4:
            await self._reserve(self._reserved)

    async def _reserve(self, n_bytes: int, least: int | None = None) -> None:
        """Reserve `n_bytes`, or, where that is too much, `least`."""
        key = None if self._caller.key is None else self._caller.key.id

        def reserve(n_bytes: int) -> None:
            self._usage.reserve(
                self._caller.tenant,
                key,
                self._token,
                n_bytes=n_bytes,
                datasets=self._datasets,
                hold_s=HOLD_S,
                limits=self._limits,
                more=self._stated is None and not least,
            )

        try:
            await threads.run_sync(reserve, n_bytes)
        except OverLimit:
            if least is None:
                raise
            n_bytes = least
            await threads.run_sync(reserve, least)
        self._reserved = n_bytes
        self._renewed = time.monotonic()
