"""Steps for rows that are series: values at equal distances in time or place."""

from __future__ import annotations

from itertools import islice
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from models.arrays import Arrays, Matrix
from models.errors import UsageError
from models.parameters import Count, Whole
from models.preprocess.contract import BaseStep, Blocks, real, require_sums


class FFT(BaseStep):
    """The magnitudes of the frequencies of each row, a series of values at equal distances: the
    absolute values of its discrete Fourier transform, from frequency 0 to half the number of
    values, divided by that number's square root. Turning a series as a circle changes none."""

    keeps_columns: ClassVar = False

    step: Literal["fft"]
    n: Count | None = Field(None, description="Lowest frequencies kept of a series; null: all.")
    series: Whole = Field(
        1,
        ge=1,
        le=1_000_000,
        description="Number of series in a row, of one length, one after the other; each has its "
        "own frequencies.",
    )

    def n_columns(self, before: int) -> int:
        """Raises UsageError for columns that are not so many series, or have too few values."""
        length, rest = divmod(before, self.series)
        if rest or not length:
            raise UsageError(
                f"Step 'fft' cannot divide {before} columns into {self.series} series of one "
                "length; 'series' divides the number of columns.",
                code="wrong-parameter",
                parameter="preprocess",
            )
        most = length // 2 + 1
        if self.n is not None and self.n > most:
            raise UsageError(
                f"Step 'fft' cannot keep {self.n} frequencies of a series of {length} values; at "
                f"most {most}.",
                code="wrong-parameter",
                parameter="preprocess",
            )
        return self.series * (most if self.n is None else self.n)

    def fit(self, blocks: Blocks, seed: int) -> tuple[Arrays, tuple[str, ...]]:
        """Nothing is learned. Raises UsageError as `n_columns`, and for sparse rows."""
        for block in islice(blocks(), 1):
            if isinstance(block, sp.csr_array):
                raise UsageError(
                    "Step 'fft' takes dense features, a value for each time, not sparse ones.",
                    code="wrong-input",
                    role="features",
                )
            self.n_columns(block.shape[1])
        return {}, ()

    def apply(self, rows: Matrix, learned: Arrays) -> Matrix:
        """O(N D log D)."""
        from scipy import fft

        assert not isinstance(rows, sp.csr_array)
        rows = real(rows)
        n_rows, n_columns = rows.shape
        kept = self.n_columns(n_columns) // self.series
        each = rows.reshape(n_rows, self.series, n_columns // self.series)
        sizes = np.abs(fft.rfft(each, norm="ortho")[:, :, :kept])
        require_sums(sizes)
        return np.asarray(sizes.reshape(n_rows, -1), dtype=rows.dtype)
