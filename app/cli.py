"""The command `umbel`."""

from __future__ import annotations

import argparse
import gc
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from workers.stores.backup import Copied
    from workers.stores.objects.blobs import Blobs

DEFAULT_PORT = 8000


def main(argv: Sequence[str] | None = None) -> None:
    """Run one of the commands; its exit status is the process's."""
    arguments = parser().parse_args(argv)
    raise SystemExit(arguments.run(arguments))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="umbel", description="Hierarchies as a service.")
    commands = parser.add_subparsers(metavar="command", required=True)

    serve = commands.add_parser(
        "serve", help="run the whole service on this machine (Valkey, API, workers)"
    )
    serve.add_argument("--host", default="127.0.0.1", help="address (default: %(default)s)")
    serve.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, help="0: a free one (default: %(default)s)"
    )
    serve.add_argument(
        "--data-dir", type=Path, default=Path("umbel-data"), help="default: ./%(default)s"
    )
    serve.add_argument(
        "--workers", type=_positive, default=2, help="worker processes (default: %(default)s)"
    )
    serve.set_defaults(run=_serve)

    api = commands.add_parser("api", help="run the API alone, on a Redis and store set elsewhere")
    api.add_argument("--host", default="127.0.0.1", help="address (default: %(default)s)")
    api.add_argument("--port", type=_port, default=DEFAULT_PORT, help="default: %(default)s")
    api.add_argument("--fd", type=int, help=argparse.SUPPRESS)
    api.set_defaults(run=_api)

    worker = commands.add_parser("worker", help="run one worker process")
    worker.add_argument("--queues", default="cpu", help="comma-separated: cpu, gpu (default: cpu)")
    worker.set_defaults(run=_worker)

    demo = commands.add_parser(
        "demo", help="turn the sample's logits into a hierarchy of languages"
    )
    demo.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="folder (default: ./%(default)s)"
    )
    demo.set_defaults(run=_demo)

    openapi = commands.add_parser("openapi", help="print the OpenAPI document")
    openapi.set_defaults(run=_openapi)

    backup = commands.add_parser("backup", help="copy the store, while the service runs")
    backup.add_argument("target", help="folder, or s3://bucket/prefix")
    _name_store(backup)
    backup.set_defaults(run=_backup)

    restore = commands.add_parser("restore", help="copy a backup into an empty store")
    restore.add_argument("source", help="folder, or s3://bucket/prefix")
    _name_store(restore)
    restore.set_defaults(run=_restore)

    keys = commands.add_parser("keys", help="keys of the API").add_subparsers(
        metavar="action", required=True
    )
    new = keys.add_parser("new", help="make a key for a tenant")
    new.add_argument("tenant", nargs="?", default="default", help="default: %(default)s")
    new.set_defaults(run=_keys_new)
    return parser


def _name_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path("umbel-data"),
        help="that of `umbel serve`, used if UMBEL_STORE_URL is not set (default: ./%(default)s)",
    )


def _serve(arguments: argparse.Namespace) -> int:
    from app.serve import CannotStart, serve
    from workers.settings import wrong_settings

    try:
        return serve(arguments.host, arguments.port, arguments.data_dir, arguments.workers)
    except ValidationError as error:
        print(wrong_settings(error), file=sys.stderr)
        return 2
    except (CannotStart, ValueError) as error:
        print(error, file=sys.stderr)
        return 2


def _api(arguments: argparse.Namespace) -> int:
    from app.http.security import keys
    from app.settings import Settings
    from workers import logs
    from workers.assembly import blobs_at
    from workers.errors import FatalError
    from workers.settings import wrong_settings
    from workers.stores.objects.format import open_store
    from workers.stores.redis.address import require_usable

    try:
        settings = Settings()
        keys(settings)
    except ValidationError as error:
        print(wrong_settings(error), file=sys.stderr)
        return 2
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if not settings.redis_url or not settings.store_url:
        print("UMBEL_REDIS_URL and UMBEL_STORE_URL must be set.", file=sys.stderr)
        return 2
    logs.configure(settings.log_level, settings.log_format)
    try:
        require_usable(settings.redis_url)
        open_store(blobs_at(settings))
    except FatalError as error:
        print(error, file=sys.stderr)
        return 2
    # Modules stay: a tenth of the time of loading them would go to a collector that finds nothing.
    gc.disable()
    from app.http.server import Server
    from app.main import create_app

    gc.freeze()
    gc.enable()
    # A body of a million short lists would otherwise be gone through again and again.
    gc.set_threshold(50_000, 20, 50)
    app = create_app(settings)
    server = Server(
        app,
        settings,
        host=arguments.host,
        port=arguments.port,
        on_drain=lambda: app.state.service.job_ends.release(),
    )
    sockets = None if arguments.fd is None else [socket.socket(fileno=arguments.fd)]
    server.run(sockets=sockets)
    return 0 if server.started else 1


def _worker(arguments: argparse.Namespace) -> int:
    from workers.processes import python

    command = python("workers.main", "--queues", arguments.queues)
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606


def _demo(arguments: argparse.Namespace) -> int:
    from app.demo import demo

    try:
        demo(arguments.out)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _openapi(_: argparse.Namespace) -> int:
    from app import openapi
    from app.main import documented_app

    sys.stdout.write(openapi.text(documented_app()))
    return 0


def _backup(arguments: argparse.Namespace) -> int:
    from workers.stores.backup import back_up

    return _copied(arguments, lambda store: back_up(store(None), store(arguments.target)))


def _restore(arguments: argparse.Namespace) -> int:
    from workers.stores.backup import restore

    return _copied(arguments, lambda store: restore(store(arguments.source), store(None)))


def _copied(
    arguments: argparse.Namespace, copy: Callable[[Callable[[str | None], Blobs]], Copied]
) -> int:
    """Copy between the service's store, `store(None)`, and another one, and say what was done."""
    from workers.assembly import blobs_at
    from workers.errors import FatalError, TransientError
    from workers.settings import WorkerSettings, wrong_settings

    own = (arguments.data_dir / "store").absolute().as_uri()

    def store(place: str | None) -> Blobs:
        url = settings.store_url or own
        if place is not None:
            url = place
            if "://" not in place:
                # It holds every tenant's data.
                Path(place).mkdir(mode=0o700, parents=True, exist_ok=True)
                url = Path(place).absolute().as_uri()
        return blobs_at(settings.model_copy(update={"store_url": url}))

    try:
        settings = WorkerSettings()
        copied = copy(store)
    except ValidationError as error:
        print(wrong_settings(error), file=sys.stderr)
        return 2
    except (FatalError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except TransientError as error:
        print(f"{error}; run it again to go on", file=sys.stderr)
        return 1
    print(
        f"{copied.n_objects} objects, {copied.n_bytes} bytes; "
        f"{copied.n_written} written and {copied.n_removed} removed now"
    )
    return 0


def _keys_new(arguments: argparse.Namespace) -> int:
    from app.http.security import new_key

    try:
        key, line = new_key(arguments.tenant)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"key (shown once, for the caller):      {key}")
    print(f"line (for UMBEL_API_KEYS or its file): {line}")
    return 0


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError("a port is a number between 0 and 65535")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a whole number, at least 1")
    return int(text)


if __name__ == "__main__":
    main()
