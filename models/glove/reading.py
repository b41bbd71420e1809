"""Words and how often they occur together, from documents. Cost: that of `models.text`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from models.contract import Run
from models.errors import UsageError
from models.partitions.choosing import share
from models.text.counts import together
from models.text.vocabulary import numbered, vocabulary

if TYPE_CHECKING:
    from models.methods.hyperbolic.ghhc_glove import GHHCGloveParams


def read(
    documents: Sequence[str], params: GHHCGloveParams, run: Run
) -> tuple[list[str], sp.csr_array, tuple[str, ...]]:
    """The words, their counts (V, V) as of `models.glove.pairs.checked`, and warnings.

    UsageError where no word is left, or none occurs near another.
    """
    found = vocabulary(
        documents, params.min_count, params.max_words, share(run.progress, 0.0, 0.02)
    )
    tokens = numbered(documents, found.words, share(run.progress, 0.02, 0.04))
    counts = together(tokens, len(found.words), params.window, share(run.progress, 0.04, 0.06))
    near = np.diff(counts.indptr) > 0
    if not near.any():
        raise UsageError(
            f"Input 'documents' has {len(found.words):,} word(s) that count, and none of them "
            "occurs near another: no document has two.",
            code="empty",
            role="documents",
        )
    notes = []
    n_few = int((np.diff(tokens.start) < 2).sum())
    if found.n_left_out:
        notes.append(
            f"{found.n_left_out:,} word(s) are left out: they occur fewer than 'min_count' = "
            f"{params.min_count} times, or are not among the 'max_words' = {params.max_words:,} "
            "most frequent."
        )
    if n_few:
        notes.append(f"{n_few:,} document(s) have fewer than two words that count.")
    if not near.all():
        notes.append(f"{int((~near).sum()):,} word(s) occur near no other and are left out.")
        kept = np.flatnonzero(near)
        counts = sp.csr_array(counts[kept][:, kept])
    words = [word for word, there in zip(found.words, near.tolist(), strict=True) if there]
    return words, counts, tuple(notes)
