"""Proportions of two samples: exact tests of many 2 x 2 tables at once, and intervals.

A table is `hits` of `n` rows before and `hits` of `n` rows after. Given how many hits there are in
all, the hits of the sample before are hypergeometric if nothing has moved, whatever the share is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, gammaln
from scipy.stats import norm

from models.arrays import Float, Int, Mask

LARGE = 100
"""A table whose smallest expected count is as large is tested by chi-squared: all its counts are
then so large that the exact test differs by a few per cent, and would sum very many terms."""

TIED = 1e-7
"""Probabilities that differ by less, relatively, are taken for equal."""

CONFIDENCE = 0.95
"""The confidence level of intervals."""

_BLOCK = 1 << 20
"""Terms that are computed at a time."""


@dataclass(frozen=True, slots=True)
class Tables:
    """2 x 2 tables, (n_tables,) each; hits are at most as many as rows."""

    hits_before: Int
    n_before: Int
    hits_after: Int
    n_after: Int

    def take(self, chosen: Int | Mask) -> Tables:
        return Tables(
            self.hits_before[chosen],
            self.n_before[chosen],
            self.hits_after[chosen],
            self.n_after[chosen],
        )

    @property
    def share_before(self) -> Float:
        """(n_tables,) NaN without rows."""
        return share(self.hits_before, self.n_before)

    @property
    def share_after(self) -> Float:
        """(n_tables,) NaN without rows."""
        return share(self.hits_after, self.n_after)


@dataclass(frozen=True, slots=True)
class ProportionTests:
    """p_value : (n_tables,) two-sided. least : (n_tables,) the smallest that rows so many, with so
    many hits among them, can give."""

    p_value: Float
    least: Float


def share(hits: Int, n: Int) -> Float:
    """hits / n; NaN without rows."""
    result: Float = np.divide(hits, n, out=np.full(np.shape(n), np.nan), where=n > 0)
    return result


def proportion_tests(tables: Tables) -> ProportionTests:
    """Whether the share of hits is the same before and after: Fisher's exact test, or Pearson's
    chi-squared test where every expected count is at least `LARGE`.

    The two-sided p-value is the probability of all tables with the same margins that are no more
    probable than the one at hand, as in `scipy.stats.fisher_exact`. A table without rows before or
    after, or without hits or misses, has 1.

    O(sum of the smallest margins), at most about 20 sqrt(rows) for each table.
    """
    hits = tables.hits_before + tables.hits_after
    rows = tables.n_before + tables.n_after
    smallest = (
        np.minimum(tables.n_before, tables.n_after).astype(np.float64)
        * np.minimum(hits, rows - hits)
        / np.maximum(rows, 1)
    )
    large = smallest >= LARGE
    p_value, least = np.ones(hits.shape), np.zeros(hits.shape)
    p_value[large] = _chi_squared(tables.take(large))
    exact = np.flatnonzero(~large)
    few = tables.take(exact)
    p_value[exact], least[exact] = _fisher(few)
    return ProportionTests(p_value, least)


def _chi_squared(tables: Tables) -> Float:
    """Without correction for continuity."""
    a, n = tables.hits_before.astype(np.float64), tables.n_before.astype(np.float64)
    b, m = tables.hits_after.astype(np.float64), tables.n_after.astype(np.float64)
    rows, hits = n + m, a + b
    statistic = rows * (a * m - b * n) ** 2 / (n * m * hits * (rows - hits))
    return np.asarray(chdtrc(1.0, statistic))


def _fisher(tables: Tables) -> tuple[Float, Float]:
    """The p-value of each table, and the smallest that its margins allow."""
    n, m = tables.n_before, tables.n_after
    hits = tables.hits_before + tables.hits_after
    lowest, highest = np.maximum(0, hits - m), np.minimum(hits, n)
    count = highest - lowest + 1
    p_value, least = np.empty(n.shape), np.empty(n.shape)
    ends = np.cumsum(count)
    begin = 0
    while begin < n.size:
        done = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _BLOCK, side="right")))
        part = slice(begin, end)
        first = np.cumsum(count[part]) - count[part]
        table = np.repeat(np.arange(begin, end), count[part])
        hits_before = np.arange(table.size) - np.repeat(first, count[part]) + lowest[table]
        term = _log_choose(n[table], hits_before) + _log_choose(m[table], hits[table] - hits_before)
        # From the largest term, and summing to 1 exactly.
        term = np.exp(term - np.maximum.reduceat(term, first)[table - begin])
        term /= np.add.reduceat(term, first)[table - begin]
        own = term[first + tables.hits_before[part] - lowest[part]]
        rarest = np.minimum.reduceat(term, first)
        for bound, into in ((own, p_value), (rarest, least)):
            rare = term <= (bound * (1.0 + TIED))[table - begin]
            into[part] = np.add.reduceat(np.where(rare, term, 0.0), first)
        begin = end
    return np.minimum(p_value, 1.0), np.minimum(least, 1.0)


def _log_choose(n: Int, k: Int) -> Float:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def wilson(hits: Int, n: Int, confidence: float = CONFIDENCE) -> tuple[Float, Float]:
    """The interval of a share by Wilson's score: its ends; NaN without rows.

    Wilson, "Probable inference, the law of succession, and statistical inference" (1927).
    """
    z = float(norm.isf((1.0 - confidence) / 2.0))
    rows = np.where(n > 0, n, np.nan)
    p = hits / rows
    middle = (p + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z * np.sqrt(p * (1 - p) / rows + z * z / (4 * rows**2)) / (1 + z * z / rows)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def newcombe(tables: Tables, confidence: float = CONFIDENCE) -> tuple[Float, Float]:
    """The interval of the change of a share, after minus before: its ends; NaN without rows.

    From the two Wilson intervals: method 10 of Newcombe, "Interval estimation for the difference
    between independent proportions" (1998).
    """
    p, q = tables.share_before, tables.share_after
    low_p, high_p = wilson(tables.hits_before, tables.n_before, confidence)
    low_q, high_q = wilson(tables.hits_after, tables.n_after, confidence)
    change = q - p
    low = change - np.sqrt((q - low_q) ** 2 + (high_p - p) ** 2)
    high = change + np.sqrt((high_q - q) ** 2 + (p - low_p) ** 2)
    return low, high
