"""The probabilities of classes, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator

from models.answers.beside_tree import ClassScores
from models.arrays import Array, Float, row_blocks
from models.numerics.rows import softmax

BLOCK = 1 << 20
"""Values of rows x nodes at a time: 8 MiB, of which there are about ten."""


def probability_blocks(
    scores: ClassScores, temperature: float, n_nodes: int
) -> Iterator[tuple[Float, slice]]:
    """(n, n_classes) probabilities of consecutive rows, and which rows they are."""
    for rows in row_blocks(scores.n_rows, max(scores.n_classes, n_nodes), BLOCK):
        yield probabilities(scores.read(rows.start, rows.stop), temperature), rows


def probabilities(scores: Array, temperature: float) -> Float:
    """(n, n_classes) softmax of the scores at a temperature."""
    return softmax(scores / temperature)
