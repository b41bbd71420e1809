"""Whether p-values hold in a hierarchy: how small they are where every class hangs well.

The null hypothesis takes the margins of classes that hang well to have one distribution. Where
groups are of unlike sizes they have not: a class of a small group has few classes near it, and its
margin is larger by chance. So likenesses are drawn by which all classes hang well: the straight
line of likeness on nearness over all pairs of classes, with its residuals permuted among pairs.
The share of their p-values up to a level should be that level.
"""

from __future__ import annotations

import numpy as np

from models.arrays import Float
from models.placements.placements import Groups, placements

N_JUDGED, MOST_DRAWS = 1_000, 10
"""Draws go on to so many judged classes, and to so many draws at most."""

TIMES = 2.0
"""How many times the level the share may be before it is a warning."""


def share_by_chance(found: Groups, likeness: Float, level: float) -> float | None:
    """The share of the classes judged, in draws in which all hang well, with a p-value of at most
    `level`; None where none has a p-value. The same inputs give the same.

    likeness : (n, n) as for `placements`. Up to `MOST_DRAWS` times its cost, once for 1,000
    classes.
    """
    near = found.nearness()[found.own]
    near = (near + near.T) / 2
    pairs = np.triu_indices(len(likeness), 1)
    x, y = near[pairs], likeness[pairs]
    apart = x - x.mean()
    slope = float(apart @ y / max(float(apart @ apart), 1e-300))
    residual = y - y.mean() - slope * apart
    rng = np.random.default_rng(0)
    p_values: list[Float] = []
    for _ in range(MOST_DRAWS):
        drawn = np.zeros(likeness.shape)
        drawn[pairs] = slope * apart + rng.permutation(residual)
        fits = placements(found, drawn + drawn.T).classes
        p_values.append(fits.p_value[np.isfinite(fits.p_value)])
        if sum(map(len, p_values)) >= N_JUDGED or not p_values[0].size:
            break
    pooled = np.concatenate(p_values)
    return float((pooled <= level).mean()) if pooled.size else None


def chance_warning(share: float | None, level: float) -> str | None:
    """None where p-values hold, or there are none."""
    if share is None or share <= TIMES * level:
        return None
    return (
        f"p-values are too small in this hierarchy: where all classes hang well, {share:.0%} of "
        f"them have one of at most {level:g}, as where groups are of unlike sizes. Go by the order "
        "and the evidence: 'odd' may mark too many."
    )
