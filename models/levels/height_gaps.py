"""How strong the gaps between a tree's merge heights are against chance.

Where no level stands out, the heights of the last merges fall about like a power of the number of
clusters, and their spacings on a logarithmic scale, times that number, are about independent and
exponential (Rényi's representation of order statistics). At the top of a tree the spacings are
smaller than those of a power of k, since heights are bounded: with `OFFSET` added to k they are
alike for all k. A gap then has the share g of the sum of n spacings with probability
(1 - g)^(n - 1), exactly. The bound over all k gives coarse cuts more weight, as 1 / k, and a gap
that is significant is left out of the sum that the others are held against.

It is an approximation: `python -m bench levels` measures how often unstructured data have a
significant gap. Source: Rényi, "On the theory of order statistics" (1953); Fisher, "Tests of
significance in harmonic analysis" (1929), for the share of a sum; Holm, "A simple sequentially
rejective multiple test procedure" (1979).
"""

from __future__ import annotations

import numpy as np

from models.arrays import Float, Int

SIGNIFICANT = 0.05
"""Largest p-value of a level that is suggested."""

OFFSET = 2
"""What is added to k; chosen on seeds that the bench does not use."""


def gap_p_values(k: Int, low: Float, high: Float) -> Float:
    """(n,) p-value of the gap below which there are k clusters, from 0 to 1.

    k, low, high : (n,) numbers of clusters and the heights, 0 < low <= high, that give each.
    O(n (1 + number of significant gaps)).
    """
    spacing = (k + OFFSET) * np.log(high / low)
    bound = k * np.sum(1.0 / k)
    p_value = np.ones(len(k))
    others = np.ones(len(k), dtype=bool)
    while others.any() and spacing[others].sum() > 0:
        share = spacing[others] / spacing[others].sum()
        p_value[others] = np.minimum(bound[others] * (1.0 - share) ** (others.sum() - 1), 1.0)
        least = np.flatnonzero(others)[np.argmin(p_value[others])]
        if p_value[least] > SIGNIFICANT:
            break
        others[least] = False
    return p_value
