"""Arrays of a checkpoint by parts: each part's names begin with a prefix of its own."""

from __future__ import annotations

from models.arrays import Array, Arrays


def prefixed(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays, under names that begin with `prefix`."""
    return {prefix + name: array for name, array in arrays.items()}


def unprefixed(arrays: Arrays, prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with `prefix`, under the rest of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
