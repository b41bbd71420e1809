"""The steps that prepare features: the parameters of each, what it learns and what it does.

A step is fitted on all rows once and then applied to those and to new ones; what it learned is a
few arrays. Dense matrices are arrays, sparse ones `scipy.sparse.csr_array`; only pca and svd turn
sparse into dense. float32 stays float32, everything else becomes float64.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from pydantic import Field

from models.arrays import Arrays, Float, Matrix
from models.errors import UsageError
from models.parameters import Whole
from models.preprocess import documents as counted
from models.preprocess.contract import BaseStep, Blocks, real, require_sums
from models.preprocess.documents import Stemming, StopWords, numbered, reader, vocabulary
from models.preprocess.series import FFT

MOST_COLUMNS = 8192
"""Number of columns up to which pca and svd compute second moments of rows read in blocks."""

MOST_NAMED = 20
"""Most columns that a warning of filled values names."""

_MEDIAN_VALUES = 1 << 24


class Words(BaseStep):
    """Counts of words of the input `documents`, as features: a row a document, a column a word.

    The first step, and only on documents.
    """

    step: Literal["words"]
    min_count: Whole = Field(
        2, ge=1, le=1_000_000_000, description="How often a word must occur to have a column."
    )
    max_words: Whole = Field(
        50_000, ge=1, le=1_000_000, description="Most columns; the most frequent words have them."
    )
    stop_words: StopWords = Field("none", description="Words that are left out: a list, or none.")
    stemming: Stemming = Field(
        "none", description="Language by whose rules words are brought to their stems."
    )

    def fit(self, blocks: Blocks, seed: int) -> tuple[Arrays, tuple[str, ...]]:
        read, documents = reader(self.stop_words, self.stemming), _documents(blocks())
        kept = vocabulary(documents, self.min_count, self.max_words, read=read)
        # No word holds a line break.
        words = np.frombuffer("\n".join(kept.words).encode(), dtype=np.uint8)
        return {"words": words}, ()

    @staticmethod
    def words(learned: Arrays) -> list[str]:
        """The words of the columns."""
        return learned["words"].tobytes().decode().split("\n")

    def apply(self, rows: Any, learned: Arrays) -> Matrix:
        words = self.words(learned)
        read = reader(self.stop_words, self.stemming)
        return counted.word_counts(numbered(_documents([rows]), words, read=read), len(words))


def _documents(blocks: Iterable[Any]) -> list[str]:
    """The documents that come as one block. Raises UsageError for a matrix."""
    for block in blocks:
        if isinstance(block, list):
            return block
    raise UsageError(
        "Step 'words' takes the input 'documents', and comes first.",
        code="wrong-input",
        parameter="preprocess",
    )


class Missing(BaseStep):
    """Empty values (NaN) replaced by a number of their column, learned from the values of the fit,
    or left out of distances.

    The first step, and only on dense features. Without it an empty value is refused.
    """

    step: Literal["missing"]
    fill: Literal["mean", "median", "pairwise"] = Field(
        "median",
        description="What replaces an empty value: the mean or the median of the column's values "
        "in the fit. 'pairwise' leaves it empty, for methods that measure distances ('hac' and "
        "'hdbscan'): over the columns in which both rows have a value, sums scaled up as by R's "
        "dist. It is then the only step.",
    )

    def fit(self, blocks: Blocks, seed: int) -> tuple[Arrays, tuple[str, ...]]:
        """Raises UsageError as `require_filled_rows`, and for a column without any value. Nothing
        is learned where values stay empty.

        O(N D) time; for the median, 8 N bytes and a pass over the rows for every 2^24 / N columns.
        """
        n_rows, empty, total = 0, np.zeros(0, dtype=np.int64), np.zeros(0)
        for block in blocks():
            require_filled_rows(block, n_rows)
            n_rows += block.shape[0]
            here = empty_values(block)
            sums = np.where(here, 0.0, block).sum(axis=0, dtype=np.float64)
            empty = here.sum(axis=0) + (empty if empty.size else 0)
            total = sums + (total if total.size else 0.0)
        bare = np.flatnonzero(empty == n_rows)
        if bare.size:
            raise UsageError(
                f"Input 'features' has no value in column {bare[0]} (counted from 0), so step "
                f"'missing' cannot fill it; leave the column out.",
                code="not-finite",
                role="features",
                column=int(bare[0]),
            )
        if self.fill == "pairwise":
            return {}, self.notes(empty)
        fill = total / (n_rows - empty) if self.fill == "mean" else _medians(blocks, n_rows)
        if not np.isfinite(fill).all():
            raise UsageError(
                f"Input 'features' has values so large that the {self.fill} of column "
                f"{np.flatnonzero(~np.isfinite(fill))[0]} (counted from 0) overflows; scale the "
                "input down.",
                code="too-large",
                role="features",
            )
        return {"fill": fill}, self.notes(empty)

    def apply(self, rows: Matrix, learned: Arrays) -> Matrix:
        assert not isinstance(rows, sp.csr_array)
        rows = real(rows)
        here = empty_values(rows)
        if self.fill == "pairwise" or not here.any():
            return rows
        return np.where(here, learned["fill"].astype(rows.dtype), rows)

    def notes(self, empty: npt.NDArray[np.int64]) -> tuple[str, ...]:
        """The warning of values filled or left out. empty : their number in each column."""
        if not empty.any():
            return ()
        if self.fill == "pairwise":
            return (
                f"missing: {empty.sum():,} empty value(s) of 'features' were left out (columns "
                f"counted from 0): {by_column(empty)}. Distances are over the columns in which "
                "both rows have a value, sums scaled up as by R's dist.",
            )
        return (
            f"missing: {empty.sum():,} empty value(s) of 'features' were replaced by the "
            f"{self.fill} of their column (counted from 0): {by_column(empty)}.",
        )


def by_column(empty: npt.NDArray[np.int64], names: Sequence[str] = ()) -> str:
    """How many values are empty in which columns, for a message. names : of the columns, if any."""
    columns = np.flatnonzero(empty)
    counts = [
        f"{empty[at]:,} in column {names[at] if names else at}" for at in columns[:MOST_NAMED]
    ]
    rest = columns[MOST_NAMED:]
    if rest.size:
        counts.append(f"{empty[rest].sum():,} in {rest.size:,} other column(s)")
    return ", ".join(counts)


def empty_values(rows: Any) -> npt.NDArray[np.bool_]:
    """Where dense rows have no value, as an array of their shape."""
    if rows.dtype.kind != "f":
        return np.zeros(rows.shape, dtype=bool)
    return np.asarray(np.isnan(rows))


def require_filled_rows(rows: Matrix, first_row: int = 0, bare: bool = False) -> None:
    """Raises UsageError for sparse rows, for an infinite value, and for a row without any value.

    first_row : the number of the first of these rows. bare : whether rows may have no value.
    """
    if isinstance(rows, sp.csr_array):
        raise UsageError(
            "Step 'missing' takes dense features, not sparse ones, in which a value that is not "
            "stored is 0.",
            code="wrong-input",
            role="features",
        )
    if rows.dtype.kind != "f":
        return
    infinite = np.argwhere(np.isinf(rows))
    if infinite.size:
        row, column = first_row + int(infinite[0, 0]), int(infinite[0, 1])
        raise UsageError(
            f"Input 'features' has a value that is infinite at row {row}, column {column} (counted "
            "from 0); step 'missing' fills empty values (NaN) alone.",
            code="not-finite",
            role="features",
            row=row,
            column=column,
        )
    nothing = np.flatnonzero(np.isnan(rows).all(axis=1))
    if nothing.size and not bare:
        row = first_row + int(nothing[0])
        raise UsageError(
            f"Input 'features' has no value at all in row {row} (counted from 0), so nothing says "
            "where it belongs; leave the row out.",
            code="not-finite",
            role="features",
            row=row,
        )


def _medians(blocks: Blocks, n_rows: int) -> Float:
    """The median of each column's values, some columns at a time. Infinite where it overflows."""
    medians: list[float] = []
    n_columns = _first_two(blocks())[0].shape[1]
    width = max(1, _MEDIAN_VALUES // n_rows)
    for first in range(0, n_columns, width):
        parts = [np.array(block[:, first : first + width]) for block in blocks()]
        medians += [
            float(np.median(column[~empty_values(column)].astype(np.float64)))
            for column in np.concatenate(parts).T
        ]
    return np.array(medians)


class Tfidf(BaseStep):
    """Term weights of counts in the SMART notation.

    First letter, term frequency: n unchanged, l 1 + ln tf, b 1 where a term occurs. Second, n none,
    t times ln(N / number of rows with the term). Third, n none, c rows brought to length 1.
    """

    step: Literal["tfidf"]
    scheme: str = Field(
        "ltc",
        pattern="^[nlb][nt][nc]$",
        description="SMART notation: n, l or b for the term frequency, n or t for the inverse "
        "document frequency, n or c for cosine normalisation.",
    )

    def fit(self, blocks: Blocks, seed: int) -> tuple[Arrays, tuple[str, ...]]:
        n_with, n_rows, first = None, 0, 0
        for block in blocks():
            _require_counts(block, first)
            first += block.shape[0]
            n_rows += block.shape[0]
            here = (
                np.bincount(block.indices[block.data > 0], minlength=block.shape[1])
                if isinstance(block, sp.csr_array)
                else np.count_nonzero(block, axis=0)
            )
            n_with = here if n_with is None else n_with + here
        assert n_with is not None
        idf = np.zeros(len(n_with))
        idf[n_with > 0] = np.log(n_rows / n_with[n_with > 0])
        never, always = int((n_with == 0).sum()), int((n_with == n_rows).sum())
        notes = []
        if "t" in self.scheme and always and n_rows > 1:
            notes.append(f"tfidf: {always} term(s) occur in every row, so their weight is 0.")
        if "t" in self.scheme and never:
            notes.append(f"tfidf: {never} term(s) occur in no row; in new rows their weight is 0.")
        return {"idf": idf if "t" in self.scheme else np.ones(len(n_with))}, tuple(notes)

    def apply(self, rows: Matrix, learned: Arrays) -> Matrix:
        _require_counts(rows, 0)
        rows = real(rows)
        idf = learned["idf"].astype(rows.dtype)
        if isinstance(rows, sp.csr_array):
            data = self._frequency(rows.data) * idf[rows.indices]
            weights: Matrix = sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
        else:
            weights = self._frequency(rows) * idf
        return _unit(weights) if self.scheme[2] == "c" else weights

    def _frequency(self, counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.scheme[0] == "n":
            return counts
        occurs = counts > 0
        if self.scheme[0] == "b":
            return occurs.astype(counts.dtype)
        logs: npt.NDArray[Any] = np.log(counts, out=np.zeros_like(counts), where=occurs)
        logs += occurs
        return logs


class Standardize(BaseStep):
    """Each column minus its mean, over its standard deviation (of the population).

    Sparse columns are only scaled, so that they stay sparse.
    """

    step: Literal["standardize"]

    def fit(self, blocks: Blocks, seed: int) -> tuple[Arrays, tuple[str, ...]]:
        n, mean, spread, sparse = 0, np.zeros(0), np.zeros(0), False
        for block in blocks():
            n_here = block.shape[0]
            if isinstance(block, sp.csr_array):
                sparse = True
                mean_here = np.asarray(block.sum(axis=0, dtype=np.float64)).ravel() / n_here
                squares = np.asarray(block.multiply(block).sum(axis=0, dtype=np.float64)).ravel()
                spread_here = np.maximum(squares - n_here * mean_here**2, 0.0)
            else:
                wide = block.astype(np.float64)
                mean_here = wide.mean(axis=0)
                wide -= mean_here
                spread_here = np.einsum("ij,ij->j", wide, wide)
            if n == 0:
                n, mean, spread = n_here, mean_here, spread_here
                continue
            # Chan, Golub and LeVeque's update of mean and sum of squares.
            apart = mean_here - mean
            spread = spread + spread_here + apart**2 * (n * n_here / (n + n_here))
            mean = mean + apart * (n_here / (n + n_here))
            n += n_here
        require_sums(spread)
        deviation = np.sqrt(spread / max(n, 1))
        constant = deviation <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
        deviation[constant] = 1.0
        notes = []
        if constant.any():
            notes.append(f"standardize: {int(constant.sum())} column(s) are constant and were not "
                         "scaled.")  # fmt: skip
        if sparse:
            mean = np.zeros_like(mean)
            notes.append("standardize: the features are sparse, so columns were scaled but not "
                         "centred.")  # fmt: skip
        return {"mean": mean, "deviation": deviation}, tuple(notes)

    def apply(self, rows: Matrix, learned: Arrays) -> Matrix:
        rows = real(rows)
        scale = (1.0 / learned["deviation"]).astype(rows.dtype)
        if isinstance(rows, sp.csr_array):
            data = rows.data * scale[rows.indices]
            return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
        centred: Matrix = rows - learned["mean"].astype(rows.dtype)
        centred *= scale
        return centred


class L2(BaseStep):
    """Each row brought to Euclidean length 1; rows of zeros stay so."""

    step: Literal["l2"]

    def fit(self, blocks: Blocks, seed: int) -> tuple[Arrays, tuple[str, ...]]:
        empty = sum(int((_lengths(block) == 0).sum()) for block in blocks())
        if not empty:
            return {}, ()
        return {}, (f"l2: {empty} row(s) are all zeros and stayed so.",)

    def apply(self, rows: Matrix, learned: Arrays) -> Matrix:
        return _unit(real(rows))


class _Projection(BaseStep):
    """It learns `explained`: the share of the variance, or of the sum of squares, that is kept."""

    keeps_columns: ClassVar = False

    n: Whole = Field(ge=1, le=10_000, description="Number of components.")

    def n_columns(self, before: int) -> int:
        return self.n

    @property
    @abstractmethod
    def _centred(self) -> bool:
        """Whether the columns' means are taken off first."""

    def fit(self, blocks: Blocks, seed: int) -> tuple[Arrays, tuple[str, ...]]:
        first, *more = _first_two(blocks())
        name = type(self).__name__.lower()
        if more:
            return self._by_moments(blocks, name), ()
        rows = real(first)
        n_points, n_features = rows.shape
        self._require(n_points, n_features, name)
        if isinstance(rows, sp.csr_array) and self.n >= min(rows.shape):
            rows = rows.toarray()
        if isinstance(rows, sp.csr_array) or min(rows.shape) > MOST_COLUMNS:
            return self._by_lanczos(rows, seed), ()
        if n_points >= n_features:
            return self._by_moments(lambda: _in_blocks(rows), name), ()
        require_sums(_lengths(rows))
        mean = rows.mean(axis=0, dtype=np.float64) if self._centred else np.zeros(n_features)
        _, values, vectors = np.linalg.svd(rows - mean.astype(rows.dtype), full_matrices=False)
        return self._learned(vectors, np.square(values), mean, np.square(values).sum()), ()

    def _by_moments(self, blocks: Blocks, name: str) -> Arrays:
        from scipy.linalg import eigh

        moments, mean, n_points = _moments(blocks, name, self._centred)
        n_features = len(mean)
        self._require(n_points, n_features, name)
        total = np.trace(moments)
        values, vectors = eigh(moments, subset_by_index=(n_features - self.n, n_features - 1))
        return self._learned(vectors[:, ::-1].T, values[::-1], mean, total)

    def _by_lanczos(self, rows: Matrix, seed: int) -> Arrays:
        from sklearn import decomposition

        require_sums(_lengths(rows))
        if self._centred:
            pca = decomposition.PCA(self.n, svd_solver="arpack", random_state=seed).fit(rows)
            mean = np.asarray(pca.mean_, dtype=np.float64).ravel()
            ratio = pca.explained_variance_ratio_
            return self._learned(pca.components_, ratio, mean, 1.0)
        svd = decomposition.TruncatedSVD(self.n, algorithm="arpack", random_state=seed).fit(rows)
        total = np.square(rows.data if isinstance(rows, sp.csr_array) else rows).sum()
        squares = np.square(svd.singular_values_)
        return self._learned(svd.components_, squares, np.zeros(rows.shape[1]), total)

    def _learned(self, vectors: Float, squares: Float, mean: Float, total: float) -> Arrays:
        """The first components, each with its largest weight positive."""
        components = np.asarray(vectors[: self.n], dtype=np.float64)
        largest = components[np.arange(self.n), np.abs(components).argmax(axis=1)]
        components = components * np.where(largest < 0, -1.0, 1.0)[:, None]
        explained = max(0.0, float(squares[: self.n].sum())) / max(float(total), 1e-300)
        return {
            "components": components,
            "mean": mean,
            "explained": np.array([min(explained, 1.0)]),
        }

    def _require(self, n_points: int, n_features: int, name: str) -> None:
        most = min(n_points, n_features)
        if self.n > most:
            raise UsageError(
                f"Step {name!r} cannot give {self.n} components of {n_points} rows and "
                f"{n_features} columns; at most {most}.",
                code="wrong-parameter",
                parameter="preprocess",
            )

    def apply(self, rows: Matrix, learned: Arrays) -> Matrix:
        rows = real(rows)
        components = learned["components"].T.astype(rows.dtype)
        mean = learned["mean"].astype(rows.dtype)
        if isinstance(rows, sp.csr_array):
            projected = np.asarray(rows @ components)
            projected -= mean @ components
            return projected
        # Moved first: the products of rows far from 0 would lose their last digits.
        return (rows - mean) @ components if self._centred else np.asarray(rows @ components)


class PCA(_Projection):
    """The columns' n principal components.

    Exact, by the second moments in float64 where there are more rows than columns; of sparse rows,
    and where both are many, by Lanczos iterations.
    """

    step: Literal["pca"]

    @property
    def _centred(self) -> bool:
        return True


class SVD(_Projection):
    """The n leading right singular vectors, without centring (LSA where rows are texts); computed
    as for pca."""

    step: Literal["svd"]

    @property
    def _centred(self) -> bool:
        return False


Step = Annotated[
    Words | Missing | Tfidf | Standardize | L2 | PCA | SVD | FFT, Field(discriminator="step")
]
"""One step as a client sends it: `{"step": "pca", "n": 50}`."""


def _first_two(blocks: Iterable[Matrix]) -> list[Matrix]:
    return list(islice(blocks, 2))


def _in_blocks(rows: npt.NDArray[Any]) -> Iterable[Matrix]:
    step = max(1, (1 << 21) // rows.shape[1])
    return (rows[start : start + step] for start in range(0, len(rows), step))


def _moments(blocks: Blocks, name: str, centred: bool) -> tuple[Float, Float, int]:
    """(second moments of the columns, their mean or 0, number of rows), block by block in float64.

    O(N D^2) time, O(D^2) memory.
    """
    origin = total = np.zeros(0)
    square, n = np.zeros((0, 0)), 0
    for block in blocks():
        if block.shape[1] > MOST_COLUMNS:
            raise UsageError(
                f"Step {name!r} takes at most {MOST_COLUMNS} columns of features that are read in "
                f"blocks; these have {block.shape[1]}.",
                code="too-large",
                role="features",
            )
        wide = block.astype(np.float64)
        if n == 0:
            # With moments about the mean of the first block, subtracting the mean loses few digits.
            origin = wide.mean(axis=0) if centred else np.zeros(wide.shape[1])
            total, square = np.zeros(wide.shape[1]), np.zeros((wide.shape[1],) * 2)
        wide -= origin
        total += wide.sum(axis=0)
        square += wide.T @ wide
        n += len(wide)
    require_sums(square)
    if not centred:
        return square / n, origin, n
    return square / n - np.outer(total, total) / n**2, origin + total / n, n


def _lengths(rows: Matrix) -> Float:
    if isinstance(rows, sp.csr_array):
        with np.errstate(over="ignore"):
            squares = np.square(rows.data, dtype=np.float64)
        row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        total = np.bincount(row, squares, rows.shape[0]).astype(np.float64, copy=False)
    else:
        total = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return np.asarray(np.sqrt(total))


def _unit(rows: Matrix) -> Matrix:
    length = _lengths(rows)
    require_sums(length)
    scale = np.divide(1.0, length, out=np.ones_like(length), where=length > 0)
    scale = scale.astype(rows.dtype)
    if isinstance(rows, sp.csr_array):
        data = rows.data * np.repeat(scale, np.diff(rows.indptr))
        return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
    unit: Matrix = rows * scale[:, None]
    return unit


def _require_counts(rows: Matrix, first_row: int) -> None:
    """Raises UsageError for the first negative count."""
    values = rows.data if isinstance(rows, sp.csr_array) else rows
    if values.size == 0 or values.min() >= 0:
        return
    if isinstance(rows, sp.csr_array):
        at = int(np.argmax(rows.data < 0))
        row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
        column = int(rows.indices[at])
    else:
        row, column = (int(place) for place in np.argwhere(rows < 0)[0])
    raise UsageError(
        f"Step 'tfidf' takes counts; input 'features' has a negative value at row "
        f"{first_row + row}, column {column} (counted from 0).",
        code="wrong-input",
        role="features",
        row=first_row + row,
        column=column,
    )
