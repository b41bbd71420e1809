"""The API: `create_app` puts its parts together and does nothing else."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from pkgutil import walk_packages

from anyio import to_thread
from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from app import resources
from app.dashboard import routes as dashboard
from app.http import problems
from app.http.auditing import Audit, Audited
from app.http.compression import Compressed
from app.http.dependencies import Service
from app.http.environment_keys import keys
from app.http.events import Feeds
from app.http.idempotency import Reservations
from app.http.job_ends import JobEnds
from app.http.keyring import Keyring
from app.http.late import build, complete
from app.http.lives import Lives
from app.http.observability import Metrics, Observed
from app.http.rates import Limiter, Rates
from app.http.reached import Reached
from app.http.routing import Routing
from app.http.security import Gate
from app.http.service_metrics import ServiceMetrics
from app.http.sharing import SharedLinks
from app.http.sign_in.people import People, people
from app.openapi import document as openapi
from app.resources.methods import routes as methods
from app.settings import Settings
from workers.artifacts.aliases import Aliases
from workers.artifacts.audit import AuditWriter, expire, try_to_ship
from workers.artifacts.editions import Editions
from workers.artifacts.keys import Keys
from workers.artifacts.shares import Shares
from workers.artifacts.uploads import Parts
from workers.assembly import Assembly, assemble
from workers.embedding.meaning import Meaning
from workers.errors import TransientError
from workers.jobs.hints import message, sender
from workers.jobs.ledger import Ledger
from workers.stores.redis.crossings import Crossings
from workers.stores.redis.durability import risks
from workers.supervisor.scratch import left_by_dead
from workers.telemetry import traces
from workers.telemetry.store_size import StoreSize
from workers.webhooks.sender import Sender

_SENDING_S = 1.0
"""How long the end of the process waits for webhooks in flight, and for the last spans."""

_REST_S = 60.0
"""When the methods and routes that nobody has requested are loaded: by then, on a busy machine too,
the processes that start beside this one no longer need the cores."""

_SHIP_S = 5.0
"""How often the audit log is put into the store."""
_CLEAR_S = 3600.0
"""How often it is cleared of what is too old."""

_log = logging.getLogger("umbel")


def _routers() -> list[APIRouter]:
    """The routers of the modules `routes` below `app.resources`, and the page's."""
    modules = [
        import_module(found.name)
        for found in walk_packages(resources.__path__, f"{resources.__name__}.")
        if found.name.endswith(".routes")
    ]
    values = [value for module in (*modules, dashboard) for value in vars(module).values()]
    return [value for value in values if isinstance(value, APIRouter)]


ROUTERS = _routers()

FIRST = ("create_dataset", "create_job", "get_job", "get_tree", "get_readyz")
"""Operations that are built at the start, so that the first job does not wait for them."""

complete((route for router in ROUTERS for route in router.routes), FIRST)

EXPOSED = [
    "Accept-Ranges",
    "Allow",
    "Content-Disposition",
    "Content-Range",
    "ETag",
    "Idempotent-Replayed",
    "Link",
    "Location",
    "Preference-Applied",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "Warning",
    "X-Request-ID",
]


def create_app(
    settings: Settings | None = None, send: Callable[[str, str], None] | None = None
) -> FastAPI:
    """The ASGI application. It connects to Redis and the store when it starts.

    send : puts a hint on a queue; by default the record of a job is written with its hint.
    """
    settings = settings or Settings()
    metrics = Metrics()
    signing_in = people(settings)
    keyring = Keyring(keys(settings), issuer=signing_in is not None)
    rates, links, audit = Rates(settings), SharedLinks(), Audit()
    app = FastAPI(
        title="Umbel",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=partial(
            _lifespan,
            settings=settings,
            metrics=metrics,
            keyring=keyring,
            rates=rates,
            links=links,
            audit=audit,
            signing_in=signing_in,
            send=send,
        ),
        middleware=_middleware(settings, metrics, keyring, rates, links, audit, signing_in),
    )
    app.state.settings = settings
    app.state.metrics = metrics
    problems.install(app)
    openapi.install(app, settings.root_path)
    # Not `include_router`: it would analyse every route of every application anew.
    app.router.routes.extend(route for router in ROUTERS for route in router.routes)
    app.router.middleware_stack = Routing(app.router)
    return app


def documented_app() -> FastAPI:
    """The application of the committed document, independent of the environment.

    It connects to nothing.
    """
    return create_app(
        Settings(
            root_path="",
            api_keys=(),
            api_keys_file=None,
            cors_origins=(),
            oidc_issuer="",
            oidc_client_id="",
            oidc_url="",
            oidc_groups=(),
            oidc_groups_file=None,
            oidc_audience="",
        )
    )


def _middleware(
    settings: Settings,
    metrics: Metrics,
    keyring: Keyring,
    rates: Rates,
    links: SharedLinks,
    audit: Audit,
    signing_in: People | None,
) -> list[Middleware]:
    """Outermost first."""
    cors = Middleware(
        CORSMiddleware,
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["*"],
        expose_headers=EXPOSED,
    )
    return [
        Middleware(Observed, metrics=metrics, root_path=settings.root_path),
        *([cors] if settings.cors_origins else []),
        Middleware(Audited, audit=audit),
        Middleware(Gate, settings=settings, keyring=keyring, links=links, people=signing_in),
        Middleware(Limiter, rates=rates),
        Middleware(Compressed),
    ]


@asynccontextmanager
async def _lifespan(
    app: FastAPI,
    *,
    settings: Settings,
    metrics: Metrics,
    keyring: Keyring,
    rates: Rates,
    links: SharedLinks,
    audit: Audit,
    signing_in: People | None,
    send: Callable[[str, str], None] | None,
) -> AsyncIterator[None]:
    traces.begin("umbel-api")
    parts = await to_thread.run_sync(_assembled, settings, send)
    job_ends = JobEnds(settings.redis_url, settings.key_prefix)
    if signing_in is not None:
        signing_in.connect(parts.redis)
    service = app.state.service = _service(
        settings, parts, job_ends, keyring, rates, links, audit, signing_in
    )
    links.store = service.shares
    writer = audit.writer = AuditWriter(parts.blobs, settings.scratch_dir / "audit")
    stored_keys = Keys(parts.blobs)
    keyring.on_ended = service.feeds.wake
    try:
        await keyring.load(stored_keys)
    except TransientError as error:
        _log.warning("the keys are read later: %s", error)
    metrics.show(
        ServiceMetrics(parts.ledger, parts.blobs, parts.job_counts, settings.metrics_tenants)
    )
    sender = Sender(parts.ledger.webhooks, settings)
    sender.start()
    await to_thread.run_sync(_warn_of_redis, parts)
    tasks = [
        asyncio.create_task(_sweep(parts.ledger, settings), name="sweeper"),
        asyncio.create_task(job_ends.listen(), name="job ends"),
        asyncio.create_task(service.reservations.send_owed(), name="idempotency keys"),
        asyncio.create_task(keyring.watch(stored_keys), name="keys"),
        asyncio.create_task(_measure(parts, settings), name="store size"),
        asyncio.create_task(_ship(writer, parts, settings), name="audit log"),
        asyncio.create_task(_load_rest(), name="rest"),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await keyring.write_uses(stored_keys)
        await to_thread.run_sync(try_to_ship, writer)
        await rates.close()
        await to_thread.run_sync(sender.stop, _SENDING_S)
        service.meaning.close()
        await to_thread.run_sync(parts.redis.close)
        await to_thread.run_sync(traces.end, _SENDING_S)


def _assembled(settings: Settings, send: Callable[[str, str], None] | None) -> Assembly:
    if send is not None:
        return assemble(settings, send)
    return assemble(settings, sender(settings), message)


def _warn_of_redis(parts: Assembly) -> None:
    try:
        for risk in risks(parts.redis):
            _log.warning("Redis may lose data: %s", risk)
    except TransientError as error:
        _log.warning("the settings of Redis cannot be read: %s", error)


def _service(
    settings: Settings,
    parts: Assembly,
    job_ends: JobEnds,
    keyring: Keyring,
    rates: Rates,
    links: SharedLinks,
    audit: Audit,
    signing_in: People | None,
) -> Service:
    uploads = Parts(parts.blobs, parts.usage, parts.datasets.erase)
    return Service(
        settings=settings,
        blobs=parts.blobs,
        redis=parts.redis,
        reservations=Reservations(
            parts.redis,
            settings.key_prefix,
            settings.idempotency_s,
            Lives(settings.scratch_dir / "lives"),
        ),
        ledger=parts.ledger,
        datasets=parts.datasets,
        parts=uploads,
        usage=parts.usage,
        trees=parts.trees,
        annotations=parts.annotations,
        editions=Editions(parts.blobs, parts.beside.count),
        shares=Shares(parts.blobs, parts.beside.count),
        aliases=Aliases(
            parts.blobs,
            parts.usage,
            parts.ledger.webhooks.move_due,
            Crossings(parts.redis, settings),
        ),
        links=links,
        job_ends=job_ends,
        feeds=Feeds(
            parts.ledger, parts.redis, settings.key_prefix, job_ends, settings.events_poll_s
        ),
        keyring=keyring,
        rates=rates,
        audit=audit,
        meaning=Meaning(parts.redis),
        reached=Reached(parts.ledger, parts.datasets, parts.trees, uploads),
        people=signing_in,
    )


async def _sweep(ledger: Ledger, settings: Settings) -> None:
    """Sweep the ledger for due jobs as long as the process lives.

    The first sweep rebuilds what Redis has lost, and so does the first one after a restart of
    Redis. Where workers run beside it, it also notices those that die.
    """

    def sweep() -> None:
        for job_id, fence in left_by_dead(settings.scratch_dir):
            ledger.process_died(job_id, fence)
        ledger.sweep()

    while True:
        try:
            await to_thread.run_sync(sweep)
        except TransientError as error:
            _log.warning("the sweeper will try again: %s", error)
        except Exception:
            _log.exception("the sweeper will try again")
        # Many processes sweep: jitter keeps them from doing it at the same moment.
        await asyncio.sleep(settings.sweep_s * random.uniform(0.75, 1.25))


async def _ship(writer: AuditWriter, parts: Assembly, settings: Settings) -> None:
    """Put the audit log into the store, and remove what is too old, as long as the process
    lives."""
    cleared_at = -_CLEAR_S
    while True:
        try:
            await to_thread.run_sync(try_to_ship, writer)
            if settings.keep_audit_days and time.monotonic() >= cleared_at + _CLEAR_S:
                await to_thread.run_sync(expire, parts.blobs, settings.keep_audit_days)
                cleared_at = time.monotonic()
        except Exception:
            _log.exception("the audit log is put into the store later")
        await asyncio.sleep(_SHIP_S)


async def _load_rest() -> None:
    """Load the methods before somebody waits for the catalogue of them, and build all routes."""
    await asyncio.sleep(_REST_S)
    await to_thread.run_sync(methods.catalogue, abandon_on_cancel=True)
    for router in ROUTERS:
        for route in router.routes:
            await to_thread.run_sync(build, [route], abandon_on_cancel=True)


async def _measure(parts: Assembly, settings: Settings) -> None:
    """Measure the store now and then, for the metrics, as long as the process lives."""
    size = StoreSize(parts.blobs, parts.redis, settings.key_prefix, settings.metrics_store_s)
    while True:
        try:
            await to_thread.run_sync(size.measure, abandon_on_cancel=True)
        except TransientError as error:
            _log.warning("the store is measured later: %s", error)
        except Exception:
            _log.exception("the store could not be measured")
        await asyncio.sleep(settings.sweep_s)
