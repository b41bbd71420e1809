"""A number for every pair of points: given as a matrix, or computed from features on demand."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from models.arrays import Float, Int, Matrix

BLOCK_VALUES = 1 << 22
"""The approximate number of values held at a time."""
CACHED_VALUES = 1 << 18
"""The same for drawn rows: few enough to stay in the cache of a core, which is three times as
fast."""


class Pairs(Protocol):
    """A symmetric number for every pair of points.

    stored : whether all pairs are in memory already, so that using them all is cheap.
    width : approximate number of values from which a pair's number is computed.
    negative : whether a number may be below 0.
    warnings : one sentence each.
    """

    stored: bool
    negative: bool
    warnings: tuple[str, ...]

    @property
    def width(self) -> int: ...

    def block(self, first: Int, second: Int) -> Float:
        """(len(first), len(second)) numbers of all pairs of one point of each."""
        ...

    def at(self, first: Int, second: Int) -> Float:
        """(n,) numbers of the pairs `first[i]`, `second[i]`."""
        ...


class MatrixPairs:
    """Pairs of a full matrix (n_points, n_points), read in place."""

    stored = True
    width = 1

    def __init__(
        self,
        matrix: npt.NDArray[Any],
        warnings: tuple[str, ...] = (),
        *,
        negative: bool = False,
    ) -> None:
        self._matrix = matrix
        self.negative = negative
        self.warnings = warnings

    def block(self, first: Int, second: Int) -> Float:
        return self._matrix[first[:, None], second].astype(np.float64, copy=False)

    def at(self, first: Int, second: Int) -> Float:
        return self._matrix[first, second].astype(np.float64, copy=False)


class SparsePairs:
    """Similarity given as a sparse matrix: pairs that are not stored are 0.

    first, second, value : (n_pairs,) each unordered pair of distinct points.
    """

    def __init__(
        self, matrix: Any, warnings: tuple[str, ...] = (), *, negative: bool = False
    ) -> None:
        upper = sp.triu(matrix, k=1, format="coo")
        self.first: Int = upper.row.astype(np.int64)
        self.second: Int = upper.col.astype(np.int64)
        self.value: Float = upper.data.astype(np.float64)
        self.negative = negative
        self.warnings = warnings


class _FeaturePairs:
    """Pairs of rows of a feature matrix (n_points, n_features), dense or sparse."""

    stored = False
    negative = False
    warnings: tuple[str, ...] = ()

    def __init__(self, features: Matrix) -> None:
        self._features = features

    @property
    def width(self) -> int:
        features: Any = self._features
        if sp.issparse(features):
            return 1 + int(features.nnz) // max(1, int(features.shape[0]))
        return int(features.shape[1])

    @property
    def features(self) -> Matrix:
        return self._features

    def rows(self, index: Int | slice) -> Any:
        """(n, n_features) float64 rows of the features, sparse where they are."""
        return self._features[index].astype(np.float64)

    def block(self, first: Int, second: Int) -> Float:
        raise NotImplementedError

    def at(self, first: Int, second: Int) -> Float:
        step = max(1, CACHED_VALUES // max(1, self.width))
        answer = np.empty(first.shape[0], dtype=np.float64)
        for start in range(0, first.shape[0], step):
            part = slice(start, start + step)
            answer[part] = self._between(self.rows(first[part]), self.rows(second[part]))
        return answer

    def _between(self, first: Any, second: Any) -> Float:
        """(n,) numbers of the rows of two matrices of the same shape."""
        raise NotImplementedError


class Euclidean(_FeaturePairs):
    """Euclidean distances of rows."""

    def block(self, first: Int, second: Int) -> Float:
        return np.sqrt(_squared(self.rows(first), self.rows(second)))

    def _between(self, first: Any, second: Any) -> Float:
        return np.sqrt(_squared_norms(first - second))


class Cosine(_FeaturePairs):
    """(1 + cosine) / 2 of rows, in [0, 1], the similarity of HypHC (Chami et al. 2020).

    A row of zeros has cosine 0 with every row.
    """

    def __init__(self, features: Matrix) -> None:
        super().__init__(features)
        length = np.empty(features.shape[0], dtype=np.float64)
        for part in _slices(features):
            length[part] = np.sqrt(_squared_norms(self.rows(part)))
        n_zero = int((length == 0).sum())
        if n_zero:
            self.warnings = (
                f"{n_zero} rows of the features are zero; their cosine is taken as 0.",
            )
        self._scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)

    @property
    def n_columns(self) -> int:
        """Columns of a dense feature matrix; 0 of a sparse one."""
        return 0 if sp.issparse(self._features) else int(self._features.shape[1])

    def unit(self, part: slice, columns: slice) -> Float:
        """(n, n_columns) some columns of dense rows, the rows brought to length one."""
        rows = self._features[part, columns].astype(np.float64, order="C")
        rows *= self._scale[part, None]
        return rows

    def block(self, first: Int, second: Int) -> Float:
        product = self.rows(first) @ self.rows(second).T
        dense = product.toarray() if sp.issparse(product) else product
        cosine: Float = dense * self._scale[first][:, None] * self._scale[second]
        return _to_similarity(cosine)

    def at(self, first: Int, second: Int) -> Float:
        cosine = super().at(first, second) * self._scale[first] * self._scale[second]
        return _to_similarity(cosine)

    def _between(self, first: Any, second: Any) -> Float:
        if sp.issparse(first):
            return np.asarray(first.multiply(second).sum(axis=1)).ravel()
        product: Float = np.einsum("ij,ij->i", first, second)
        return product


class Gaussian(_FeaturePairs):
    """exp(-|x - y|^2 / (2 s^2)) of rows, in (0, 1]; s^2 is the mean of |x - y|^2 over all pairs."""

    @cached_property
    def width2(self) -> float:
        """s^2, from the features' variances: 2 N / (N - 1) times their sum. O(N D)."""
        n_points = self._features.shape[0]
        if n_points < 2:
            return 0.0
        mean = np.asarray(self._features.mean(axis=0, dtype=np.float64)).ravel()
        spread = 0.0
        for part in _slices(self._features):
            rows = self.rows(part)
            if sp.issparse(rows):
                off = -2.0 * (rows @ mean) + float(mean @ mean)
                spread += float((_squared_norms(rows) + off).sum())
            else:
                spread += float(_squared_norms(rows - mean).sum())
        return 2.0 * max(0.0, spread) / int(n_points - 1)

    def block(self, first: Int, second: Int) -> Float:
        return self._weigh(_squared(self.rows(first), self.rows(second)))

    def _between(self, first: Any, second: Any) -> Float:
        return self._weigh(_squared_norms(first - second))

    def _weigh(self, squared: Float) -> Float:
        return np.exp(squared / (-2.0 * self.width2)) if self.width2 else np.ones_like(squared)


def _slices(features: Matrix) -> list[slice]:
    step = max(1, BLOCK_VALUES // max(1, features.shape[1]))
    return [slice(at, at + step) for at in range(0, features.shape[0], step)]


def _squared(first: Any, second: Any) -> Float:
    """(len(first), len(second)) squared Euclidean distances."""
    if not sp.issparse(first):
        return cdist(first, second, "sqeuclidean")  # type: ignore[no-any-return]
    product = (first @ second.T).toarray()
    norms = _squared_norms(first)[:, None] + _squared_norms(second)
    squared: Float = np.maximum(norms - 2.0 * product, 0.0)
    return squared


def _squared_norms(rows: Any) -> Float:
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    total: Float = np.einsum("ij,ij->i", rows, rows)
    return total


def _to_similarity(cosine: Float) -> Float:
    similarity: Float = (1.0 + np.clip(cosine, -1.0, 1.0)) / 2.0
    return similarity
