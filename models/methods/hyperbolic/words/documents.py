"""Words of documents, and how often they occur near each other.

Cost: that of `models.preprocess.documents`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from models.errors import UsageError
from models.preprocess.documents import cooccurrences, numbered, vocabulary
from models.running.progress import Progress, subprogress


def count_words(
    documents: Sequence[str], min_count: int, max_words: int, window: int, progress: Progress
) -> tuple[list[str], sp.csr_array, tuple[str, ...]]:
    """The words, their counts (V, V) in the form of `words.pairs.checked`, and warnings.

    Raises UsageError if no word is left, or none occurs near another.
    """
    known = vocabulary(documents, min_count, max_words, subprogress(progress, 0.0, 1 / 3))
    tokens = numbered(documents, known.words, subprogress(progress, 1 / 3, 2 / 3))
    counts = cooccurrences(tokens, len(known.words), window, subprogress(progress, 2 / 3, 1.0))
    near = np.diff(counts.indptr) > 0
    if not near.any():
        raise UsageError(
            f"Input 'documents' has {len(known.words):,} word(s) in the vocabulary, and none "
            "occurs near another: no document has two.",
            code="empty",
            role="documents",
        )
    warnings = []
    n_short = int((np.diff(tokens.start) < 2).sum())
    if known.n_left_out:
        warnings.append(
            f"{known.n_left_out:,} word(s) are left out: they occur fewer than 'min_count' = "
            f"{min_count} times, or are not among the 'max_words' = {max_words:,} most frequent."
        )
    if n_short:
        warnings.append(f"{n_short:,} document(s) have fewer than two words of the vocabulary.")
    if not near.all():
        warnings.append(f"{int((~near).sum()):,} word(s) occur near no other and are left out.")
        connected = np.flatnonzero(near)
        counts = sp.csr_array(counts[connected][:, connected])
    words = [word for word, is_near in zip(known.words, near.tolist(), strict=True) if is_near]
    return words, counts, tuple(warnings)
