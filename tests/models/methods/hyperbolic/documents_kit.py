"""Documents of a planted tree of topics, and parameters for a quick fit of them."""

from __future__ import annotations

import numpy as np

N_TOPICS, PER_TOPIC = 8, 12
QUICK = {"min_count": 1, "n_dimensions": 20, "n_internal": 31, "max_iter": 300, "n_init": 2}


def planted(seed: int, n_documents: int = 200, own: float = 0.55) -> list[str]:
    """Texts of a tree of topics: ((0 1) (2 3)) ((4 5) (6 7)); word "t3w5" is of topic 3.

    A word is of the document's topic, or of the one beside it, or of the pair beside, or of any.
    """
    rng = np.random.default_rng(seed)
    often = 1 / np.sqrt(np.arange(1, PER_TOPIC + 1))
    out = []
    for _ in range(n_documents):
        topic = rng.integers(N_TOPICS)
        near = np.array([topic, topic ^ 1, topic ^ 2 ^ rng.integers(2), rng.integers(N_TOPICS)])
        chances = np.array([own, 0.15, 0.1, 0.75 - own])
        of_word = near[rng.choice(4, size=40, p=chances)]
        words = rng.choice(PER_TOPIC, size=40, p=often / often.sum())
        out.append(" ".join(f"t{t}w{w}" for t, w in zip(of_word, words, strict=True)))
    return out
