"""The commands `umbel keys`: keys in the store, for the operator of a service."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from workers.artifacts.audit import event_of_command, note_command
from workers.artifacts.keys import ROLES, Key, Keys, KnownKey, rfc3339
from workers.errors import FatalError, TransientError
from workers.settings import Limits, WorkerSettings, wrong_settings
from workers.stores.objects.blobs import Blobs

_SPAN = re.compile(r"(\d{1,7})([mhd])")
_SHOWN = 3
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def add_commands(keys: argparse.ArgumentParser) -> None:
    """Add `new`, `list`, `revoke` and `rotate` to the command `keys`."""
    actions = keys.add_subparsers(metavar="action", required=True)

    new = actions.add_parser("new", help="make a key for a tenant")
    new.add_argument("tenant", nargs="?", default="default", help="default: %(default)s")
    new.add_argument("--role", choices=ROLES, help="default: write")
    new.add_argument("--name", help="any text, to tell keys apart")
    _add_expiry(new)
    _add_limits(new)
    new.add_argument(
        "--tag",
        dest="tags",
        action="append",
        default=[],
        help="only what has this tag; several times: one of the tags. What the key makes gets one",
    )
    new.add_argument(
        "--object",
        dest="objects",
        action="append",
        default=[],
        metavar="ID",
        help="only this dataset, run (its job, tree or model) or what is made of one; several "
        "times, also beside tags",
    )
    new.add_argument(
        "--line",
        action="store_true",
        help="keep nothing, and print a line for UMBEL_API_KEYS (so it is where no store is set)",
    )
    new.set_defaults(run=run, run_action=_new)

    listing = actions.add_parser("list", help="the keys that the store keeps, without secrets")
    listing.add_argument("tenant", nargs="?", help="only the keys of this tenant")
    listing.set_defaults(run=run, run_action=_list)

    revoke = actions.add_parser("revoke", help="make a key invalid, in seconds and for good")
    revoke.add_argument("id", help="as `umbel keys list` shows it, `key_...`")
    revoke.set_defaults(run=run, run_action=_revoke)

    rotate = actions.add_parser("rotate", help="make a key in place of another one")
    rotate.add_argument("id", help="as `umbel keys list` shows it, `key_...`")
    rotate.add_argument(
        "--keep",
        type=_span,
        default=timedelta(),
        help="how long the old key stays valid, as 30m, 24h or 7d (default: not at all)",
    )
    _add_expiry(rotate)
    _add_limits(rotate)
    rotate.set_defaults(run=run, run_action=_rotate)

    for action in (new, listing, revoke, rotate):
        action.add_argument(
            "--data-dir", type=Path, help="of `umbel serve`, where UMBEL_STORE_URL is not set"
        )


def store_of(settings: WorkerSettings, data_dir: Path | None) -> Blobs | None:
    """The store of the service: UMBEL_STORE_URL, or in a data directory of `umbel serve`; None
    where neither is given. Raises FatalError for what cannot be used."""
    from workers.stores.objects.address import blobs_at

    if settings.store_url:
        return blobs_at(settings)
    if data_dir is None:
        return None
    store = data_dir.absolute() / "store"
    if not store.is_dir():
        raise FatalError(f"{data_dir} has no store; `umbel serve` makes one when it first starts.")
    return blobs_at(settings.model_copy(update={"store_url": store.as_uri()}))


def _add_expiry(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--expires",
        type=_expiry,
        help="as 90d, 12h, or a time with its offset, 2027-01-31T00:00:00Z (default: never)",
    )


def _add_limits(action: argparse.ArgumentParser) -> None:
    for name, field in Limits.model_fields.items():
        action.add_argument(
            f"--{name.replace('_', '-')}",
            type=float if name == "requests_per_s" else int,
            metavar="N",
            help=f"the most {_LIMITED[name]} of this key (default: {_default(field.default)})",
        )


_LIMITED = {
    "bytes": "bytes kept",
    "datasets": "datasets",
    "queued": "queued jobs",
    "running": "running jobs",
    "requests_per_s": "requests a second",
}


def _default(value: object) -> str:
    return "as its tenant's" if value is None else str(value)


def _given_limits(arguments: argparse.Namespace, otherwise: Limits) -> Limits:
    given = {name: getattr(arguments, name) for name in Limits.model_fields}
    stated = {name: value for name, value in given.items() if value is not None}
    return Limits.model_validate({**otherwise.model_dump(), **stated})


def _new(arguments: argparse.Namespace) -> int:
    settings = WorkerSettings()
    keys = None if arguments.line else _keys(settings, arguments)
    limits = _given_limits(arguments, Limits())
    if keys is None:
        kept = [arguments.role, arguments.name, arguments.expires]
        kept += [*arguments.tags, *arguments.objects]
        if limits.any or any(value is not None for value in kept):
            raise ValueError(
                "A line for UMBEL_API_KEYS has no role, name, expiry, tags, objects or limits; set "
                "UMBEL_STORE_URL or --data-dir to keep the key in the store."
            )
        from app.http.environment_keys import new_key

        secret, line = new_key(arguments.tenant)
        print(f"key (shown once, for the caller):      {secret}")
        print(f"line (for UMBEL_API_KEYS or its file): {line}")
        return 0
    key, secret = keys.add(
        arguments.tenant,
        arguments.role or "write",
        name=arguments.name,
        expires_at=arguments.expires,
        limits=limits,
        objects=arguments.objects,
        tags=arguments.tags,
    )
    _note(arguments, "keys new", key)
    _show_new(key, secret)
    return 0


def _list(arguments: argparse.Namespace) -> int:
    keys = _required(WorkerSettings(), arguments)
    now = datetime.now(UTC)
    rows = [("id", "tenant", "role", "state", "expires", "last used", "limited to", "name")]
    for key_id, known in sorted(keys.all().items()):
        key = known.key
        if arguments.tenant in (None, key.tenant):
            used = keys.last_use(key_id)
            rows.append(
                (
                    key_id,
                    key.tenant,
                    key.role,
                    _state(known, now),
                    "never" if key.expires_at is None else rfc3339(key.expires_at),
                    "never" if used is None else rfc3339(used),
                    _reach(key),
                    _plain(key.name or ""),
                )
            )
    _print_table(rows)
    return 0


def _revoke(arguments: argparse.Namespace) -> int:
    keys = _required(WorkerSettings(), arguments)
    known = _known(keys, arguments.id)
    keys.revoke(arguments.id, datetime.now(UTC))
    _note(arguments, "keys revoke", known.key)
    print(f"{arguments.id} is revoked; running processes know it within 5 seconds")
    return 0


def _rotate(arguments: argparse.Namespace) -> int:
    keys = _required(WorkerSettings(), arguments)
    known = _known(keys, arguments.id)
    now = datetime.now(UTC)
    why = known.refusal(now)
    if why is not None:
        raise ValueError(f"{why}; make a new one with `umbel keys new {known.key.tenant}`.")
    old = known.key
    span = None if old.expires_at is None else old.expires_at - old.created_at
    key, secret = keys.add(
        old.tenant,
        old.role,
        name=old.name,
        expires_at=arguments.expires or (None if span is None else now + span),
        limits=_given_limits(arguments, old.limits),
        replaces=old.id,
        objects=old.objects,
        tags=old.tags,
    )
    # The new key first: if this ends here, both are valid.
    keys.revoke(old.id, now + arguments.keep)
    _note(arguments, "keys rotate", key)
    _show_new(key, secret)
    ends = f"at {rfc3339(now + arguments.keep)}" if arguments.keep else "now"
    print(f"{old.id} becomes invalid {ends}")
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Run the action; errors of the call or of the environment become one sentence."""
    try:
        status: int = arguments.run_action(arguments)
        return status
    except ValidationError as error:
        if error.title == Limits.__name__:
            wrong = error.errors()[0]
            print(f"--{str(wrong['loc'][0]).replace('_', '-')}: {wrong['msg']}", file=sys.stderr)
        else:
            print(wrong_settings(error), file=sys.stderr)
    except (ValueError, FatalError) as error:
        print(error, file=sys.stderr)
    except TransientError as error:
        print(f"The store does not answer: {error}.", file=sys.stderr)
        return 1
    return 2


def _keys(settings: WorkerSettings, arguments: argparse.Namespace) -> Keys | None:
    blobs = store_of(settings, arguments.data_dir)
    return None if blobs is None else Keys(blobs)


def _required(settings: WorkerSettings, arguments: argparse.Namespace) -> Keys:
    keys = _keys(settings, arguments)
    if keys is None:
        raise ValueError("Set UMBEL_STORE_URL as for the service, or --data-dir of `umbel serve`.")
    return keys


def _note(arguments: argparse.Namespace, action: str, key: Key) -> None:
    """Write the change into the audit log."""
    blobs = store_of(WorkerSettings(), arguments.data_dir)
    if blobs is not None:
        note_command(blobs, event_of_command(action, key.tenant, key.id))


def _known(keys: Keys, key_id: str) -> KnownKey:
    known = keys.all().get(key_id)
    if known is None:
        raise ValueError(f"There is no key {key_id!r}; `umbel keys list` shows those that exist.")
    return known


def _show_new(key: Key, secret: str) -> None:
    print(f"key (shown once, for the caller): {secret}")
    print(f"id (to revoke or rotate it):      {key.id}")


def _state(known: KnownKey, now: datetime) -> str:
    if known.refusal(now) is None:
        if known.revoked_at is None:
            return "valid"
        return f"valid until {rfc3339(known.revoked_at)}"
    return "revoked" if known.revoked_at is not None and known.revoked_at <= now else "expired"


def _reach(key: Key) -> str:
    """To what a key is limited, in few words."""
    named = [*map(repr, key.tags), *key.objects]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return ", ".join(named[:_SHOWN]) + more


def _plain(text: str) -> str:
    """The text without what could move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )


def _span(text: str) -> timedelta:
    match = _SPAN.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError("a time as 30m, 24h or 7d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _expiry(text: str) -> datetime:
    if _SPAN.fullmatch(text):
        try:
            return datetime.now(UTC) + _span(text)
        except OverflowError:
            raise argparse.ArgumentTypeError(f"{text} is too far; leave it out for never") from None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise argparse.ArgumentTypeError("90d, 12h, or a time with its offset, 2027-01-31T00:00Z")
    return moment
