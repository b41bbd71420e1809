"""The commands `umbel backup`, `umbel restore` and `umbel verify`: copies of the store, and whether
it and they are whole."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pydantic import ValidationError

if TYPE_CHECKING:
    from workers.stores.backup import Copied
    from workers.stores.objects.blobs import Blobs
    from workers.verification.course import Progress, Verdict

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

    class Store(Protocol):
        """The store at a place, or with None the service's; `makes`: which may be made."""

        def __call__(self, place: str | None, *, makes: bool = False) -> Blobs: ...


_DAMAGED = 3
"""The exit status of `umbel verify` where something is damaged."""
_SHOWN_S = 1.0
_MB = 1_000_000


def add_commands(commands: Commands) -> None:
    """Add the three commands."""
    backup = commands.add_parser("backup", help="copy the store, while the service runs")
    backup.add_argument("target", help="folder, or s3://, gs:// or az://bucket/prefix")
    _name_store(backup)
    backup.set_defaults(run=_backup)

    restore = commands.add_parser("restore", help="copy a backup into an empty store")
    restore.add_argument("source", help="folder, or s3://, gs:// or az://bucket/prefix")
    _name_store(restore)
    restore.set_defaults(run=_restore)

    verify = commands.add_parser(
        "verify", help="compare all that is stored with its digests, while the service runs"
    )
    verify.add_argument("--backup", help="compare this backup instead, with its own list")
    verify.add_argument(
        "--rate", type=_rate, default=0.0, help="most MB to read a second (default: no limit)"
    )
    verify.add_argument(
        "--report-only", action="store_true", help="put nothing into quarantine, and free nothing"
    )
    verify.add_argument(
        "--restore-from", metavar="BACKUP", help="bring back from there what is damaged or lost"
    )
    verify.add_argument(
        "--anew", action="store_true", help="from the start, also where an earlier one was ended"
    )
    verify.add_argument("--json", action="store_true", help="for other programs")
    _name_store(verify)
    verify.set_defaults(run=_verify)


def _name_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path("umbel-data"),
        help="that of `umbel serve`, used if UMBEL_STORE_URL is not set (default: ./%(default)s)",
    )


def _rate(text: str) -> float:
    rate = float(text)
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError("a number of MB above 0")
    return rate


def _backup(arguments: argparse.Namespace) -> int:
    from workers.stores.backup import back_up

    return _copied(
        arguments, lambda store: back_up(store(None), store(arguments.target, makes=True))
    )


def _restore(arguments: argparse.Namespace) -> int:
    from workers.stores.backup import restore

    return _copied(
        arguments, lambda store: restore(store(arguments.source), store(None, makes=True))
    )


def _copied(arguments: argparse.Namespace, copy: Callable[[Store], Copied]) -> int:
    """Copy between the service's store, `store(None)`, and another one, and say what was done."""

    def work(store: Store) -> int:
        copied = copy(store)
        print(
            f"{copied.n_objects} objects, {copied.n_bytes} bytes; "
            f"{copied.n_written} written and {copied.n_removed} removed now"
        )
        for key in copied.damaged:
            print(f"in quarantine, not copied: {key}", file=sys.stderr)
        return 0

    return _with_stores(arguments, work)


def _verify(arguments: argparse.Namespace) -> int:
    if arguments.backup is not None:
        return _with_stores(arguments, lambda store: _verify_backup(arguments, store))
    return _with_stores(arguments, lambda store: _verify_store(arguments, store))


def _verify_backup(arguments: argparse.Namespace, store: Store) -> int:
    from workers.stores.backup import check_backup

    n_objects, n_bytes, damaged = check_backup(store(arguments.backup))
    if arguments.json:
        print(json.dumps({"objects": n_objects, "bytes": n_bytes, "damaged": damaged}, indent=2))
    else:
        for key in damaged:
            print(f"damaged, missing or foreign: {key}")
        print(f"{n_objects} objects, {n_bytes} bytes; {len(damaged)} differ from the list")
    return _DAMAGED if damaged else 0


def _verify_store(arguments: argparse.Namespace, store: Store) -> int:
    from workers.errors import FatalError
    from workers.verification.course import verify

    verdict = verify(
        store(None),
        rate=arguments.rate * _MB,
        quarantine=not arguments.report_only,
        anew=arguments.anew,
        backup=store(arguments.restore_from) if arguments.restore_from else None,
        shown=_Shown(),
    )
    if not verdict.n_objects and not verdict.findings:
        raise FatalError("The store is empty: nothing was compared.")
    if arguments.json:
        print(json.dumps(asdict(verdict), indent=2))
    else:
        _print_verdict(verdict, quarantined=not arguments.report_only)
    return _DAMAGED if verdict.findings else 0


def _print_verdict(verdict: Verdict, *, quarantined: bool) -> None:
    if verdict.resumed:
        print(f"continued after {verdict.resumed}")
    for key in verdict.restored:
        print(f"restored: {key}")
    for key in verdict.freed:
        print(f"no longer in quarantine: {key}")
    for each in verdict.findings:
        kept = "; in quarantine" if quarantined and each.what != "foreign" else ""
        print(f"{each.what}: {each.key} ({each.owner}): {each.why}{kept}")
    print(
        f"{verdict.n_objects} objects, {verdict.n_bytes} bytes read; {len(verdict.findings)} wrong"
    )


class _Shown:
    """Says on standard error how far a verification has come, once a second."""

    def __init__(self) -> None:
        self._at = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() < self._at + _SHOWN_S:
            return
        self._at = time.monotonic()
        print(
            f"{progress.n_done} of {progress.n_folders} folders, {progress.n_objects} objects, "
            f"{progress.n_bytes / _MB:.0f} MB, {len(progress.doubtful)} to look at again",
            file=sys.stderr,
        )


def _with_stores(arguments: argparse.Namespace, work: Callable[[Store], int]) -> int:
    """Work on stores and return the exit status; `store(None)` is that of the service. All show
    what is in quarantine, too."""
    from workers.errors import FatalError, TransientError
    from workers.settings import WorkerSettings, wrong_settings
    from workers.stores import privacy
    from workers.stores.objects.address import bare_blobs_at, require_apart

    own = (arguments.data_dir / "store").absolute()

    def store(place: str | None, *, makes: bool = False) -> Blobs:
        url = settings.store_url or own.as_uri()
        if place is None:
            if not settings.store_url and not makes and not own.is_dir():
                raise FatalError(
                    f"{arguments.data_dir} has no store; `umbel serve` makes one when it first "
                    "starts. Set UMBEL_STORE_URL as for the service, or --data-dir."
                )
        else:
            url = place
            if "://" not in place:
                folder = Path(place).absolute()
                require_apart(settings.store_url or own.as_uri(), folder.as_uri())
                if makes:
                    # It holds every tenant's data.
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                elif not folder.is_dir():
                    raise FatalError(f"There is no folder {place}.")
                url = folder.as_uri()
        return bare_blobs_at(settings.model_copy(update={"store_url": url}))

    privacy.begin()
    try:
        settings = WorkerSettings()
        return work(store)
    except ValidationError as error:
        print(wrong_settings(error), file=sys.stderr)
        return 2
    except (FatalError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except TransientError as error:
        print(f"{error}; run it again to go on", file=sys.stderr)
        return 1
