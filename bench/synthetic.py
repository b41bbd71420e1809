"""Logits with a planted hierarchy, as of a fairly good classifier, written straight to a file.

The classes are the leaves of a balanced tree: level l has BRANCHING^l groups, of sizes that differ
by at most one. A class's prototype is a sum of Gaussian vectors, one for each group on its path and
one of its own. A point is its class's prototype and Gaussian noise; its logits are the products
with all prototypes and Gaussian noise on each. So two classes are confused more often, the
later their paths split. The columns are in random order, and all classes have equally many points.
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


def write(
    path: Path, n_points: int, n_classes: int, dtype: npt.DTypeLike = np.float32, seed: int = 0
) -> Statistics:
    """Write (n_points, n_classes) logits to the npy file `path`; computed in float32, then cast.

    The same arguments give the same file. O(N K) time, memory for a few blocks of rows.
    """
    rng = np.random.default_rng(seed)
    prototypes, group = _prototypes(n_classes, rng)
    labels = rng.permutation(np.arange(n_points) % n_classes)
    logits = np.lib.format.open_memmap(path, "w+", dtype, (n_points, n_classes))
    right, confidence = 0, 0.0
    predicted = np.zeros(n_classes, dtype=bool)
    step = max(1, BLOCK // n_classes)
    for start in range(0, n_points, step):
        own = labels[start : start + step]
        block = _logits(prototypes, own, rng)
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


def _prototypes(n_classes: int, rng: np.random.Generator) -> tuple[Single, Any]:
    place = rng.permutation(n_classes)
    levels = []
    n_groups = BRANCHING
    while n_groups < n_classes:
        levels.append(place * n_groups // n_classes)
        n_groups *= BRANCHING
    levels.append(place)
    u = np.zeros((n_classes, RANK), dtype=np.float32)
    for group in levels:
        u += rng.standard_normal((int(group.max()) + 1, RANK), dtype=np.float32)[group]
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return u, levels[0]


def _logits(u: Single, own: Any, rng: np.random.Generator) -> Single:
    harder = np.log(len(u)) / np.log(1000)
    x = rng.standard_normal((len(own), RANK), dtype=np.float32)
    x *= POINT_NOISE / np.sqrt(RANK * harder)
    x += u[own]
    out = rng.standard_normal((len(own), len(u)), dtype=np.float32)
    out *= LOGIT_NOISE * SCALE * np.sqrt(harder)
    x *= SCALE * harder
    out += x @ u.T
    return out
