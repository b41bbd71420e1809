"""The unit sphere: draws from it and from von Mises-Fisher distributions, and Bessel functions.

These are the modified Bessel functions of the first kind, exact in logarithms.
I_v(a) = (a/2)^v / Gamma(v + 1) exp(L_v(a)), L_v being the logarithm of a series (0F1) of positive
terms that begins with 1. Everything else follows from it; in D = 2 v + 2 dimensions log C_D(k) =
log Gamma(D/2) - log 2 - D/2 log pi - L_v(k), A_D = L_v', A_D' = L_v''.

From order `LEAST` on, L is Olver's uniform expansion (DLMF 10.41.3): its logarithm is expanded with
Stirling's series removed, so that nothing cancels for small a. Lower orders are reached by the
downward recurrence I_{v-1} - I_{v+1} = (2 v / a) I_v, which is stable and has positive terms. So
one algorithm serves every a, and nothing overflows.

Error below 1e-10 against mpmath, relative or, where the value is below 1, absolute, for orders 0 to
50,000 and a from 1e-6 to 1e6; a may be 0. Cost: 20 to 100 array operations, more for low orders;
none depends on a.

The functions here take NumPy arrays; those with `xp` take tensors too, and
`models.numerics.bessel_torch` turns these into functions of tensors with gradients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float


def uniform(n_points: int, n_features: int, rng: np.random.Generator) -> Float:
    """(n_points, n_features) unit vectors, uniform over directions."""
    return unit(rng.standard_normal((n_points, n_features)))


def unit(vectors: npt.NDArray[Any]) -> Float:
    """Rows brought to length 1 in double precision; rows of zeros stay so."""
    wide = np.asarray(vectors, dtype=np.float64)
    # Neither the squares nor the length of a scaled row overflow.
    scale = np.abs(wide).max(axis=-1, keepdims=True)
    wide = np.divide(wide, scale, out=np.zeros_like(wide), where=scale > 0)
    length = np.linalg.norm(wide, axis=-1, keepdims=True)
    rows: Float = np.divide(wide, length, out=wide, where=length > 0)
    return rows


def draw_vmf(means: npt.ArrayLike, kappa: npt.ArrayLike, rng: np.random.Generator) -> Float:
    """(n_points, D) one draw from the vMF of each row of `means`, unit vectors, D >= 2.

    kappa : (n_points,) or one number, >= 0. The cosine of a draw with its mean is from
    `draw_cosines`; the direction around the mean is uniform. O(n D).
    """
    centers = np.asarray(means, dtype=np.float64)
    n_points, n_features = centers.shape
    cosine, sine = draw_cosines(n_features, np.broadcast_to(kappa, n_points), rng)
    around = rng.standard_normal((n_points, n_features))
    around -= np.einsum("nd,nd->n", around, centers)[:, None] * centers
    return unit(cosine[:, None] * centers + sine[:, None] * unit(around))


def draw_cosines(
    n_features: int, kappa: npt.ArrayLike, rng: np.random.Generator
) -> tuple[Float, Float]:
    """Cosine and sine of the angle between a draw from the vMF and its mean, for each kappa >= 0.

    Ulrich, "Computer Generation of Distributions on the M-Sphere" (1984), corrected by Wood,
    "Simulation of the von Mises Fisher Distribution" (1994): rejection from a transformed beta
    distribution, about two draws in three are accepted. Differences from 1 are computed before
    rounding would lose them, so that the sine is right for any kappa.
    """
    at = np.asarray(kappa, dtype=np.float64).ravel()
    m = n_features - 1.0
    b = m / (2.0 * at + np.sqrt(4.0 * at * at + m * m))
    # The mode of the envelope lies at (1 - b) / (1 + b).
    short = 2.0 * b / (1.0 + b)
    cosine, gap = np.empty_like(at), np.empty_like(at)
    left = np.arange(at.size)
    while left.size:
        z = rng.beta(0.5 * m, 0.5 * m, size=left.size)
        own, k, near = b[left], at[left], short[left]
        away = 2.0 * own * z / (1.0 - (1.0 - own) * z)
        # k (w - x0) + m log((1 - x0 w) / (1 - x0^2)), with w = 1 - away and x0 = 1 - near.
        joint = near + away - near * away
        fit = k * (near - away) + m * np.log(joint / (near * (2.0 - near)))
        taken = fit >= -rng.standard_exponential(left.size)
        gap[left[taken]] = away[taken]
        left = left[~taken]
    cosine[:] = 1.0 - gap
    return cosine, np.sqrt(gap * (2.0 - gap))


LEAST = 20.0
"""The lowest order that is expanded: its first omitted term is below 1e-15."""

TERMS = 14
"""Number of terms of the expansion in 1 / order."""

MOST_STEPS = 64
"""Largest number of Newton's iterations; a few are enough."""

_TWO_PI = Decimal("6.28318530717958647692528676655900576839433879875021")


def log_iv(order: float, a: npt.ArrayLike) -> Float:
    """log I_v(a) for an order v >= 0 and a >= 0; -inf where I_v(0) is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(log_bessel(order, np.asarray(a, dtype=np.float64)))


def log_c(n_features: int, kappa: npt.ArrayLike) -> Float:
    """log C_D(k), the logarithm of the density's constant k^(D/2-1) / ((2 pi)^(D/2) I_{D/2-1}(k)).

    For k = 0 that of the uniform density. n_features : D >= 2.
    """
    return np.asarray(log_constant(n_features, np.asarray(kappa, dtype=np.float64)))


def ratio(n_features: int, kappa: npt.ArrayLike) -> Float:
    """A_D(k) = I_{D/2}(k) / I_{D/2-1}(k), the mean resultant length of a vMF, in [0, 1)."""
    return np.asarray(ratios(order_of(n_features), np.asarray(kappa, dtype=np.float64))[0])


def slope(n_features: int, kappa: npt.ArrayLike) -> Float:
    """A_D'(k) = 1 - A^2 - (D - 1) A / k, without its cancellation."""
    return np.asarray(ratios(order_of(n_features), np.asarray(kappa, dtype=np.float64))[2])


def concentration(n_features: int, r: npt.ArrayLike) -> Float:
    """The k for which A_D(k) = r, for r in [0, 1]; infinite for 1. ValueError for other r.

    Relative error within 1e-10 or 4 eps / (1 - r), which the rounding of r alone can cause.
    """
    return np.asarray(invert(n_features, np.asarray(r, dtype=np.float64)))


def log_uniform(n_features: int) -> float:
    """log C_D(0): minus the logarithm of the sphere's area."""
    half = 0.5 * n_features
    return math.lgamma(half) - math.log(2.0) - half * math.log(math.pi)


def order_of(n_features: int) -> float:
    """D/2 - 1. Raises ValueError below D = 2."""
    if n_features < 2:
        raise ValueError("the sphere of a vMF has at least two dimensions")
    return 0.5 * n_features - 1.0


def log_growth(order: float, a: Any, xp: Any = np) -> Any:
    """L_v(a) = log 0F1(; v + 1; a^2 / 4), 0 at a = 0, with small relative error.

    xp : the library of the array `a`, numpy or torch.
    """
    start = _start(order)
    s = xp.sqrt(start * start + a * a)
    w = a * a / (2.0 * start * (s + start))
    growth = start * (2.0 * w - xp.log1p(w)) - 0.5 * xp.log1p(2.0 * w)
    growth = growth - a * a / (s * (s + start)) * horner(expansion(start).fall, start / s)
    if start == order:
        return growth
    # Gamma(u + 2) / Gamma(u + 1) 2 I_{u+1}(a) / (a I_u(a)), in (0, 1].
    part = 2.0 * (start + 1.0) / s * _lead(start, s)
    for u in _down(order, start):
        more = a * a * part / (4.0 * u * (u + 1.0))
        growth = growth + xp.log1p(more)
        part = 1.0 / (1.0 + more)
    return growth


def log_bessel(order: float, a: Any, xp: Any = np) -> Any:
    """log I_v(a) of an array of `xp`, numpy or torch. ValueError for a negative order."""
    if not order >= 0.0:
        raise ValueError("the order of a Bessel function must not be negative here")
    if order < LEAST:
        lead = order * xp.log(0.5 * a) if order else 0.0
        return lead - math.lgamma(order + 1.0) + log_growth(order, a, xp)
    s = xp.sqrt(order * order + a * a)
    lead = s + order * xp.log(a / (order + s))
    return lead - 0.5 * xp.log(2.0 * math.pi * s) + _corrections(order, s, a)


def log_constant(n_features: int, kappa: Any, xp: Any = np) -> Any:
    """log C_D(k) of an array of `xp`, numpy or torch."""
    order = order_of(n_features)
    if order < LEAST:
        return log_uniform(n_features) - log_growth(order, kappa, xp)
    s = xp.sqrt(order * order + kappa * kappa)
    # v log(v / 2 pi) + v log1p(s / v) - s cancels where C_D is about 1: `low` is its rounding.
    high, low = _stretched(order)
    low = low - ((kappa - s) * (kappa + s) + order * order) / (2.0 * s)
    value = (high - s) + order * xp.log1p(s / order) + low
    return value + 0.5 * xp.log(s / (2.0 * math.pi)) - _corrections(order, s, kappa)


def ratios(order: float, a: Any, xp: Any = np) -> tuple[Any, Any, Any]:
    """(R, 1 - R, R'), R = I_{v+1}(a) / I_v(a), each with small relative error."""
    start = _start(order)
    s = xp.sqrt(start * start + a * a)
    p, square = start / s, s * s
    series = expansion(start)
    first, second = horner(series.first, p), horner(series.second, p)
    own = a / s * _lead(start, s)
    rest = (start + start * start / (s + a)) / (s + start)
    rest = rest + a / square * (0.5 + p * first)
    rise = start / (s * (s + start)) - 0.5 * (2.0 * p * p - 1.0) / square
    # a^2 / s^2 = 1 - p^2.
    rise = rise - p * first * (3.0 * p * p - 2.0) / square
    rise = rise + p * p * (1.0 - p) * (1.0 + p) * second / square
    for u in _down(order, start):
        below = 2.0 * u + a * own
        rise = (2.0 * u - a * (a * rise)) / (below * below)
        rest = (2.0 * u - a * rest) / below
        own = a / below
    return own, rest, rise


def invert(n_features: int, r: Any, xp: Any = np) -> Any:
    """`concentration` of an array of `xp`, numpy or torch.

    Newton's iterations from r (D - r^2) / (1 - r^2) (Banerjee et al. 2005; Sra 2012), kept within
    Amos's bounds (D - 1) r / (1 - r^2) <= k <= D r / (1 - r^2). A_D is concave, so they converge.
    """
    order = order_of(n_features)
    if not bool(((r >= 0.0) & (r <= 1.0)).all()):
        raise ValueError("a mean resultant length lies in [0, 1]")
    inside = xp.clip(r, 0.0, 1.0 - 2.0**-53)
    gap = 1.0 - inside
    scale = inside / (gap * (1.0 + inside))
    kappa = scale * (n_features - inside * inside)
    for _ in range(MOST_STEPS):
        own, rest, rise = ratios(order, kappa, xp)
        # Near 1 the difference 1 - r is exact, and that of the ratio is known as well.
        miss = xp.where(inside < 0.5, own - inside, gap - rest)
        before = kappa
        kappa = xp.minimum(
            xp.maximum(kappa - miss / rise, (n_features - 1) * scale), n_features * scale
        )
        # A step squares the error.
        if bool((abs(kappa - before) <= 1e-9 * kappa).all()):
            break
    return xp.where(r < 1.0, kappa, math.inf)


@dataclass(frozen=True, slots=True)
class Expansion:
    """Olver's expansion of one order v: polynomials in p = v / sqrt(v^2 + a^2), lowest power first.

    D(p) = sum_k D_k(p) v^-k is the logarithm of sum_k U_k(p) v^-k.

    at_one : D(1), which is minus Stirling's series of v.
    fall : (D(1) - D(p)) / (1 - p). first, second : D' and D''.
    """

    at_one: float
    fall: tuple[float, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]


@lru_cache(maxsize=1024)
def expansion(order: float) -> Expansion:
    """The polynomials of an order from `LEAST` on; negligible terms are left out."""
    whole = np.zeros(3 * TERMS + 1)
    for k, polynomial in enumerate(_logarithms()):
        for power, value in polynomial.items():
            whole[power] += float(value) * order**-k
    size = np.abs(whole) * np.arange(1, len(whole) + 1) ** 2
    kept = whole[: int(np.flatnonzero(size > 1e-19)[-1]) + 1]
    powers = np.arange(len(kept))
    first = (kept * powers)[1:]
    second = (kept * powers * (powers - 1))[2:]
    # (1 - p^j) / (1 - p) = 1 + p + ... + p^(j-1).
    fall = np.cumsum(kept[::-1])[::-1][1:]
    return Expansion(
        float(kept.sum()), tuple(fall.tolist()), tuple(first.tolist()), tuple(second.tolist())
    )


def horner(coefficients: Sequence[float], p: Any) -> Any:
    """A polynomial, lowest power first."""
    total = coefficients[-1] + 0.0 * p
    for value in reversed(coefficients[:-1]):
        total = total * p + value
    return total


def _start(order: float) -> float:
    return order + max(0, math.ceil(LEAST - order))


def _down(order: float, start: float) -> list[float]:
    """The orders of the downward recurrence to `order`, `start` first."""
    return [start - step for step in range(round(start - order))]


def _lead(order: float, s: Any) -> Any:
    """R s / a of Olver's expansion."""
    p = order / s
    return s / (s + order) - (0.5 + p * horner(expansion(order).first, p)) / s


def _corrections(order: float, s: Any, a: Any) -> Any:
    """D(p), the logarithm of the expansion's sum."""
    series = expansion(order)
    return series.at_one - a * a / (s * (s + order)) * horner(series.fall, order / s)


@lru_cache(maxsize=1024)
def _stretched(order: float) -> tuple[float, float]:
    """v log(v / 2 pi) as the nearest float and the rest."""
    with localcontext(prec=50):
        exact = Decimal(order) * (Decimal(order) / _TWO_PI).ln()
        high = float(exact)
        return high, float(exact - Decimal(high))


@cache
def _logarithms() -> tuple[dict[int, Fraction], ...]:
    """D_0 = 0, D_1, ... as exact polynomials: sum_k D_k x^k is the logarithm of sum_k U_k x^k.

    U_{k+1} = p^2 (1 - p^2) U_k' / 2 + the integral of (1 - 5 t^2) U_k / 8 from 0 to p (DLMF
    10.41.9), and k D_k = k U_k - sum over 0 < j < k of j D_j U_{k-j}.
    """
    series: list[dict[int, Fraction]] = [{0: Fraction(1)}]
    for _ in range(TERMS):
        after: dict[int, Fraction] = {}
        for power, value in series[-1].items():
            up = Fraction(power, 2) + Fraction(1, 8 * (power + 1))
            down = Fraction(power, 2) + Fraction(5, 8 * (power + 3))
            after[power + 1] = after.get(power + 1, Fraction(0)) + up * value
            after[power + 3] = after.get(power + 3, Fraction(0)) - down * value
        series.append(after)
    logarithms: list[dict[int, Fraction]] = [{}]
    for k in range(1, TERMS + 1):
        own = {power: k * value for power, value in series[k].items()}
        for j in range(1, k):
            for left, value in logarithms[j].items():
                for right, other in series[k - j].items():
                    own[left + right] = own.get(left + right, Fraction(0)) - j * value * other
        logarithms.append({power: value / k for power, value in own.items() if value})
    return tuple(logarithms)
