"""Arrays of a checkpoint by parts: the names of each part begin with its own prefix."""

from __future__ import annotations

from models.arrays import Array, Arrays


def prefixed(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays, under names that begin with `prefix`."""
    return {prefix + name: array for name, array in arrays.items()}


def unprefixed(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with `prefix`, under the remainder of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
