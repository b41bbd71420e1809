"""GloVe: vectors of words whose products are the logarithms of how often words occur together.

    J = sum over pairs with X_ij > 0 of f(X_ij) (w_i.c_j + b_i + a_j - log X_ij)^2

w, b are vectors and biases of words; c, a of their contexts. AdaGrad visits one pair after the
other, in a random order for each pass; a step uses half the gradient, and sums of squares start at
1, both as in the authors' program.

Two transformations of the vectors leave every product, and so J, unchanged: for any m and s > 0

    w -> (w - m) / s,  c -> s c,  a -> a + c.m

so words can be moved into the Poincaré ball without loss (`into_ball`).

Source: Pennington, Socher and Manning, "GloVe: Global Vectors for Word Representation" (2014),
eq. 8, §4.2.

Cost: O(P D) a pass over P pairs of V words; memory 32 V D bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from models.arrays import Arrays, Float
from models.errors import UsageError
from models.method import Checkpoint
from models.methods.hyperbolic.words.pairs import WordPairs
from models.methods.hyperbolic.words.parameters import WordScaling
from models.running.progress import Progress

_AT_ONCE = 1 << 20
"""The number of pairs between two progress reports."""


@dataclass(frozen=True, slots=True)
class WordVectors:
    """Vectors and biases of V words and of their contexts.

    words, contexts : (V, D) w and c. bias, context_bias : (V,) b and a.
    losses : the mean of f r^2 over the pairs of each pass, each before its step.
    """

    words: Float
    contexts: Float
    bias: Float
    context_bias: Float
    losses: list[float] = field(default_factory=list)


def loss(pairs: WordPairs, vectors: WordVectors, block: int = 1 << 18) -> float:
    """J divided by the number of pairs."""
    total = 0.0
    for start in range(0, pairs.n_pairs, block):
        part = slice(start, start + block)
        i, j = pairs.row[part], pairs.column[part]
        residual = np.einsum("pd,pd->p", vectors.words[i], vectors.contexts[j])
        residual += vectors.bias[i] + vectors.context_bias[j] - pairs.log_count[part]
        total += float(pairs.weight[part] @ (residual * residual))
    return total / pairs.n_pairs


def learn_vectors(
    pairs: WordPairs,
    n_dimensions: int,
    n_passes: int,
    learning_rate: float,
    seed: int,
    checkpoint: Checkpoint,
    progress: Progress,
) -> WordVectors:
    """Vectors after `n_passes` passes.

    The order of a pass depends only on its number, so a fit resumed from a checkpoint gives the
    same result. Raises UsageError if the vectors diverge.
    """
    from models.methods.hyperbolic.words.loops import sweep

    rng = np.random.default_rng([seed, 0])
    shape = (pairs.n_words, n_dimensions + 1)
    words, contexts = (rng.uniform(-0.5, 0.5, size=shape) / n_dimensions for _ in range(2))
    word_squares, context_squares = np.ones(shape), np.ones(shape)
    losses: list[float] = []
    saved = checkpoint.load()
    if saved is not None:
        words, contexts = saved["words"].copy(), saved["contexts"].copy()
        word_squares, context_squares = saved["of_words"].copy(), saved["of_contexts"].copy()
        losses = saved["losses"].tolist()
    for number in range(len(losses), n_passes):
        message = f"pass {number + 1:,} of {n_passes:,}"
        message += f", loss {losses[-1]:.4g}" if losses else ""
        order = np.random.default_rng([seed, 1, number]).permutation(pairs.n_pairs)
        total = 0.0
        for start in range(0, pairs.n_pairs, _AT_ONCE):
            done = (number + start / pairs.n_pairs) / n_passes
            progress(done, "learning vectors", message)
            total += sweep(
                order[start : start + _AT_ONCE],
                pairs.row,
                pairs.column,
                pairs.log_count,
                pairs.weight,
                words,
                contexts,
                word_squares,
                context_squares,
                learning_rate,
            )
        losses.append(total / pairs.n_pairs)
        if not np.isfinite(losses[-1]) or not np.isfinite(words).all():
            raise UsageError(
                f"Word vectors diverged in pass {number + 1}. Lower 'vector_learning_rate'.",
                code="diverged",
                parameter="vector_learning_rate",
            )
        checkpoint.save(_packed(words, contexts, word_squares, context_squares, losses))
    return WordVectors(words[:, :-1], contexts[:, :-1], words[:, -1], contexts[:, -1], losses)


def _packed(
    words: Float,
    contexts: Float,
    word_squares: Float,
    context_squares: Float,
    losses: list[float],
) -> Arrays:
    return {
        "words": words,
        "contexts": contexts,
        "of_words": word_squares,
        "of_contexts": context_squares,
        "losses": np.array(losses),
    }


def into_ball(vectors: WordVectors, scaling: WordScaling, point_norm: float) -> WordVectors:
    """The vectors, with words centred at their mean as points of the ball.

    scaling : 'largest' divides all by one number, which puts the farthest at norm `point_norm` and
        changes no product; 'unit' puts each at that norm.
    """
    mean = vectors.words.mean(axis=0)
    moved = vectors.words - mean
    length = np.sqrt(np.einsum("vd,vd->v", moved, moved))
    typical = float(length.max() if scaling == "largest" else np.sqrt((length * length).mean()))
    factor = typical / point_norm if typical else 1.0
    if scaling == "unit":
        to_norm = np.where(length > 0, point_norm / np.where(length > 0, length, 1), 0)
        points = moved * to_norm[:, None]
    else:
        points = moved / factor
    return WordVectors(
        points,
        vectors.contexts * factor,
        vectors.bias,
        vectors.context_bias + vectors.contexts @ mean,
        vectors.losses,
    )
