"""The command `umbel gc`: what has expired, and its removal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pydantic import ValidationError

from workers.errors import FatalError, TransientError
from workers.settings import WorkerSettings, wrong_settings


def add_command(gc: argparse.ArgumentParser) -> None:
    """Add the options of `umbel gc`."""
    gc.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    gc.add_argument(
        "--data-dir",
        type=Path,
        help="of a running `umbel serve`, where UMBEL_REDIS_URL and UMBEL_STORE_URL are not set",
    )
    gc.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List what has expired, and remove it unless it is a dry run; the exit status."""
    from workers.assembly import assemble

    try:
        parts = assemble(_settings(arguments.data_dir), lambda queue, job_id: None)
        parts.ledger.ensure_built(wait_s=3600.0)
        retention = parts.ledger.retention
        verdicts = retention.plan() if arguments.dry_run else retention.run("operator")
    except ValidationError as error:
        print(wrong_settings(error), file=sys.stderr)
        return 2
    except (ValueError, FatalError) as error:
        print(error, file=sys.stderr)
        return 2
    except TransientError as error:
        print(f"The service's Redis or store does not answer: {error}.", file=sys.stderr)
        return 1
    gone = "would go" if arguments.dry_run else "removed"
    for each in verdicts:
        kept = "it has not ended" if each.kept_by == each.id else f"{each.kept_by} needs it"
        outcome = f"kept, since {kept}" if each.kept_by else gone
        print(f"{each.id}  {each.tenant}  {each.n_bytes} bytes  {outcome}: {each.why}")
    going = [each for each in verdicts if not each.kept_by]
    print(f"{len(going)} {gone}, {sum(each.n_bytes for each in going)} bytes")
    return 0


def _settings(data_dir: Path | None) -> WorkerSettings:
    """The settings of the service. Raises ValueError if they do not say where it is."""
    settings = WorkerSettings()
    if data_dir is not None and not settings.redis_url:
        from workers.embedded import address_of

        url = address_of(data_dir.absolute() / "redis")
        if url is None:
            raise ValueError(f"No `umbel serve` has run on {data_dir}.")
        settings = settings.model_copy(update={"redis_url": url})
    if data_dir is not None and not settings.store_url:
        store = (data_dir.absolute() / "store").as_uri()
        settings = settings.model_copy(update={"store_url": store})
    if not settings.redis_url or not settings.store_url:
        raise ValueError(
            "Set UMBEL_REDIS_URL and UMBEL_STORE_URL as for the service, or --data-dir of a "
            "running `umbel serve`."
        )
    return settings
