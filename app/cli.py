"""The command `umbel`."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from umbel_client.commands.plugged import Plugged

DEFAULT_PORT = 8000

_PROCESSES = ("serve", "api")
"""Commands whose start somebody waits for: they load no other command."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run one of the commands; its exit status is the process's."""
    words = sys.argv[1:] if argv is None else argv
    alone = bool(words) and words[0] in _PROCESSES
    arguments, unknown = parser(client=not alone, alone=alone).parse_known_args(words)
    if unknown:
        # The client's parser names what is near.
        parser(client=not alone or find_spec("umbel_client") is not None).parse_args(words)
    raise SystemExit(arguments.run(arguments))


def parser(*, client: bool = True, alone: bool = False) -> argparse.ArgumentParser:
    """client : whether it also knows the commands of the client. alone : whether it knows
    `_PROCESSES` alone."""
    kind = argparse.ArgumentParser
    if client:
        try:
            from umbel_client.commands import CommandHelp, Parser, add_commands
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "umbel_client":
                raise
            kind(prog="umbel").error(
                "umbel-client, which this command needs, is not installed: pip install "
                "umbel-client, or pip install ./client in the source tree"
            )
        kind = Parser
    parser = kind(prog="umbel", description="Hierarchies as a service.")
    if client:
        parser.formatter_class = CommandHelp
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(metavar="command", required=True)
    if client:
        add_commands(parser, commands, _plugged)

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
    _add_api_processes(serve)
    serve.set_defaults(run=_serve)

    api = commands.add_parser("api", help="run the API alone, on a Redis and store set elsewhere")
    api.add_argument("--host", default="127.0.0.1", help="address (default: %(default)s)")
    api.add_argument("--port", type=_port, default=DEFAULT_PORT, help="default: %(default)s")
    _add_api_processes(api)
    api.add_argument("--fd", type=int, help=argparse.SUPPRESS)
    api.set_defaults(run=_api)
    if not alone:
        _add_others(commands)
    return parser


def _add_others(commands: Any) -> None:
    """Add the operator's other commands to the subparsers of a parser."""
    from app.commands import audit, backup, removal
    from app.commands import keys as key_commands

    worker = commands.add_parser("worker", help="run one worker process, or several")
    worker.add_argument("--queues", default="cpu", help="comma-separated: cpu, gpu (default: cpu)")
    worker.add_argument(
        "--processes",
        type=_positive,
        default=1,
        help="workers that are kept running: a dead one is replaced at once (default: %(default)s)",
    )
    worker.set_defaults(run=_worker)

    health = commands.add_parser(
        "health", help="whether a worker on this machine has reported lately (exit status)"
    )
    health.set_defaults(run=_health)

    compile_ = commands.add_parser(
        "compile", help="compile now what common methods would compile when first used"
    )
    compile_.add_argument("--all", action="store_true", help="all methods: a few minutes")
    compile_.set_defaults(run=_compile)

    demo = commands.add_parser(
        "demo", help="turn the sample's logits into a hierarchy of languages"
    )
    demo.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="folder (default: ./%(default)s)"
    )
    demo.set_defaults(run=_demo)

    openapi = commands.add_parser("openapi", help="print the OpenAPI document")
    openapi.set_defaults(run=_openapi)

    settings = commands.add_parser(
        "settings", help="list every setting of the environment, and what holds now"
    )
    settings.add_argument("--json", action="store_true", help="for other programs")
    settings.set_defaults(run=_settings)

    keys = commands.add_parser("keys", help="keys of the API: new, list, revoke, rotate")
    key_commands.add_commands(keys)
    gc_parser = commands.add_parser("gc", help="remove what has expired; --dry-run lists it")
    removal.add_command(gc_parser)
    audit_parser = commands.add_parser("audit", help="who changed what, as JSON lines")
    audit.add_command(audit_parser)
    backup.add_commands(commands)


def _plugged() -> Plugged:
    """The methods of plug-ins that are installed here, for the client's commands."""
    from models.plugins.entry_points import entries
    from umbel_client.commands.plugged import Plugged

    if not entries():
        return Plugged()
    from app.resources.methods.schemas import MethodBody
    from app.resources.service.health.schemas import PluginBody
    from models.registry import plugins

    # One sentence reports what is left out; tracebacks are for the log of a service.
    logging.getLogger("models.plugins").setLevel(logging.CRITICAL)
    found = plugins()
    usable = [MethodBody.of(each.method) for each in found if each.method is not None]
    return Plugged(
        {method.id: method.model_dump(mode="json") for method in usable},
        [PluginBody.of(each).model_dump() for each in found if each.problem is not None],
    )


def _add_api_processes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--api-processes",
        type=_positive,
        default=1,
        help="processes of the API behind the one port (default: %(default)s)",
    )


def _name_unknown() -> None:
    """Name the variables of the environment that set nothing."""
    from app.settings import unknown

    for sentence in unknown(os.environ):
        print(sentence, file=sys.stderr)


def _serve(arguments: argparse.Namespace) -> int:
    from app.http.early import Early
    from app.http.processes import unbound

    try:
        listener = unbound(arguments.host)
    except OSError as error:
        # As where the system has no IPv6.
        print(f"Cannot listen on {arguments.host}: {error.strerror}.", file=sys.stderr)
        return 2
    with closing(Early(listener, arguments.api_processes, arguments.workers)) as early:
        from pydantic import ValidationError

        from app.settings import Settings
        from workers.settings import wrong_settings

        _name_unknown()
        try:
            settings = Settings()
            early.load_workers(settings.threads_per_job)

            from app.serve import CannotStart, serve

            return serve(early, settings, arguments.host, arguments.port, arguments.data_dir)
        except ValidationError as error:
            print(wrong_settings(error), file=sys.stderr)
            return 2
        except (CannotStart, ValueError) as error:
            print(error, file=sys.stderr)
            return 2


def _api(arguments: argparse.Namespace) -> int:
    from app.http.heap import return_what_is_freed

    return_what_is_freed()
    from pydantic import ValidationError

    from app.http.environment_keys import keys
    from app.http.sign_in.people import people
    from app.settings import Settings
    from workers import logs
    from workers.child.compiling import keep_in
    from workers.child.confinement import close_memory
    from workers.errors import FatalError
    from workers.settings import wrong_settings
    from workers.stores import privacy
    from workers.stores.objects.address import blobs_at
    from workers.stores.objects.format import open_store
    from workers.stores.redis.address import require_usable
    from workers.stores.redis.durability import refuse_cluster

    privacy.begin()
    if arguments.fd is None:
        _name_unknown()
    try:
        settings = Settings()
        keys(settings)
        people(settings)
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
    keep_in(os.environ, settings.scratch_dir)
    try:
        require_usable(settings.redis_url)
        refuse_cluster(settings.redis_url)
        open_store(blobs_at(settings))
    except FatalError as error:
        print(error, file=sys.stderr)
        return 2
    close_memory()
    if arguments.api_processes > 1:
        return _keep_api(arguments, settings.shutdown_s)
    # Modules stay: a tenth of the time of loading them would go to a collector that finds nothing.
    gc.disable()
    from app.http.server import Server
    from app.main import create_app

    gc.freeze()
    gc.enable()
    # A body of a million short lists would otherwise be gone through again and again. What requests
    # leave in circles is found after some thousand of them.
    gc.set_threshold(50_000, 5, 5)
    # A thread that draws or writes gives way to the event loop so soon.
    sys.setswitchinterval(0.001)
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


def _keep_api(arguments: argparse.Namespace, shutdown_s: float) -> int:
    from app.http.processes import keep_api, listen

    try:
        listener = listen(arguments.host, arguments.port)
    except OSError as error:
        where = f"{arguments.host} port {arguments.port}"
        print(f"Cannot listen on {where}: {error.strerror}.", file=sys.stderr)
        return 2
    return keep_api(arguments.api_processes, listener, shutdown_s)


def _worker(arguments: argparse.Namespace) -> int:
    from umbel import floors

    options = ("--queues", arguments.queues)
    _name_unknown()
    sys.stdout.flush()
    if arguments.processes == 1:
        command = floors.command("workers.main", *options)
        os.execv(command[0], command)  # noqa: S606
    return _keep_workers(arguments.processes, options)


def _keep_workers(n_processes: int, options: Sequence[str]) -> int:
    from pydantic import ValidationError

    from app.http.processes import keep_workers
    from workers.child.compiling import keep_in
    from workers.child.confinement import close_memory
    from workers.settings import WorkerSettings, wrong_settings
    from workers.stores import privacy

    close_memory()
    privacy.begin()
    try:
        settings = WorkerSettings()
    except ValidationError as error:
        print(wrong_settings(error), file=sys.stderr)
        return 2
    keep_in(os.environ, settings.scratch_dir)
    return keep_workers(n_processes, options, settings.threads_per_job, settings.drain_s)


def _health(_: argparse.Namespace) -> int:
    from workers.health import main

    main()
    return 0


def _compile(arguments: argparse.Namespace) -> int:
    from app.commands.compiling import compile_all

    return compile_all(everything=arguments.all)


def _demo(arguments: argparse.Namespace) -> int:
    from app.demo import demo

    try:
        demo(arguments.out)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _openapi(_: argparse.Namespace) -> int:
    from app.main import documented_app
    from app.openapi import document as openapi

    sys.stdout.write(openapi.text(documented_app()))
    return 0


def _settings(arguments: argparse.Namespace) -> int:
    import json

    from pydantic import ValidationError

    from app.creation.waiting import sentences
    from app.settings import Settings, listed
    from workers.child import confinement
    from workers.settings import wrong_settings

    _name_unknown()
    try:
        rows = listed(Settings())
    except ValidationError as error:
        print(wrong_settings(error), file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        mark = "" if row["value"] == row["default"] else f"  (default: {row['default']})"
        print(f"{row['name']}={row['value']}{mark}\n    {row['description']}")
    for sentence in (*sentences(), *confinement.states()):
        print(sentence)
    return 0


class _Version(argparse.Action):
    """`--version`: read only when it is requested."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"umbel {version('umbel')}")
        parser.exit()


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError("a port is a number between 0 and 65535")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a whole number, at least 1")
    return int(text)
