"""Logits with a planted hierarchy, as of a fairly good classifier, written straight to a file.

The classes are the leaves of a balanced tree: level l has BRANCHING^l groups, of sizes that differ
by at most one. A class's prototype is a sum of Gaussian vectors, one for each group on its path and
one for itself. A point is its class's prototype and Gaussian noise; its logits are the products
with all prototypes and Gaussian noise on each. So two classes are confused more often, the
later their paths split. The columns are in random order, and all classes have equally many points
unless a `Kind` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Single

BRANCHING = 5
RANK = 128
"""Length of a prototype."""
POINT_NOISE = 1.7
LOGIT_NOISE = 0.05
SCALE = 14.4
BLOCK = 1 << 22
"""Number of logits computed at a time."""
_TRIED = 1 << 20
"""Number of logits from which the factor for a confidence is found."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the written logits.

    accuracy : share of points whose largest logit is their own class's.
    mean_confidence : mean probability of the largest logit.
    never_predicted : number of classes that are no point's largest logit.
    group : (n_classes,) the group of each class on the top level of the planted tree.
    """

    accuracy: float
    mean_confidence: float
    never_predicted: int
    group: npt.NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        return int(self.group.max()) + 1


@dataclass(frozen=True, slots=True)
class Kind:
    """What may differ between planted logits.

    rank : length of a prototype.
    noise : size of a point's noise, of which a prototype is 1.
    confidence : the mean probability of the largest logit; None: as with the factor `SCALE`.
    imbalance : the i-th class has points in proportion to i^-imbalance, in random order.
    """

    rank: int = RANK
    noise: float = POINT_NOISE
    confidence: float | None = None
    imbalance: float = 0.0


def write(
    path: Path,
    n_points: int,
    n_classes: int,
    dtype: npt.DTypeLike = np.float32,
    seed: int = 0,
    kind: Kind | None = None,
) -> Statistics:
    """Write (n_points, n_classes) logits to the npy file `path`; computed in float32, then cast.

    The same arguments give the same file. O(N K) time, memory for a few blocks of rows.
    """
    kind = kind or Kind()
    rng = np.random.default_rng(seed)
    prototypes, group = _prototypes(n_classes, kind.rank, rng)
    labels = rng.permutation(_labels(n_points, n_classes, kind.imbalance))
    scale = SCALE
    if kind.confidence is not None:
        some = np.random.default_rng(seed).choice(
            labels, max(1, min(n_points, _TRIED // n_classes))
        )
        sample = _logits(prototypes, some, kind.noise, 1.0, np.random.default_rng(seed))
        scale = _scale_for(kind.confidence, sample)
    logits = np.lib.format.open_memmap(path, "w+", dtype, (n_points, n_classes))
    right, confidence = 0, 0.0
    predicted = np.zeros(n_classes, dtype=bool)
    step = max(1, BLOCK // n_classes)
    for start in range(0, n_points, step):
        own = labels[start : start + step]
        block = _logits(prototypes, own, kind.noise, scale, rng)
        logits[start : start + step] = block
        label = block.argmax(axis=1)
        right += int((label == own).sum())
        predicted[label] = True
        block -= block.max(axis=1, keepdims=True)
        np.exp(block, out=block)
        confidence += float((1.0 / block.sum(axis=1)).sum())
    logits.flush()
    return Statistics(
        accuracy=right / n_points,
        mean_confidence=confidence / n_points,
        never_predicted=int((~predicted).sum()),
        group=group,
    )


def _labels(n_points: int, n_classes: int, imbalance: float) -> Any:
    if imbalance == 0.0:
        return np.arange(n_points) % n_classes
    share = np.arange(1, n_classes + 1) ** -imbalance
    return np.searchsorted(
        np.cumsum(share / share.sum())[:-1], (np.arange(n_points) + 0.5) / n_points
    )


def _scale_for(confidence: float, logits: Single) -> float:
    """The factor that gives logits this mean confidence, to three digits."""
    apart = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    low, high = 1e-3, 1e4
    while high / low > 1.001:
        middle = np.sqrt(low * high)
        reached = float((1.0 / np.exp(apart * middle).sum(axis=1)).mean())
        low, high = (middle, high) if reached < confidence else (low, middle)
    return float(high)


def _prototypes(n_classes: int, rank: int, rng: np.random.Generator) -> tuple[Single, Any]:
    place = rng.permutation(n_classes)
    levels = []
    n_groups = BRANCHING
    while n_groups < n_classes:
        levels.append(place * n_groups // n_classes)
        n_groups *= BRANCHING
    levels.append(place)
    u = np.zeros((n_classes, rank), dtype=np.float32)
    for group in levels:
        u += rng.standard_normal((int(group.max()) + 1, rank), dtype=np.float32)[group]
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return u, levels[0]


def _logits(u: Single, own: Any, noise: float, scale: float, rng: np.random.Generator) -> Single:
    n_classes, rank = u.shape
    harder = np.log(n_classes) / np.log(1000)
    x = rng.standard_normal((len(own), rank), dtype=np.float32)
    x *= noise / np.sqrt(rank * harder)
    x += u[own]
    out = rng.standard_normal((len(own), n_classes), dtype=np.float32)
    out *= LOGIT_NOISE * scale * np.sqrt(harder)
    x *= scale * harder
    out += x @ u.T
    return out
