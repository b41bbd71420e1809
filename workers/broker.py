"""Celery, which carries hints to the workers and holds no state that matters.

A worker consumes by `make_app` and `register`: the one task hands a job's id to the supervisor.
What puts hints on the queues is `workers.jobs.hints`, without Celery.
"""

from __future__ import annotations

import contextlib
import logging
import os
from concurrent.futures import Future
from queue import Empty
from typing import Any
from urllib.parse import quote

from celery import Celery
from celery.concurrency.thread import TaskPool
from kombu.entity import Queue
from kombu.transport import TRANSPORT_ALIASES
from kombu.transport import redis as redis_transport

from workers.jobs.hints import QUEUES, RUN, is_hint
from workers.settings import WorkerSettings
from workers.stores.redis.address import tls_options, watched, without_query
from workers.stores.redis.client import ANSWER_S, sentinel_options
from workers.supervisor.supervisor import Supervisor

_log = logging.getLogger(__name__)


class _StrictReads:
    """Drops an entry of a queue that is not JSON; kombu's own channel would end the worker."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]
        except (ValueError, RecursionError):
            _log.warning("dropped an entry of a queue that is not JSON")
            raise Empty from None


class StrictChannel(_StrictReads, redis_transport.Channel):
    """The channel to one server."""


class StrictSentinelChannel(_StrictReads, redis_transport.SentinelChannel):
    """The channel to the master that sentinels name."""


class _StrictDelivery:
    """Delivers hints, and drops any other JSON.

    A body that Celery cannot decode would end its worker and then, put back on the queue, the next
    one.
    """

    def _deliver(self, message: Any, queue: str) -> None:
        if is_hint(message):
            super()._deliver(message, queue)  # type: ignore[misc]
        else:
            _log.warning("dropped an entry of queue %r that is not a hint", queue)


class StrictTransport(_StrictDelivery, redis_transport.Transport):
    Channel = StrictChannel


class StrictSentinelTransport(_StrictDelivery, redis_transport.SentinelTransport):
    Channel = StrictSentinelChannel


_ALIAS = "umbel"
TRANSPORT_ALIASES[_ALIAS] = f"{__name__}:{StrictTransport.__name__}"


class WakingPool(TaskPool):  # type: ignore[misc]
    """Celery's pool of threads, in which a thread that becomes free wakes the event loop.

    With `worker_disable_prefetch` the loop requests the next message only when a thread is free,
    which it would otherwise notice at its next tick, up to a second later.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    def register_with_event_loop(self, loop: Any) -> None:
        loop.add_reader(self._out, self._drain)

    def on_apply(self, *args: Any, **kwargs: Any) -> Any:
        result = super().on_apply(*args, **kwargs)
        result.f.add_done_callback(self._wake)
        return result

    def _wake(self, done: Future[Any]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            _log.error("a task failed outside the supervisor", exc_info=error)
        with contextlib.suppress(BlockingIOError):
            os.write(self._in, b".")

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._out, 4096)


def make_app(settings: WorkerSettings) -> Celery:
    """The Celery application: JSON only, early acknowledgement, no results, no prefetching."""
    app = Celery("umbel", set_as_current=False)
    server = watched(settings.redis_url)
    named = {}
    if server is not None:
        named = {"master_name": server.name, "sentinel_kwargs": sentinel_options(server)}
    app.conf.update(
        broker_url=_broker_url(settings.redis_url),
        broker_transport=StrictTransport if server is None else StrictSentinelTransport,
        broker_use_ssl=tls_options(settings.redis_url),
        broker_connection_timeout=1,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "global_keyprefix": f"{settings.key_prefix}queue:",
            "max_retries": 0,
            "interval_start": 0,
            "interval_step": 0,
            "interval_max": 0,
            "socket_connect_timeout": 1,
            "socket_timeout": ANSWER_S,
            "socket_keepalive": True,
            "visibility_timeout": 3600,
            **named,
        },
        result_backend=None,
        task_ignore_result=True,
        task_acks_late=False,
        task_serializer="json",
        accept_content=["json"],
        # Not acknowledged: a lost hint is sent again, and each acknowledgement would be two writes.
        task_queues=[Queue(name, no_ack=True) for name in QUEUES],  # type: ignore[no-untyped-call]
        task_default_queue=QUEUES[0],
        task_create_missing_queues=False,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_enable_remote_control=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        enable_utc=True,
    )
    return app


def _broker_url(url: str) -> str:
    """kombu's spelling of a Redis address: unix:// becomes <transport>+socket://, ?db= becomes
    ?virtual_host=, and each sentinel has its own address. A transport in the address
    overrides `broker_transport`."""
    server = watched(url)
    if server is not None:
        secret = "" if server.password is None else f":{quote(server.password, safe='')}"
        user = quote(server.username or "", safe="") + secret
        return ";".join(
            f"sentinel://{f'{user}@' if user else ''}{_bracketed(host)}:{port}/{server.db}"
            for host, port in server.sentinels
        )
    if url.startswith("rediss://"):
        return without_query(url)
    if url.startswith("unix://"):
        return url.replace("unix://", f"{_ALIAS}+socket://", 1).replace("?db=", "?virtual_host=")
    return url


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def register(app: Celery, supervisor: Supervisor) -> None:
    """Make `app` run jobs by `supervisor`."""

    def run(task: Any, job_id: Any) -> None:
        if isinstance(job_id, str):
            supervisor.run(job_id, task.request.delivery_info.get("routing_key"))
        else:
            _log.warning("dropped a message whose argument is not a job's id")

    app.task(name=RUN, bind=True, ignore_result=True, acks_late=False, shared=False)(run)
