"""Rows of counts: checks, held-out rows, and the terms that distinguish clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Float, Int, Mask, Matrix, row_blocks
from models.clusters.choosing import Count
from models.errors import UsageError
from models.inputs.checks import Points, blocks, require_rows, require_squares, require_usable
from models.inputs.data import Data, require_finite
from models.inputs.rows import Rows

TOP_TERMS = 10
"""The number of terms of a cluster in the facts of a model."""

NAMED_BY = 3
"""The number of them in the name of a cluster."""

BLOCK = 1 << 20


def require_counts(features: Points, *, whole: bool) -> None:
    """Raises UsageError naming the first value that is not finite, negative or, if `whole`, a
    fraction.

    O(N D), for sparse rows O(number of stored values).
    """
    if isinstance(features, Rows):
        for block, part in blocks(features):
            require_usable(part, block.start, features.shape[0])
            _require_counts(part, whole, block.start)
        return
    require_finite(features, "features")
    require_squares(features)
    _require_counts(features, whole, 0)


def _require_counts(features: Matrix, whole: bool, first_row: int) -> None:
    if features.dtype.kind in "bu":
        return
    if isinstance(features, sp.csr_array):
        at = _first_bad(features.data, whole)
        if at is not None:
            row = int(np.searchsorted(features.indptr, at, side="right")) - 1
            _refuse(features.data[at], row, int(features.indices[at]), whole)
        return
    for block in row_blocks(features.shape[0], features.shape[1], BLOCK):
        at = _first_bad(features[block].ravel(), whole)
        if at is not None:
            row, column = divmod(at, features.shape[1])
            value = features[block][row, column]
            _refuse(value, first_row + block.start + row, column, whole)


def require_some(features: Points) -> None:
    """Raises UsageError if every value is 0."""
    if not totals(features).any():
        raise UsageError(
            "Input 'features' holds no count at all: every value is 0.",
            code="not-counts",
            role="features",
        )


def zero_rows(features: Points, given: str) -> tuple[str, ...]:
    """A warning if rows hold no count.

    given : describes their soft assignment in the message.
    """
    empty = np.flatnonzero(totals(features) == 0)
    if not empty.size:
        return ()
    return (
        f"{empty.size} row(s) hold no count at all, the first is row {empty[0]} (counted from 0); "
        f"nothing says where they belong, so they are given {given}.",
    )


def totals(features: Points) -> Float:
    """(n_points,) the sum of each row in double precision."""
    if isinstance(features, Rows):
        total = np.empty(features.shape[0])
        for block, part in blocks(features):
            total[block] = totals(part)
        return total
    summed: Float = np.asarray(features.sum(axis=1, dtype=np.float64)).ravel()
    return summed


def column_totals(features: Points) -> Float:
    """(D,) the sum of each column in double precision."""
    if isinstance(features, Rows):
        total = np.zeros(features.shape[1])
        for _, part in blocks(features):
            total += part.sum(axis=0, dtype=np.float64)
        return total
    summed: Float = np.asarray(features.sum(axis=0, dtype=np.float64)).ravel()
    return summed


def n_stored(features: Points) -> int:
    """Number of values stored: all of dense rows."""
    if isinstance(features, sp.csr_array):
        return int(features.nnz)
    n_points, n_columns = features.shape
    return int(n_points * n_columns)


def sampled_rows(
    features: Points, whole: int, sample: int, least: int, rng: np.random.Generator
) -> Int | None:
    """The ascending numbers of the random rows of a sample; None for counts of at most `whole`
    stored values, of which none is drawn.

    sample : its stored values, about. least : its rows, at least.
    """
    n_points, stored = features.shape[0], n_stored(features)
    if stored <= whole:
        return None
    n_rows = min(n_points, max(n_points * sample // stored, least))
    return np.sort(rng.choice(n_points, n_rows, replace=False))


def sample_warning(n_drawn: int, n_points: int, n_init: int) -> str:
    """The warning that runs were made on a sample."""
    return (
        f"The n_init = {n_init} run(s) were made on a sample of {n_drawn:,} of {n_points:,} rows, "
        "and the best was continued over all rows."
    )


def some_rows(features: Points, start: int, stop: int) -> Matrix:
    """Rows [start, stop): of dense ones a view where possible."""
    return features.values(start, stop) if isinstance(features, Rows) else features[start:stop]


def in_doubles(features: Matrix) -> Matrix:
    """Sparse counts in double precision, sharing the indices; dense ones unchanged."""
    if not isinstance(features, sp.csr_array):
        return features
    data = features.data.astype(np.float64, copy=False)
    return sp.csr_array((data, features.indices, features.indptr), shape=features.shape)


def held_out(n_points: int, share: float, rng: np.random.Generator) -> Mask:
    """(n_points,) whether each row is kept out of the fit: a random `share` of them."""
    out = np.zeros(n_points, dtype=bool)
    out[rng.choice(n_points, round(share * n_points), replace=False)] = True
    return out


def check_held_out(features: Points, params: Count, out_share: float) -> None:
    """Raises UsageError if too few rows are left to fit, or none is held out for the choice."""
    n_points = features.shape[0]
    require_rows(features, params.fewest, params.count_parameter)
    n_fitted = n_points - round(out_share * n_points)
    if n_fitted < params.fewest:
        raise UsageError(
            f"Only {n_fitted} of {n_points} rows are left to fit {params.fewest} cluster(s) to; "
            f"lower 'held_out' or {params.count_parameter!r}.",
            code="too-few-points",
            parameter="held_out",
        )
    if params.choose == "held-out" and n_fitted == n_points:
        raise UsageError(
            "Parameter 'choose' is 'held-out', but no row is held out: set 'held_out', 0.1 say.",
            code="wrong-parameter",
            parameter="held_out",
        )


def term_names(data: Data, n_terms: int) -> list[str] | None:
    """The input `feature_names`, one for each column.

    Raises UsageError for another number of them.
    """
    names = data.names("feature_names")
    if names is not None and len(names) != n_terms:
        raise UsageError(
            f"Input 'feature_names' has {len(names)} names; {n_terms} are needed, one for each "
            "column of 'features'.",
            code="wrong-shape",
            role="feature_names",
        )
    return names


def top_terms(terms: Float, share: Float, names: Sequence[str]) -> list[list[dict[str, Any]]]:
    """The terms that distinguish each cluster, with their probabilities in it.

    terms : (K, V) probabilities of the terms in each cluster. share : (K,) share of each cluster.

    Terms are ranked by theta_kv log(theta_kv / theta_v), theta_v the probability over all clusters:
    their contribution to the divergence of the cluster from the whole. Terms that contribute
    nothing are left out.
    """
    whole = share @ terms
    top = []
    for own in terms:
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = np.where(own > 0, own * np.log(own / whole), 0.0)
        best = np.argsort(-divergence, kind="stable")[:TOP_TERMS]
        top.append(
            [
                {"term": names[term], "probability": float(own[term])}
                for term in best
                if divergence[term] > 0
            ]
        )
    return top


def cluster_names(data: Data, n_clusters: int, top: list[list[dict[str, Any]]] | None) -> list[str]:
    """The input `names`; without it the first top terms; without these numbers."""
    names = data.leaf_names(n_clusters, "cluster")
    if top is None or "names" in data:
        return names
    joined = [", ".join(entry["term"] for entry in terms[:NAMED_BY]) for terms in top]
    return [terms or number for terms, number in zip(joined, names, strict=True)]


def _first_bad(values: npt.NDArray[Any], whole: bool) -> int | None:
    bad = values < 0
    if whole and values.dtype.kind == "f":
        bad |= np.abs(values - np.rint(values)) > 1e-6 * np.maximum(values, 1.0)
    at = np.flatnonzero(bad)
    return int(at[0]) if at.size else None


def _refuse(value: Any, row: int, column: int, whole: bool) -> NoReturn:
    accepted = "whole numbers from 0 on" if whole else "0 or more"
    raise UsageError(
        f"Input 'features' has the value {value:g} at row {row}, column {column} (counted from 0); "
        f"counts must be {accepted}.",
        code="not-counts",
        role="features",
        row=row,
        column=column,
    )
