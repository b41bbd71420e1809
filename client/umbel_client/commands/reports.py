"""`umbel report`: a thing of the service as one HTML file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from umbel_client.client import Umbel
from umbel_client.commands import outputs
from umbel_client.commands.kept_work import alone
from umbel_client.commands.outputs import say
from umbel_client.commands.work import service
from umbel_client.drift import Drift
from umbel_client.errors import InputError

_READERS: Mapping[str, Callable[[Umbel, str], Any]] = {
    "tr": Umbel.tree,
    "cmp": Umbel.comparison,
    "cal": Umbel.calibration,
    "dr": alone(Drift),
}


def report(arguments: Namespace) -> None:
    """`umbel report`."""
    outputs.require_place(arguments.file)
    kind = "tr" if arguments.id.startswith("@") else arguments.id.partition("_")[0]
    reader = _READERS.get(kind)
    if reader is None:
        raise InputError("id", "there are reports of tr_..., cmp_..., cal_... and dr_....")
    with service(arguments, kept=True) as umbel:
        outputs.reported(reader(umbel, arguments.id), arguments.file, {})
        if not outputs.standard_form(arguments.file)[1]:
            say(f"  {arguments.file}", arguments.quiet)
