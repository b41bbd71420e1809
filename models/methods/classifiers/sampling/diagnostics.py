"""Whether chains have mixed: split R-hat and the effective sample size.

Source: Vehtari et al., "Rank-normalization, Folding, and Localization: An Improved R-hat" (2021),
§2 and §3.2, without ranks; Geyer, "Practical Markov Chain Monte Carlo" (1992), for the sum of
autocorrelations.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Float


def split_rhat(draws: Float) -> float:
    """How much wider the halves of chains lie together than each alone; 1 if they agree.

    draws : (n_chains, n_draws) of one quantity. Infinite if halves differ that do not vary.
    """
    halves = _split(draws)
    n_draws = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt((n_draws - 1) / n_draws + between / within))


def effective_sample_size(draws: Float) -> float:
    """The number of independent draws that would tell the mean as well.

    draws : (n_chains, n_draws) of one quantity; at least four of each chain.
    """
    halves = _split(draws)
    n_chains, n_draws = halves.shape
    total = n_chains * n_draws
    within = halves.var(axis=1, ddof=1).mean()
    mixed = (n_draws - 1) / n_draws * within + halves.mean(axis=1).var(ddof=1)
    if mixed == 0.0:
        return float(total)
    correlation = 1.0 - (within - autocovariances(halves).mean(axis=0)) / mixed
    correlation[0] = 1.0
    n_pairs = n_draws // 2
    pairs = correlation[: 2 * n_pairs].reshape(n_pairs, 2).sum(axis=1)
    positive = n_pairs if (pairs > 0.0).all() else int(np.argmax(pairs <= 0.0))
    # Of a reversible chain sums of pairs never rise; the estimates are held to that.
    time = -1.0 + 2.0 * float(np.minimum.accumulate(pairs[: max(positive, 1)]).sum())
    return float(total / max(time, 1.0 / np.log10(total)))


def autocovariances(draws: Float) -> Float:
    """(n_chains, n_draws) by lag, of n - 1 for lag 0 as the variance has it. O(n log n)."""
    n_draws = draws.shape[1]
    centered = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, 2 * n_draws, axis=1)
    sums = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n_draws, axis=1)[:, :n_draws]
    return np.asarray(sums / (n_draws - 1))


def _split(draws: Float) -> Float:
    """Each chain as two, a middle draw left out where their number is odd."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])
