"""The Gaussian mixture that is likeliest if each label is a cluster, as EM's last step has it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int
from models.inputs.checks import Points, blocks
from models.methods.partitions.mixtures.gaussian import Covariance, Gaussians


def of_labels(kind: Covariance, features: Points, code: Int, added: float) -> Gaussians:
    """The mixture.

    features : (N, D), dense. code : (N,) the cluster of each row, all of 0 to K - 1 used.
    added : to the variances.

    Two passes over the rows; O(N D^2) for full and tied covariances, else O(N D).
    """
    n_rows, n_columns = features.shape
    size = np.bincount(code).astype(np.float64)
    n_clusters = size.size
    means = np.zeros((n_clusters, n_columns))
    for block, rows in blocks(features, n_clusters):
        assert not isinstance(rows, sp.csr_array)
        np.add.at(means, code[block], np.asarray(rows, dtype=np.float64))
    means /= size[:, None]
    full, tied = kind == "full", kind == "tied"
    squares = np.zeros((n_clusters, n_columns, n_columns) if full else (n_clusters, n_columns))
    product = np.zeros((n_columns, n_columns))
    for block, rows in blocks(features, n_clusters):
        away = np.asarray(rows, dtype=np.float64) - means[code[block]]
        if full:
            for cluster in np.unique(code[block]).tolist():
                own = away[code[block] == cluster]
                squares[cluster] += own.T @ own
        elif tied:
            product += away.T @ away
        else:
            np.add.at(squares, code[block], np.square(away))
    return Gaussians(kind, size / n_rows, means, _covariances(kind, squares, product, size, added))


def _covariances(
    kind: Covariance, squares: Float, product: Float, size: Float, added: float
) -> Float:
    if kind == "tied":
        return np.asarray(product / size.sum() + added * np.eye(len(product)))
    if kind == "full":
        return np.asarray(squares / size[:, None, None] + added * np.eye(squares.shape[1]))
    variances = squares / size[:, None] + added
    return np.asarray(variances if kind == "diag" else variances.mean(axis=1))
