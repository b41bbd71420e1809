"""The command `umbel audit`: the audit log as JSON lines, from the store."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from app.commands.keys import store_of
from workers.artifacts.audit import Filter, found
from workers.errors import Damaged, FatalError, TransientError
from workers.settings import WorkerSettings, wrong_settings


def add_command(audit: argparse.ArgumentParser) -> None:
    """Add the options of `umbel audit`."""
    audit.add_argument("--since", type=_moment, help="a time with its offset, 2027-01-31T00:00Z")
    audit.add_argument("--until", type=_moment, help="only what was earlier")
    audit.add_argument("--tenant")
    audit.add_argument("--actor", help="the id of a key or link, or local, environment, unknown")
    audit.add_argument("--action", help="how it begins: DELETE, POST /v1/jobs, sign-in, keys")
    audit.add_argument(
        "--data-dir", type=Path, help="of `umbel serve`, where UMBEL_STORE_URL is not set"
    )
    audit.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the lines that are wanted, the newest first; the exit status."""
    try:
        blobs = store_of(WorkerSettings(), arguments.data_dir)
        if blobs is None:
            raise FatalError("Set UMBEL_STORE_URL as for the service, or --data-dir.")
        wanted = Filter(
            since=arguments.since,
            until=arguments.until,
            tenant=arguments.tenant,
            actor=arguments.actor,
            action=arguments.action,
        )
        for _, event in found(blobs, wanted):
            if event is not None:
                print(event.model_dump_json())
    except ValidationError as error:
        print(wrong_settings(error), file=sys.stderr)
        return 2
    except (FatalError, Damaged) as error:
        print(error, file=sys.stderr)
        return 2
    except TransientError as error:
        print(f"The store does not answer: {error}.", file=sys.stderr)
        return 1
    return 0


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError("a time with its offset, 2027-01-31T00:00Z")
    return moment
