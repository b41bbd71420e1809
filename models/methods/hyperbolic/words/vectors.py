"""GloVe: vectors of words whose products are the logarithms of how often words occur together.

    J = sum over pairs with X_ij > 0 of f(X_ij) (w_i.c_j + b_i + a_j - log X_ij)^2

w, b are vectors and biases of words, c, a those of their contexts. AdaGrad, one pair after the
other, in an order drawn for each pass; the step takes half the gradient, and sums of squares start
at 1, both as the authors' program does.

Moving a part of the vectors into others changes no product, and so not J: for any m and s > 0

    w -> (w - m) / s,  c -> s c,  a -> a + c.m

so that words may be brought into the Poincaré ball as they are (`placed`).

Source: Pennington, Socher and Manning, "GloVe: Global Vectors for Word Representation" (2014),
eq. 8, §4.2.

Cost: O(P D) a pass over P pairs of V words; memory 32 V D bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from models.arrays import Arrays, Float
from models.errors import UsageError
from models.method import Checkpoint
from models.methods.hyperbolic.words.pairs import Pairs
from models.progress import Progress

Scaling = Literal["largest", "unit"]

_AT_ONCE = 1 << 20
"""Pairs between two reports."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """words, contexts : (V, D) w and c. bias, context_bias : (V,) b and a.

    losses : the mean of f r^2 over the pairs of each pass, as they were met.
    """

    words: Float
    contexts: Float
    bias: Float
    context_bias: Float
    losses: list[float] = field(default_factory=list)


def loss(pairs: Pairs, vectors: Vectors, block: int = 1 << 18) -> float:
    """J over the number of pairs."""
    total = 0.0
    for start in range(0, pairs.n_pairs, block):
        part = slice(start, start + block)
        i, j = pairs.row[part], pairs.column[part]
        found = np.einsum("pd,pd->p", vectors.words[i], vectors.contexts[j])
        found += vectors.bias[i] + vectors.context_bias[j] - pairs.log_count[part]
        total += float(pairs.weight[part] @ (found * found))
    return total / pairs.n_pairs


def learned(
    pairs: Pairs,
    n_dimensions: int,
    n_passes: int,
    learning_rate: float,
    seed: int,
    checkpoint: Checkpoint,
    progress: Progress,
) -> Vectors:
    """Vectors after so many passes, each drawn by its number: a fit that goes on from a checkpoint
    ends as it would have. UsageError where they grow past all bounds."""
    from models.methods.hyperbolic.words.loops import sweep

    rng = np.random.default_rng([seed, 0])
    shape = (pairs.n_words, n_dimensions + 1)
    words, contexts = (rng.uniform(-0.5, 0.5, size=shape) / n_dimensions for _ in range(2))
    of_words, of_contexts = np.ones(shape), np.ones(shape)
    losses: list[float] = []
    kept = checkpoint.load()
    if kept is not None:
        words, contexts = kept["words"].copy(), kept["contexts"].copy()
        of_words, of_contexts = kept["of_words"].copy(), kept["of_contexts"].copy()
        losses = kept["losses"].tolist()
    for number in range(len(losses), n_passes):
        said = f"pass {number + 1:,} of {n_passes:,}"
        said += f", loss {losses[-1]:.4g}" if losses else ""
        order = np.random.default_rng([seed, 1, number]).permutation(pairs.n_pairs)
        total = 0.0
        for start in range(0, pairs.n_pairs, _AT_ONCE):
            done = (number + start / pairs.n_pairs) / n_passes
            progress(done, "learning vectors", said)
            total += sweep(
                order[start : start + _AT_ONCE],
                pairs.row,
                pairs.column,
                pairs.log_count,
                pairs.weight,
                words,
                contexts,
                of_words,
                of_contexts,
                learning_rate,
            )
        losses.append(total / pairs.n_pairs)
        if not np.isfinite(losses[-1]) or not np.isfinite(words).all():
            raise UsageError(
                f"Word vectors diverged in pass {number + 1}. Lower 'vector_learning_rate'.",
                code="diverged",
                parameter="vector_learning_rate",
            )
        checkpoint.save(_packed(words, contexts, of_words, of_contexts, losses))
    return Vectors(words[:, :-1], contexts[:, :-1], words[:, -1], contexts[:, -1], losses)


def _packed(
    words: Float, contexts: Float, of_words: Float, of_contexts: Float, losses: list[float]
) -> Arrays:
    return {
        "words": words,
        "contexts": contexts,
        "of_words": of_words,
        "of_contexts": of_contexts,
        "losses": np.array(losses),
    }


def placed(vectors: Vectors, scaling: Scaling, point_norm: float) -> Vectors:
    """Words about their mean as points of the ball: 'largest' all divided by one number, the
    farthest at norm `point_norm`, which changes no product; 'unit' each at that norm."""
    mean = vectors.words.mean(axis=0)
    moved = vectors.words - mean
    length = np.sqrt(np.einsum("vd,vd->v", moved, moved))
    some = float(length.max() if scaling == "largest" else np.sqrt((length * length).mean()))
    factor = some / point_norm if some else 1.0
    if scaling == "unit":
        points = (
            moved * np.where(length > 0, point_norm / np.where(length > 0, length, 1), 0)[:, None]
        )
    else:
        points = moved / factor
    return Vectors(
        points,
        vectors.contexts * factor,
        vectors.bias,
        vectors.context_bias + vectors.contexts @ mean,
        vectors.losses,
    )
