"""The Poincaré ball: points of norm under 1, curvature -1, metric (2 / (1 - |x|^2))^2 dx^2.

Every function takes NumPy arrays or torch tensors, all of one kind, and returns that kind; the last
axis holds coordinates, the others broadcast. Nothing is changed in place. Torch can differentiate
through all of them: where a norm or a distance is 0 and has no gradient, the gradient is 0.

Points may be as close to the boundary as the `margin` of their type: 1e-12 in float64, 1e-5 in
float32 (whose norms are summed in float64, since 1 - |x|^2 would lose its last digits). Points
further out are treated as if they lay at that margin.

Source: Nickel and Kiela, "Poincaré Embeddings for Learning Hierarchical Representations" (2017),
eq. 1 to 5; Ganea, Bécigneul and Hofmann, "Hyperbolic Neural Networks" (2018), §2, for addition and
the maps, rewritten so that nothing cancels: with e = x + y, g = 1 - |x|^2, h = 1 - |y|^2

    x (+) y = (g e + |e|^2 x) / (|e|^2 + g h)

Cost: O(D) each.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A NumPy array or a torch tensor of float32 or float64."""


def _library(x: Array) -> Any:
    """The module whose functions accept `x`: torch or numpy."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x, torch.Tensor) else np


def margin(x: Array) -> float:
    """The least distance from the boundary for points of x's type."""
    return 1e-12 if str(x.dtype).endswith("float64") else 1e-5


def _wide(x: Array) -> Array:
    """`x` in float64."""
    lib = _library(x)
    return x.to(lib.float64) if lib is not np else np.asarray(x, dtype=np.float64)


def _as(value: Array, x: Array) -> Array:
    """`value` in x's type."""
    return value.to(x.dtype) if _library(x) is not np else np.asarray(value, dtype=x.dtype)


def _root(square: Array) -> Array:
    """The square root of a value that is not negative, with the gradient 0 at 0."""
    lib = _library(square)
    some = square > 0
    return lib.where(some, lib.sqrt(lib.where(some, square, lib.ones_like(square))), 0 * square)


def _squares(x: Array) -> Array:
    """(..., 1) |x|^2 in float64."""
    wide = _wide(x)
    return _library(x).sum(wide * wide, axis=-1, keepdims=True)


def norm(x: Array) -> Array:
    """(..., 1) |x|, with the gradient 0 at 0."""
    return _as(_root(_squares(x)), x)


def gap(x: Array) -> Array:
    """(..., 1) 1 - |x|^2, at least `margin`, the value half that far from the boundary."""
    return _as(_gap(x), x)


def _gap(x: Array) -> Array:
    return _gap_of(_squares(x), x)


def _gap_of(squares: Array, x: Array) -> Array:
    # Less than the value of points at `margin`, so that rounding of their norm does not cut off
    # gradients.
    return _library(x).clip(1 - squares, margin(x), None)


def conformal(x: Array) -> Array:
    """(..., 1) the factor 2 / (1 - |x|^2) from Euclidean to hyperbolic lengths."""
    return 2 / gap(x)


def hyperbolic_norm(x: Array) -> Array:
    """(..., 1) distance to the origin, 2 artanh |x|: log1p(2 r (1 + r) / (1 - r^2))."""
    squares = _squares(x)
    radius = _root(squares)
    return _as(_library(x).log1p(2 * radius * (1 + radius) / _gap_of(squares, x)), x)


def hyperbolic_norm_gradient(x: Array) -> Array:
    """(..., D) d/dx of `hyperbolic_norm`: 2 x / (|x| (1 - |x|^2)); 0 at the origin. O(D)."""
    lib = _library(x)
    squares = _squares(x)
    some = squares > 0
    length = lib.sqrt(lib.where(some, squares, lib.ones_like(squares)))
    return _as(2 * _wide(x) / (length * _gap_of(squares, x)), x)


def project(x: Array, eps: float | None = None) -> Array:
    """`x`, moved along its ray to norm 1 - eps if it is within `eps` of the boundary or beyond.

    eps is `margin` if None.
    """
    lib = _library(x)
    most = 1 - (margin(x) if eps is None else eps)
    radius = _root(_squares(x))
    outside = radius > most
    scale = most / lib.where(outside, radius, lib.ones_like(radius))
    scale = scale * (1 - spare(x))
    return lib.where(outside, _as(scale * _wide(x), x), x)


def spare(x: Array) -> float:
    """How much less than the largest norm points are pulled back to, so that rounding of the
    coordinates cannot lead out again."""
    return 1e-15 if margin(x) < 1e-9 else 1e-7


def distance(x: Array, y: Array) -> Array:
    """(...) d(x, y) = 2 arsinh(|x - y| / sqrt((1 - |x|^2) (1 - |y|^2))), which equals the usual
    arcosh(1 + 2 |x - y|^2 / ...) but is accurate for close points. The gradient is 0 where
    x = y."""
    square = _squares(x - y) / (_gap(x) * _gap(y))
    return _as(2 * _library(x).arcsinh(_root(square)), x)[..., 0]


def distances(x: Array, y: Array) -> Array:
    """(n, m) distances of all rows of x (n, D) to all of y (m, D), by one matrix product.

    |x - y|^2 is computed as |x|^2 + |y|^2 - 2 x.y, so two points at a Euclidean distance below
    about 1e-3 in float32, 1e-7 in float64, may appear to coincide, or to be that far apart. The
    gradient is 0 where points appear to coincide. O(n m D), and a few matrices (n, m).
    """
    lib = _library(x)
    ours, theirs = _squares(x), _squares(y)[:, 0]
    # Divided before the outer product, so that fewer matrices are made.
    near, far = 1 / _gap_of(ours, x), 1 / _gap_of(theirs, y)
    square = _as(ours * near, x) * _as(far, x) + _as(theirs * far, x) * _as(near, x)
    square = square - (_as(near, x) * x) @ (_as(2 * far, x)[:, None] * y).T
    return 2 * lib.arcsinh(_root(lib.clip(square, 0, None)))


def distance_gradient(x: Array, y: Array) -> Array:
    """(..., D) d/dx of `distance` in the coordinates; 0 where x = y.

    With s = |x - y|^2, g = 1 - |x|^2, h = 1 - |y|^2:
    2 ((x - y) / s + x / g) s / (sqrt(s) sqrt(s + g h)). O(D).
    """
    lib = _library(x)
    apart, g, h = _wide(x) - _wide(y), _gap(x), _gap(y)
    square = lib.sum(apart * apart, axis=-1, keepdims=True)
    some = square > 0
    safe = lib.where(some, square, lib.ones_like(square))
    slope = 2 * (apart + safe * _wide(x) / g) / lib.sqrt(safe * (safe + g * h))
    return _as(lib.where(some, slope, 0 * slope), x)


def riemannian(x: Array, gradient: Array) -> Array:
    """The Riemannian gradient of a gradient in the coordinates: (1 - |x|^2)^2 / 4 times it."""
    return gap(x) ** 2 / 4 * gradient


def retract(x: Array, step: Array, eps: float | None = None) -> Array:
    """x + step, pulled back if it leaves the ball: the exponential map to first order."""
    return project(x + step, eps)


def add(x: Array, y: Array) -> Array:
    """x (+) y, Möbius addition: 0 (+) y = y, (-x) (+) x = 0, not commutative."""
    return _as(_sum(_wide(x), _wide(y), _gap(x), _gap(y)), x)


def _sum(x: Array, y: Array, g: Array, h: Array) -> Array:
    both = x + y
    square = _library(x).sum(both * both, axis=-1, keepdims=True)
    return (g * both + square * x) / (square + g * h)


def exp_map(x: Array, v: Array) -> Array:
    """The point that the geodesic from x with velocity v reaches at time 1, kept `margin` from the
    boundary.

    x (+) tanh(|v| / (1 - |x|^2)) v / |v|.
    """
    lib = _library(x)
    length = _root(_squares(v))
    g = _gap(x)
    far = length / g
    some = length > 0
    towards = _wide(v) / lib.where(some, length, lib.ones_like(length))
    # 1 - tanh^2 = 1 / cosh^2, as 4 q / (1 + q)^2 with q = exp(-2 far), which does not overflow.
    q = lib.exp(-2 * far)
    h = lib.clip(4 * q / (1 + q) ** 2, 1e-300, None)
    moved = _sum(_wide(x), lib.tanh(far) * towards, g, h)
    return project(_as(moved, x))


def log_map(x: Array, y: Array) -> Array:
    """The velocity at x of the geodesic that reaches y at time 1; 0 where x = y.

    (1 - |x|^2) artanh |w| w / |w| with w = (-x) (+) y.
    """
    lib = _library(x)
    apart, g = _wide(y) - _wide(x), _gap(x)
    square = lib.sum(apart * apart, axis=-1, keepdims=True)
    way = g * apart - square * _wide(x)
    length = _root(lib.sum(way * way, axis=-1, keepdims=True))
    some = length > 0
    far = lib.arcsinh(_root(square / (g * _gap(y))))
    return _as(g * far * way / lib.where(some, length, lib.ones_like(length)), x)
