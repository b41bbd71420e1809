"""Leading eigenvectors of the random walk on an affinity graph.

With W the affinities, their diagonal left out, and D their sums by row, the vectors f solve W f =
lambda D f: the normalized cut's (Shi and Malik 2000), as scikit-learn's spectral_embedding gives
them. They are computed from D^-1/2 W D^-1/2 for each connected component of the graph separately,
so that none of the eigenvalues 1, one per component, is missed.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int
from models.errors import UsageError

NO_EDGE = 1e-13
"""Normalized affinity below which two points are not joined: it changes eigenvalues no more than
rounding does."""

SMALL = 500
"""Number of points up to which all eigenvectors are computed at once."""

MOST_RESTARTS = 2_000
"""Restarts of the Lanczos method on a sparse graph before it is factored."""


class Unresolved(UsageError):
    """The eigenvalues are too close for the solver."""


class Spectrum:
    """The eigenvalues and vectors of an affinity graph.

    parts : (n_points,) the connected part of each point, 0 for that of the first point.
    affinity : (n_points, n_points) symmetric, not negative. A dense one is overwritten.
    """

    def __init__(self, affinity: Float | sp.csr_array) -> None:
        if isinstance(affinity, sp.csr_array):
            affinity = sp.csr_array(affinity - sp.diags_array(affinity.diagonal()))
            affinity.eliminate_zeros()
        else:
            np.fill_diagonal(affinity, 0.0)
        degree = np.asarray(affinity.sum(axis=1)).ravel()
        # A point without any affinity is a component by itself, whatever its degree.
        self._root = np.sqrt(np.where(degree > 0, degree, 1.0))
        if isinstance(affinity, sp.csr_array):
            rows = np.repeat(self._root, np.diff(affinity.indptr))
            affinity.data /= rows * self._root[affinity.indices]
        else:
            affinity /= self._root
            affinity /= self._root[:, None]
        self._walk = affinity
        self.parts = _parts(affinity)

    @property
    def n_parts(self) -> int:
        return int(self.parts.max()) + 1

    def leading(
        self, number: int, rng: np.random.Generator, *, planar: bool = False
    ) -> tuple[Float, Float]:
        """The `number` largest eigenvalues, descending, and (n_points, number) their vectors.

        number : at least `n_parts`. Vectors have mean square 1 and their largest entry positive.
        planar : whether the graph lies in a plane or on a line, so that it is cheaply factored.
        """
        each = number - self.n_parts + 1
        values: list[Float] = []
        vectors: list[Float] = []
        for part in range(self.n_parts):
            inside = np.flatnonzero(self.parts == part)
            value, vector = self._of_part(inside, min(each, len(inside)), rng, planar)
            whole = np.zeros((len(self._root), len(value)))
            whole[inside] = vector / self._root[inside, None]
            values.append(value)
            vectors.append(whole)
        value, vector = np.concatenate(values), np.concatenate(vectors, axis=1)
        order = np.argsort(-value, kind="stable")[:number]
        return value[order], _scaled(vector[:, order])

    def _of_part(
        self, inside: Int, number: int, rng: np.random.Generator, planar: bool
    ) -> tuple[Float, Float]:
        if number == 1:
            root = self._root[inside]
            return np.ones(1), (root / np.linalg.norm(root))[:, None]
        walk = self._walk
        if len(inside) < len(self._root):
            walk = walk[inside][:, inside]
        return _largest(walk, number, rng, planar)


def _largest(
    walk: Float | sp.csr_array, number: int, rng: np.random.Generator, planar: bool
) -> tuple[Float, Float]:
    """The largest eigenvalues, descending, and their orthonormal vectors."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n_points = walk.shape[0]
    start: Float = rng.uniform(-1.0, 1.0, (n_points,))
    if n_points <= SMALL or number >= n_points - 1:
        value, vector = eigh(_dense(walk), subset_by_index=(n_points - number, n_points - 1))
    elif isinstance(walk, sp.csr_array) and planar:
        value, vector = _factored(walk, number, start)
    else:
        try:
            value, vector = eigsh(walk, number, which="LA", v0=start, maxiter=MOST_RESTARTS)
        except ArpackNoConvergence:
            if isinstance(walk, sp.csr_array):
                value, vector = _factored(walk, number, start)
            else:
                value, vector = eigh(walk, subset_by_index=(n_points - number, n_points - 1))
    order = np.argsort(-value, kind="stable")
    return value[order], vector[:, order]


def _factored(walk: sp.csr_array, number: int, start: Float) -> tuple[Float, Float]:
    """As `_largest`, by factoring the shifted matrix: few steps, expensive where many edges cross.

    Raises Unresolved where even that does not converge.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    try:
        value, vector = eigsh(walk.tocsc(), number, sigma=1.0 + 1e-5, which="LM", v0=start)
    except ArpackNoConvergence as error:
        raise Unresolved(
            f"The {number} largest eigenvalues of the graph of {walk.shape[0]:,} points lie too "
            "close to separate; more neighbours or fewer clusters may help.",
            code="unusable-input",
        ) from error
    return value, vector


def _dense(walk: Float | sp.csr_array) -> Float:
    dense: Float = walk.toarray() if isinstance(walk, sp.csr_array) else walk
    return dense


def _parts(walk: Float | sp.csr_array) -> Int:
    """(n_points,) the part of each point, numbered by their first points."""
    if isinstance(walk, sp.csr_array):
        from scipy.sparse.csgraph import connected_components

        edges = sp.csr_array(walk > NO_EDGE)
        _, part = connected_components(edges, directed=False)
        whole: Int = part.astype(np.int64)
        return whole
    part = np.full(len(walk), -1, dtype=np.int64)
    number = 0
    while (part < 0).any():
        front = np.flatnonzero(part < 0)[:1]
        while front.size:
            part[front] = number
            reached = np.zeros(len(walk), dtype=bool)
            for point in front:
                reached |= walk[point] > NO_EDGE
            front = np.flatnonzero(reached & (part < 0))
        number += 1
    return part


def _scaled(vector: Float) -> Float:
    """Columns with mean square 1, their largest entry positive."""
    vector *= np.sqrt(len(vector)) / np.linalg.norm(vector, axis=0)
    top = np.abs(vector).argmax(axis=0)
    vector *= np.sign(vector[top, np.arange(vector.shape[1])])
    return vector
