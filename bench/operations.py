"""What a card would be given to do: torch's operations, reads back and copies of a piece of work.

Where no card is at hand, these are counted on the processor. An operation is a call of torch's
kernels that a card would launch: views and empty tensors are none. A host sync is a moment at which
the processor waits for a value of the card: a number that is read, a shape that depends on values,
an array that is copied back. Bytes are of arrays that go from NumPy to torch, and of tensors that
are copied to the processor; on a card each of them crosses the bus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_EMPTY = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
_NO_WORK = frozenset({"detach", "alias", "lift_fresh", "_unsafe_view", "_reshape_alias"})
_SHAPED_BY_VALUES = frozenset(
    {"nonzero", "unique_dim", "_unique2", "masked_select", "bincount", "equal", "repeat_interleave"}
)
"""Operations whose result has a shape, or a value in Python, that depends on the tensor's values;
`bincount` looks for the largest one."""


@dataclass(slots=True)
class Counts:
    """operations : how many, by name. n_syncs. bytes_in, bytes_out : from and to the processor."""

    operations: dict[str, float] = field(default_factory=dict)
    n_syncs: float = 0
    bytes_in: float = 0
    bytes_out: float = 0

    @property
    def n_operations(self) -> float:
        return sum(self.operations.values())

    def beyond(self, few: Counts, n_steps: int) -> Counts:
        """Each of `n_steps` equal shares of what these counts have beyond others."""
        names = sorted(self.operations)
        return Counts(
            {
                name: (self.operations[name] - few.operations.get(name, 0)) / n_steps
                for name in names
            },
            (self.n_syncs - few.n_syncs) / n_steps,
            (self.bytes_in - few.bytes_in) / n_steps,
            (self.bytes_out - few.bytes_out) / n_steps,
        )


@contextmanager
def counted() -> Iterator[Counts]:
    """Count all that torch is given to do in this thread, backward passes included."""
    counts, from_numpy = Counts(), torch.from_numpy

    def received(array: Any) -> torch.Tensor:
        counts.bytes_in += array.nbytes
        return from_numpy(array)

    # No function mode sees it, since it takes no tensor.
    torch.from_numpy = received  # type: ignore[assignment]
    try:
        with _Functions(counts), _Kernels(counts):
            yield counts
    finally:
        torch.from_numpy = from_numpy


class _Kernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, counts: Counts) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._counts = counts

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = func.overloadpacket.__name__
        by_mask = name in ("index", "index_put", "index_put_", "_index_put_impl_") and any(
            each is not None and each.dtype == torch.bool for each in args[1]
        )
        if name == "_local_scalar_dense" or name in _SHAPED_BY_VALUES or by_mask:
            self._counts.n_syncs += 1
        if not (name in _EMPTY or name in _NO_WORK or func.is_view):
            operations = self._counts.operations
            operations[name] = operations.get(name, 0) + 1
        return func(*args, **(kwargs or {}))


class _Functions(TorchFunctionMode):
    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self._counts = counts

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in (torch.tensor, torch.as_tensor):
            self._counts.bytes_in += result.nbytes
        elif func in (torch.Tensor.cpu, torch.Tensor.tolist):
            self._counts.n_syncs += 1
            self._counts.bytes_out += args[0].nbytes
        return result
