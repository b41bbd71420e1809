"""Calls of tools: on threads, with progress and cancellation, and errors as sentences."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from threading import Lock
from typing import Any

import anyio
from anyio import from_thread, to_thread
from mcp.server.mcpserver import Context

from umbel_client.client import Umbel
from umbel_client.errors import UmbelError
from umbel_client.progress import watched
from umbel_client.quoting import VALUES, shown

_UPLOADS = 0.1
"""The share of progress that reading and sending inputs are; the job is the rest."""


class Interrupted(BaseException):
    """The client of the protocol has cancelled the call."""


class Watcher:
    """Tells who called a tool how far it is, and ends the job that it waits for.

    umbel : the service. tell : called with growing fractions, on the thread of the tool.
    """

    def __init__(self, umbel: Umbel, tell: Callable[[float, str], None]) -> None:
        self._umbel = umbel
        self._tell = tell
        self._lock = Lock()
        self._stopped = False
        self._begun = False
        self._job: str | None = None
        self._done = -1.0

    def began(self, job: str, cancels: bool) -> None:
        """Raises Interrupted, upon which the client cancels the job, after `stop`."""
        with self._lock:
            self._begun = True
            self._job = job if cancels else None
        self._check()

    def update(self, fraction: float, stage: str) -> None:
        """Progress of an upload or a job. Raises Interrupted after `stop`."""
        self._check()
        if self._begun:
            self.pass_on(_UPLOADS + (1 - _UPLOADS) * fraction, stage)
        else:
            self.pass_on(_UPLOADS * fraction, stage)

    def pass_on(self, fraction: float, stage: str) -> None:
        """Pass a fraction on, if it is larger than those before, as the protocol wants it."""
        if fraction > self._done:
            self._done = fraction
            self._tell(fraction, stage)

    def stop(self) -> None:
        """End the job that is waited for, or the next one that would be."""
        with self._lock:
            self._stopped, job = True, self._job
        if job is not None:
            with suppress(UmbelError):
                self._umbel.job(job).cancel()

    def _check(self) -> None:
        with self._lock:
            if self._stopped:
                raise Interrupted


def called(
    umbel: Umbel, tool: Callable[..., Any], kind: type[Exception]
) -> Callable[..., Awaitable[Any]]:
    """The tool as the server calls it, with the argument `ctx` for who calls.

    kind : what the client's exceptions become, with their sentences.
    """

    @wraps(tool)
    async def answer(ctx: Context, **arguments: Any) -> Any:
        def tell(fraction: float, stage: str) -> None:
            from_thread.run(ctx.report_progress, fraction, 1.0, stage)

        watcher = Watcher(umbel, tell)

        def work() -> Any:
            with watched(watcher):
                watcher.pass_on(0.0, "reading the inputs")
                result = tool(**arguments)
                watcher.pass_on(1.0, "done")
                return result

        try:
            return await to_thread.run_sync(work, abandon_on_cancel=True)
        except UmbelError as error:
            raise kind(str(error).replace(f"{VALUES}, ", "")) from error
        except OSError as error:
            # The path may be a long text that was meant as content.
            place = "" if error.filename is None else f" {shown(str(error.filename))}"
            raise kind(f"A file cannot be read{place}: {error.strerror or error}.") from error
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(watcher.stop)
            raise

    # The signature is that of the tool, whose names are known where it stands, with the caller.
    types = typing.get_type_hints(tool, include_extras=True)
    own = inspect.signature(tool)
    parameters = [
        each.replace(annotation=types[each.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for each in own.parameters.values()
    ]
    caller = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    answer.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*parameters, caller], return_annotation=types["return"]
    )
    answer.__annotations__ = {**types, "ctx": Context}
    return answer
