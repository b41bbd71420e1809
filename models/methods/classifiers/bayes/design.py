"""The products with the rows that the inferences need, for dense and for sparse rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from models.arrays import Float


class Design:
    """The rows of a problem.

    values : (n_rows, n_columns).
    """

    def __init__(self, values: Float | sp.csr_array) -> None:
        self.values = values
        self._across = sp.csr_array(values.T) if isinstance(values, sp.csr_array) else None

    @property
    def rows(self) -> Float:
        """The rows, which are dense."""
        assert isinstance(self.values, np.ndarray)
        return self.values

    @property
    def dense(self) -> bool:
        """Whether the rows are dense."""
        return isinstance(self.values, np.ndarray)

    @cached_property
    def _squares_across(self) -> Float | sp.csr_array:
        if self._across is None:
            return np.asarray((self.values * self.values).T)
        return self._across * self._across

    def scores(self, weights: Float) -> Float:
        """(n_rows, n_classes) for weights (n_classes, n_columns)."""
        return np.asarray(self.values @ np.ascontiguousarray(weights.T))

    def sums(self, by_row: Float) -> Float:
        """(n_classes, n_columns) sum of the rows, each with its weight in each class.

        by_row : (n_rows, n_classes).
        """
        if self._across is None:
            return np.asarray(by_row.T @ self.values)
        return np.ascontiguousarray((self._across @ by_row).T)

    def information(self, curvature: Float) -> Float:
        """(n_classes, n_columns) sum of the rows' squares, weighted as in `sums`."""
        return np.ascontiguousarray((self._squares_across @ curvature).T)
