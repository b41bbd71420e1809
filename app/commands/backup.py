"""The commands `umbel backup` and `umbel restore`: copies of the store."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from workers.stores.backup import Copied
    from workers.stores.objects.blobs import Blobs

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_commands(commands: Commands) -> None:
    """Add both commands."""
    backup = commands.add_parser("backup", help="copy the store, while the service runs")
    backup.add_argument("target", help="folder, or s3://bucket/prefix")
    _name_store(backup)
    backup.set_defaults(run=_backup)

    restore = commands.add_parser("restore", help="copy a backup into an empty store")
    restore.add_argument("source", help="folder, or s3://bucket/prefix")
    _name_store(restore)
    restore.set_defaults(run=_restore)


def _name_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path("umbel-data"),
        help="that of `umbel serve`, used if UMBEL_STORE_URL is not set (default: ./%(default)s)",
    )


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
    from workers.errors import FatalError, TransientError
    from workers.settings import WorkerSettings, wrong_settings
    from workers.stores import privacy
    from workers.stores.objects.address import blobs_at, require_apart

    own = (arguments.data_dir / "store").absolute().as_uri()

    def store(place: str | None) -> Blobs:
        url = settings.store_url or own
        if place is not None:
            url = place
            if "://" not in place:
                require_apart(settings.store_url or own, Path(place).absolute().as_uri())
                # It holds every tenant's data.
                Path(place).mkdir(mode=0o700, parents=True, exist_ok=True)
                url = Path(place).absolute().as_uri()
        return blobs_at(settings.model_copy(update={"store_url": url}))

    privacy.begin()
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
