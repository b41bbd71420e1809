"""`umbel report`: a thing of the service as one HTML file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from umbel_client.client import Umbel
from umbel_client.commands import outputs
from umbel_client.commands.outputs import say
from umbel_client.commands.work import service
from umbel_client.errors import InputError
from umbel_client.report import report as report_of

_READERS: Mapping[str, Callable[[Umbel, str], Any]] = {
    "tr": Umbel.tree,
    "cmp": Umbel.comparison,
    "cal": Umbel.calibration,
    "dr": Umbel.drift,
}


def report(arguments: Namespace) -> None:
    """`umbel report`."""
    outputs.require_place(arguments.file)
    reader = _READERS.get(arguments.id.partition("_")[0])
    if reader is None:
        raise InputError("id", "there are reports of tr_..., cmp_..., cal_... and dr_....")
    with service(arguments, kept=True) as umbel:
        outputs.saved(report_of(reader(umbel, arguments.id)).encode(), arguments.file)
        say(f"  {arguments.file}", arguments.quiet)
