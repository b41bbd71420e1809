"""Rows of counts: checks, held-out rows, and the terms that distinguish clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Float, Mask, Matrix, row_blocks
from models.clusters.choosing import Count
from models.errors import UsageError
from models.inputs.checks import require_rows, require_squares
from models.inputs.data import Data, require_finite

TOP_TERMS = 10
"""The number of terms of a cluster in the facts of a model."""

NAMED_BY = 3
"""The number of them in the name of a cluster."""

BLOCK = 1 << 20


def require_counts(features: Matrix, *, whole: bool) -> None:
    """Raises UsageError naming the first value that is not finite, negative or, if `whole`, a
    fraction.

    O(N D), for sparse rows O(number of stored values).
    """
    require_finite(features, "features")
    require_squares(features)
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
            _refuse(features[block][row, column], block.start + row, column, whole)


def require_some(features: Matrix) -> None:
    """Raises UsageError if every value is 0."""
    if not totals(features).any():
        raise UsageError(
            "Input 'features' holds no count at all: every value is 0.",
            code="not-counts",
            role="features",
        )


def zero_rows(features: Matrix, given: str) -> tuple[str, ...]:
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


def totals(features: Matrix) -> Float:
    """(n_points,) the sum of each row in double precision."""
    total: Float = np.asarray(features.sum(axis=1, dtype=np.float64)).ravel()
    return total


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


def check_held_out(features: Matrix, params: Count, out_share: float) -> None:
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
