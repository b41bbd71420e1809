"""Counts and vectors of words for tests."""

from __future__ import annotations

import numpy as np

from models.methods.hyperbolic.words.vectors import WordVectors


def some_counts(n_words: int, seed: int, density: float = 0.6) -> np.ndarray:
    """Symmetric random counts, every word with one at least."""
    rng = np.random.default_rng(seed)
    half = rng.exponential(60, size=(n_words, n_words)) * (rng.random((n_words, n_words)) < density)
    half[np.arange(n_words), (np.arange(n_words) + 1) % n_words] += 1.0
    return half + half.T


def some_vectors(n_words: int, n_dimensions: int, seed: int) -> WordVectors:
    """Random vectors and biases."""
    rng = np.random.default_rng(seed)
    words, contexts = rng.normal(size=(2, n_words, n_dimensions))
    return WordVectors(words, contexts, *rng.normal(size=(2, n_words)))
