"""The fit of `ghhc-glove` from counts to a tree over words; what each step does is in the modules
it calls.

Words and how often they occur together, from documents. Cost: that of `models.text`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Arrays, Int
from models.documents.counts import cooccurrences
from models.documents.vocabulary import numbered, vocabulary
from models.errors import UsageError
from models.method import Checkpoint, Fitted, Model, Run
from models.methods.hyperbolic.ball.extraction import Extracted, extract
from models.methods.hyperbolic.ball.fit import effort_of, metrics_of, said_of_training, seeded
from models.methods.hyperbolic.ball.scaling import Scaling
from models.methods.hyperbolic.ball.training import Trained, train
from models.methods.hyperbolic.words import vectors as glove
from models.methods.hyperbolic.words.pairs import pairs_of
from models.methods.hyperbolic.words.placing import digests
from models.methods.hyperbolic.words.vectors import Vectors
from models.methods.hyperbolic.words.words_torch import Watching, Words
from models.numerics import poincare
from models.progress import subprogress
from models.rows import ArrayRows
from models.tree.build import from_parents
from models.tree.tree import Tree

if TYPE_CHECKING:
    from models.methods.hyperbolic.ghhc_glove import GHHCGloveParams


def fitted(
    counts: sp.csr_array,
    names: list[str],
    params: GHHCGloveParams,
    run: Run,
    facts: dict[str, Any],
    warnings: tuple[str, ...],
) -> Fitted:
    """counts : as `words.pairs.checked` gives them. facts, warnings : besides.

    To be called within `models.device.computing`.
    """
    # Most of the parameters are those of `ghhc`.
    asked: Any = params
    pairs = pairs_of(counts, params.x_max, params.exponent)
    of_vectors, of_words, of_noise, of_seeds = (int(one) for one in run.rng.integers(2**63, size=4))
    checkpoint = _Along(run.checkpoint)
    plain = glove.learned(
        pairs,
        params.n_dimensions,
        params.n_passes,
        params.vector_learning_rate,
        of_vectors,
        checkpoint,
        subprogress(run.progress, 0.06, 0.3),
    )
    within = subprogress(run.progress, 0.3, 0.4)
    words = Words(
        pairs,
        glove.placed(plain, params.scaling, params.point_norm),
        n_neighbors=params.n_neighbors,
        batch_size=params.batch_size,
        weight=params.problem_weight,
        learning_rate=params.word_learning_rate,
        max_norm=max(params.point_norm, params.max_norm),
        device=params.device,
        seed=of_words,
        threads=run.threads,
    )
    judge = Watching(words, of_words)
    nodes, notes = seeded(words.pool(), judge, asked, np.random.default_rng(of_seeds), within)
    effort = effort_of(asked)
    trained = Trained(nodes)
    if judge.n_pairs and pairs.n_words > 2:
        within = subprogress(run.progress, 0.4, 0.9)
        trained = train(words, nodes, judge, effort, of_noise, checkpoint.after(), within)
    found_words = words.vectors()
    points = found_words.words.astype(np.float32)
    scaling = Scaling("none", np.zeros(params.n_dimensions), 1.0, params.point_norm)
    found = extract(ArrayRows(points), scaling, trained.nodes, subprogress(run.progress, 0.9, 1.0))
    given = np.empty(pairs.n_words, dtype=np.int64)
    given[pairs.order] = np.arange(pairs.n_words)
    tree = of_words_tree(found, points, [names[number] for number in pairs.order.tolist()], given)
    loss = glove.loss(pairs, found_words)
    curves = {
        "objective": trained.objectives,
        "cost": trained.costs,
        "vector_loss": list(enumerate(plain.losses, 1)),
    }
    return Fitted(
        tree=tree,
        model=_model(found, found_words, counts, given, loss, params, facts),
        metrics={
            **metrics_of(trained, found),
            "glove_loss": loss,
            "glove_loss_alone": glove.loss(pairs, plain),
            "n_words": float(pairs.n_words),
            "n_pairs": float(pairs.n_pairs),
        },
        curves={name: curve for name, curve in curves.items() if curve},
        points={"parent_probability": found.probability[given]},
        warnings=(*warnings, *notes, *said_of_training(trained, effort)),
    )


def of_words_tree(
    found: Extracted, points: npt.NDArray[np.float32], names: list[str], given: Int
) -> Tree:
    """The tree with a leaf for each word, below the leaf of those that selected one node; a leaf of
    one word is its leaf.

    points : (V, D), names : (V,) in the order of `found`. given : (V,) where each word of the
    result is among them.
    """
    tree = found.tree
    n_nodes, group = tree.n_nodes, tree.leaf_of_point.astype(np.int64)
    alone = np.bincount(group, minlength=n_nodes)[group] == 1
    below = np.flatnonzero(~alone)
    leaf = np.where(alone, group, -1)
    leaf[below] = n_nodes + np.arange(below.size)
    parent = np.concatenate([tree.parent, group[below]])
    name = np.full(len(parent), None, dtype=object)
    name[leaf] = names
    norm = poincare.hyperbolic_norm(points.astype(np.float64))[:, 0]
    # Where all words lie within a node it has a height of its own; there no word is further out.
    furthest = max(float(norm.max()), float(tree.extra["norm"].max()))
    height = np.concatenate([furthest - tree.extra["norm"], np.zeros(below.size)])
    height[leaf] = 0.0
    columns = {key: np.concatenate([column, _blank(column, below.size)])
               for key, column in tree.extra.items()}  # fmt: skip
    columns["norm"][leaf] = norm
    columns["parent_probability"][leaf[below]] = found.probability[below]
    return from_parents(parent, height, name, leaf[given], extra=columns)


def _blank(column: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """So many values that say nothing: no node, no probability."""
    return np.full(n, -1 if column.dtype.kind == "i" else np.nan, dtype=column.dtype)


def _model(
    found: Extracted,
    vectors: Vectors,
    counts: sp.csr_array,
    given: Int,
    loss: float,
    params: GHHCGloveParams,
    facts: dict[str, Any],
) -> Model:
    """Words in the order of the result; `embedding` as of `ghhc`."""
    return Model(
        arrays={
            "embedding": found.nodes,
            "words": vectors.words[given].astype(np.float32),
            "contexts": vectors.contexts[given].astype(np.float32),
            "bias": vectors.bias[given],
            "context_bias": vectors.context_bias[given],
            "digest": digests(counts),
        },
        facts={
            "x_max": params.x_max,
            "exponent": params.exponent,
            "glove_loss": loss,
            **facts,
        },
    )


class _Along(Checkpoint):
    """Keeps the vectors, and later what moves beside them as they were."""

    _PREFIX = "vectors."

    def __init__(self, inner: Checkpoint) -> None:
        self._inner = inner
        self._plain: dict[str, npt.NDArray[Any]] = {}

    def load(self) -> Arrays | None:
        kept = self._inner.load()
        if kept is None:
            return None
        self._plain = {name: one for name, one in kept.items() if name.startswith(self._PREFIX)}
        return {name.removeprefix(self._PREFIX): one for name, one in self._plain.items()}

    def save(self, state: Arrays) -> None:
        self._plain = {self._PREFIX + name: array for name, array in state.items()}
        self._inner.save(self._plain)

    def after(self) -> Checkpoint:
        """What comes after them."""
        return _After(self._inner, self._plain, self._PREFIX)


class _After(Checkpoint):
    def __init__(self, inner: Checkpoint, plain: Arrays, prefix: str) -> None:
        self._inner, self._plain, self._prefix = inner, plain, prefix

    def load(self) -> Arrays | None:
        kept = self._inner.load() or {}
        rest = {name: one for name, one in kept.items() if not name.startswith(self._prefix)}
        return rest or None

    def save(self, state: Arrays) -> None:
        self._inner.save({**state, **self._plain})


if TYPE_CHECKING:
    from models.methods.hyperbolic.ghhc_glove import GHHCGloveParams


def read(
    documents: Sequence[str], params: GHHCGloveParams, run: Run
) -> tuple[list[str], sp.csr_array, tuple[str, ...]]:
    """The words, their counts (V, V) as of `words.pairs.checked`, and warnings.

    UsageError where no word is left, or none occurs near another.
    """
    found = vocabulary(
        documents, params.min_count, params.max_words, subprogress(run.progress, 0.0, 0.02)
    )
    tokens = numbered(documents, found.words, subprogress(run.progress, 0.02, 0.04))
    counts = cooccurrences(
        tokens, len(found.words), params.window, subprogress(run.progress, 0.04, 0.06)
    )
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
