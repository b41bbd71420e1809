"""What a fit may use and what it is expected to take: memory, and seconds.

Jobs that need more than the memory that this process may still use are refused. The time is a rough
figure from the sizes of the inputs, before any data are read, by which a service lets short work
pass long work: a method states a `Cost`, seconds of one processor as a product of powers of its
sizes, with a rate that was measured with its default parameters at 300 to 1,500 rows, 16 to 64
columns and 8 to 24 clusters. It is right to a factor of a few. A method that states none, or inputs
whose sizes are not known yet, are of unknown cost.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import psutil

from models.errors import UsageError
from models.parameters import Params

USABLE = 0.9
"""Largest share of the available memory that an estimate may take."""


def available() -> int:
    """The free bytes of the machine, within the limit of the process."""
    n_bytes = int(psutil.virtual_memory().available)
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        n_bytes = min(n_bytes, max(0, limit - int(psutil.Process().memory_info().vms)))
    return n_bytes


def require(method: str, needed: int, advice: str, room: int | None = None) -> None:
    """Raises UsageError if an estimate of `needed` bytes does not fit.

    method, advice : for the message: the method's id, and what to use instead.
    room : available bytes; None: those available now.
    """
    if room is None:
        room = available()
    if needed > USABLE * room:
        raise UsageError(
            f"Method {method!r} would need about {needed / 2**30:.1f} GiB for these inputs; a job "
            f"has {room / 2**30:.1f} GiB. {advice}".rstrip(),
            code="too-large",
        )


CLASSES = "classes"
"""In place of a parameter: the number of classes, which is known only once the labels are read."""


@dataclass(frozen=True, slots=True)
class Cost:
    """seconds = start + rate * n_rows^rows * n_columns^columns * k^by_k.

    k : the parameter that is the number of clusters; `CLASSES`, taken as the square root of the
        number of rows; "": there is none. times : parameters with which it grows in proportion,
        compared with their defaults.
    """

    rate: float
    rows: float = 1.0
    columns: float = 1.0
    by_k: float = 1.0
    k: str = ""
    times: tuple[str, ...] = ()
    start: float = 0.05

    def seconds(
        self, n_rows: int, n_columns: int, params: Mapping[str, Any], of: type[Params]
    ) -> float | None:
        """The expected seconds; None where the number of clusters is to be chosen, or a parameter
        that counts is no number. of : the class of the parameters."""
        k = sqrt(n_rows) if self.k == CLASSES else params[self.k] if self.k else 1
        if params.get("choose") is not None:
            return None
        given = [k, *(params[name] for name in self.times)]
        if not all(isinstance(number, int | float) for number in given):
            return None
        grown = prod(params[name] / of.model_fields[name].default for name in self.times)
        sizes = n_rows**self.rows * max(n_columns, 1) ** self.columns * float(k) ** self.by_k
        return float(self.start + self.rate * sizes * grown)


ALONG_GRAPH = Cost(1.3e-5, columns=0.5)
"""That of the graph of nearest neighbours and of merging along it, measured at 200,000 and
1,000,000 rows of 32 and 64 columns; few rows take less."""
