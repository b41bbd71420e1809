"""New rows in a tree over words: counts go to the word that explains them best, documents to the
word nearest to the mean of their words.

Counts give how often a new word occurs near each known one. Word u explains row x the better the
closer its products are to the row's logarithms, for the best bias:

    L_u(x) = min over b of sum over j with x_j > 0 of f(x_j) (w_u.c_j + a_j + b - log x_j)^2

P(u | x) ~ exp(-L_u / (2 v)), v the mean of f r^2 at the end of the fit. A row of the fit itself is
recognised by a digest of its bits, and is placed at its word with certainty.

A document is the mean of the points of its words, weighted by their counts; P(u | x) is eq. 5 with
the words as nodes of the ball. The probability of a node is the sum over the words below it.

Source: the loss of Pennington, Socher and Manning, "GloVe: Global Vectors for Word Representation"
(2014), eq. 8, taken as the logarithm of a normal density; Monath et al. (2019), eq. 5.

Cost: O(V D) for each count above 0 or each document, O(V) for each row and each node of the tree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Matrix, row_blocks
from models.errors import UsageError
from models.inputs.data import require_finite
from models.method import Model, Predictions
from models.methods.hyperbolic.ball import decoding
from models.methods.hyperbolic.ball.placing import block_paths, predictions_of
from models.methods.hyperbolic.words.pairs import weights
from models.tree.tree import Tree


def place(model: Model, tree: Tree, counts: Matrix, role: str) -> Predictions:
    """The leaf and the path of each row of counts, (n_rows, V).

    Raises UsageError for a wrong number of columns, values that are negative or not finite, and a
    row without any count above 0.
    """
    arrays = model.arrays
    words, contexts = arrays["words"].astype(np.float64), arrays["contexts"].astype(np.float64)
    rows = _checked(counts, len(words), role)
    variance = max(float(model.facts["glove_loss"]), 1e-12)
    known_digests = arrays["digest"].tolist()
    word_of = {digest: word for word, digest in reversed(list(enumerate(known_digests)))}

    def scores(block: slice) -> Float:
        losses = np.empty((block.stop - block.start, len(words)))
        for at, row in enumerate(range(block.start, block.stop)):
            part = slice(rows.indptr[row], rows.indptr[row + 1])
            near, count = rows.indices[part], rows.data[part]
            expected = words @ contexts[near].T + arrays["context_bias"][near]
            weight = weights(count, model.facts["x_max"], model.facts["exponent"])
            losses[at] = unexplained(expected, np.log(count), weight)
        for at, digest in enumerate(digests(rows[block]).tolist()):
            if digest in word_of:
                losses[at] = np.inf
                losses[at, word_of[digest]] = 0.0
        return losses / (-2 * variance)

    return _place_by_scores(tree, rows.shape[0], scores)


def place_documents(model: Model, tree: Tree, counts: sp.csr_array) -> Predictions:
    """The leaf and the path of each document. Raises UsageError for one without a known word.

    counts : (n_documents, V) how often each word occurs in each document.
    """
    import torch

    words = model.arrays["words"].astype(np.float64)
    rows = _checked(counts, len(words), "documents")
    mean = (rows @ words) / rows.sum(axis=1)[:, None]
    nodes = torch.from_numpy(words)

    def scores(block: slice) -> Float:
        log_share: Float = decoding.log_weights(torch.from_numpy(mean[block]), nodes).numpy()
        return log_share

    return _place_by_scores(tree, rows.shape[0], scores)


def _place_by_scores(tree: Tree, n_rows: int, scores: Callable[[slice], Float]) -> Predictions:
    """The leaf of the word with the largest share, and its path.

    scores : gives (n, V) logarithms of the words' shares for a block of rows, up to a constant.
    """
    leaves = tree.leaf_of_point.astype(np.int64)
    parts = []
    for block in row_blocks(n_rows, 2 * tree.n_nodes, 1 << 21):
        share = scores(block)
        best = share.argmax(axis=1)
        share = np.exp(share - share.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        parts.append(block_paths(tree, leaves, leaves[best], share))
    return predictions_of(parts)


def unexplained(expected: Float, log_count: Float, weight: Float) -> Float:
    """(V,) L_u of one row with n counts above 0. expected : (V, n) w_u.c_j + a_j."""
    residual = expected - log_count
    residual -= (residual @ weight / weight.sum())[:, None]
    loss: Float = (residual * residual) @ weight
    return loss


def digests(rows: sp.csr_array) -> Int:
    """(n,) a hash of 64 bits of each row of counts, from its columns and the bits of its values.

    rows : without stored zeros.
    """
    odd = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64) * 2 + 1
    bits = rows.data.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * odd[rows.indices]
    ends = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(bits)])
    total = ends[rows.indptr[1:]] - ends[rows.indptr[:-1]]
    digest: Int = total.view(np.int64)
    return digest


def _checked(counts: Matrix, n_words: int, role: str) -> sp.csr_array:
    if counts.shape[1] != n_words:
        raise UsageError(
            f"Input {role!r} has {counts.shape[1]} columns; the model has {n_words} words, and "
            "each has a column.",
            code="wrong-shape",
            role=role,
        )
    require_finite(counts, role)
    rows = sp.csr_array(counts, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    bad = np.flatnonzero(rows.data < 0)
    if bad.size:
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise UsageError(
            f"Input {role!r} has a value below 0 in row {row} (counted from 0); a count is 0 or "
            "more.",
            code="wrong-input",
            role=role,
            row=row,
        )
    empty = np.flatnonzero(np.diff(rows.indptr) == 0)
    if empty.size:
        raise UsageError(
            f"Input {role!r} has none of the model's words in row {empty[0]} (counted from 0), so "
            "the row has no place in the tree.",
            code="wrong-input",
            role=role,
            row=int(empty[0]),
        )
    return rows
