"""The fit of `ghhc-glove`, from counts to a tree over words, its model, metrics and warnings.

Each stage is described in its module: `vectors`, `words_torch`, `ball.training`, `ball.extraction`;
the last, the tree over words, stands here.

One checkpoint serves the two stages of a fit: first vectors, then nodes that move with them. The
second stage saves the vectors of the first along with its own state, so that the first is not
repeated.

The tree has a leaf for each word, from nodes of the ball selected by words. Words that selected the
same node each get a leaf below it, as siblings (`word_tree`) or joined by average linkage
(`joined_word_tree`, `ball.extraction`); the only word that selected a node is its leaf.

Cost of the tree: O(M + V) for M nodes and V words, and that of `ball.extraction`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Arrays, Int, Single
from models.inputs.rows import ArrayRows
from models.method import Checkpoint, Fitted, Model, Run
from models.methods.hyperbolic.ball.descent import prefixed, unprefixed
from models.methods.hyperbolic.ball.extraction import (
    BallTree,
    LeafMerges,
    extract,
    leaf_merges,
    merge_warnings,
    point_leaves,
)
from models.methods.hyperbolic.ball.fit import best_start, metrics_of, training_warnings
from models.methods.hyperbolic.ball.parameters import seeding_of, training_of
from models.methods.hyperbolic.ball.points import BallScaling
from models.methods.hyperbolic.ball.training import TrainedNodes, train
from models.methods.hyperbolic.words import vectors as glove
from models.methods.hyperbolic.words.pairs import pairs_of
from models.methods.hyperbolic.words.parameters import BallWordParams
from models.methods.hyperbolic.words.placing import digests
from models.methods.hyperbolic.words.vectors import WordVectors
from models.methods.hyperbolic.words.words_torch import LearnedWords, WordTreeCost
from models.numerics import poincare
from models.running.progress import subprogress
from models.tree.build import from_parents
from models.tree.tree import Tree


def joined_word_tree(merges: LeafMerges, points: Single, names: list[str], place: Int) -> Tree:
    """The tree whose points and leaves are the words, the words of one node joined.

    points : (V, D), names : (V,) in the order of `merges`. place : (V,) position of each word of
        the result in that order.
    """
    merges.columns["norm"][merges.leaf] = poincare.hyperbolic_norm(points.astype(np.float64))[:, 0]
    name = np.full(len(merges.parent), None, dtype=object)
    name[merges.leaf] = names
    leaf = merges.leaf[place]
    return from_parents(merges.parent, merges.height, name, leaf, extra=merges.columns)


def word_tree(ball_tree: BallTree, points: Single, names: list[str], place: Int) -> Tree:
    """The tree whose points and leaves are the words, the words of one node as siblings.

    points : (V, D), names : (V,) in the order of `ball_tree`. place : (V,) position of each word of
        the result in that order.
    """
    tree = ball_tree.tree
    norm = poincare.hyperbolic_norm(points.astype(np.float64))[:, 0]
    leaves = point_leaves(ball_tree, norm)
    leaves.columns["norm"][leaves.leaf] = norm
    # Nodes count as well: one may lie further out than every word.
    furthest = max(float(norm.max()), float(tree.extra["norm"].max()))
    n_new = int(leaves.shared.sum())
    height = np.concatenate([furthest - tree.extra["norm"], np.zeros(n_new)])
    height[leaves.leaf] = 0.0
    name = np.full(len(leaves.parent), None, dtype=object)
    name[leaves.leaf] = names
    return from_parents(leaves.parent, height, name, leaves.leaf[place], extra=leaves.columns)


_PREFIX = "vectors."


class VectorCheckpoint(Checkpoint):
    """The checkpoint of the first stage, within the `whole` one."""

    def __init__(self, whole: Checkpoint) -> None:
        self._whole = whole
        self._vectors: dict[str, Array] = {}

    def load(self) -> Arrays | None:
        saved = self._whole.load()
        if saved is None:
            return None
        vectors = unprefixed(saved, _PREFIX)
        self._vectors = prefixed(vectors, _PREFIX)
        return vectors

    def save(self, state: Arrays) -> None:
        self._vectors = prefixed(state, _PREFIX)
        self._whole.save(self._vectors)

    def next_stage(self) -> Checkpoint:
        """The checkpoint of the second stage, which includes the current vectors."""
        return _NodeCheckpoint(self._whole, self._vectors)


class _NodeCheckpoint(Checkpoint):
    def __init__(self, whole: Checkpoint, vectors: Arrays) -> None:
        self._whole, self._vectors = whole, vectors

    def load(self) -> Arrays | None:
        saved = self._whole.load() or {}
        rest = {name: array for name, array in saved.items() if not name.startswith(_PREFIX)}
        return rest or None

    def save(self, state: Arrays) -> None:
        self._whole.save({**state, **self._vectors})


def fit(
    counts: sp.csr_array,
    names: list[str],
    params: BallWordParams,
    run: Run,
    facts: dict[str, Any],
    warnings: tuple[str, ...],
) -> Fitted:
    """The whole fit. To be called within `models.running.device.computing`.

    counts : in the form of `words.pairs.checked`. facts : further ones of the model.
    warnings : earlier ones.
    """
    pairs = pairs_of(counts, params.x_max, params.exponent)
    vector_seed, word_seed, noise_seed, start_seed = (
        int(value) for value in run.rng.integers(2**63, size=4)
    )
    checkpoint = VectorCheckpoint(run.checkpoint)
    alone = glove.learn_vectors(
        pairs,
        params.n_dimensions,
        params.n_passes,
        params.vector_learning_rate,
        vector_seed,
        checkpoint,
        subprogress(run.progress, 0.06, 0.3),
    )
    words = LearnedWords(
        pairs,
        glove.into_ball(alone, params.scaling, params.point_norm),
        n_neighbors=params.n_neighbors,
        batch_size=params.batch_size,
        weight=params.problem_weight,
        learning_rate=params.word_learning_rate,
        max_norm=max(params.point_norm, params.max_norm),
        device=params.device,
        seed=word_seed,
        threads=run.threads,
    )
    tree_cost = WordTreeCost(words, word_seed)
    nodes, start_warnings = best_start(
        words.pool(),
        tree_cost,
        seeding_of(params),
        np.random.default_rng(start_seed),
        subprogress(run.progress, 0.3, 0.4),
    )
    trained = TrainedNodes(nodes)
    if tree_cost.n_pairs and pairs.n_words > 2:
        trained = train(
            words,
            nodes,
            tree_cost,
            training_of(params),
            noise_seed,
            checkpoint.next_stage(),
            subprogress(run.progress, 0.4, 0.9),
        )
    vectors = words.vectors()
    points = vectors.words.astype(np.float32)
    as_they_are = BallScaling("none", np.zeros(params.n_dimensions), 1.0, params.point_norm)
    progress = subprogress(run.progress, 0.9, 0.95)
    ball_tree = extract(ArrayRows(points), as_they_are, trained.nodes, progress)
    # `pairs` orders words in its own way; the result has them in the order of the input.
    place = np.empty(pairs.n_words, dtype=np.int64)
    place[pairs.order] = np.arange(pairs.n_words)
    ordered_names = [names[number] for number in pairs.order.tolist()]
    loss = glove.loss(pairs, vectors)
    curves = {
        "objective": trained.objectives,
        "cost": trained.costs,
        "vector_loss": list(enumerate(alone.losses, 1)),
    }
    if params.below == "none":
        tree = word_tree(ball_tree, points, ordered_names, place)
    else:
        merges = leaf_merges(ball_tree, points, subprogress(run.progress, 0.95, 1.0))
        tree = joined_word_tree(merges, points, ordered_names, place)
        warnings += merge_warnings(merges)
    return Fitted(
        tree=tree,
        model=_model(ball_tree, vectors, counts, place, loss, params, facts),
        metrics={
            **metrics_of(trained, ball_tree),
            "glove_loss": loss,
            "glove_loss_alone": glove.loss(pairs, alone),
            "n_words": float(pairs.n_words),
            "n_pairs": float(pairs.n_pairs),
        },
        curves={name: curve for name, curve in curves.items() if curve},
        point_columns={"parent_probability": ball_tree.probability[place]},
        warnings=(*warnings, *start_warnings, *training_warnings(trained, training_of(params))),
    )


def _model(
    ball_tree: BallTree,
    vectors: WordVectors,
    counts: sp.csr_array,
    place: Int,
    loss: float,
    params: BallWordParams,
    facts: dict[str, Any],
) -> Model:
    """The model, with words in the order of the result; `embedding` is that of `ghhc`."""
    return Model(
        arrays={
            "embedding": ball_tree.nodes,
            "words": vectors.words[place].astype(np.float32),
            "contexts": vectors.contexts[place].astype(np.float32),
            "bias": vectors.bias[place],
            "context_bias": vectors.context_bias[place],
            "digest": digests(counts),
        },
        facts={
            "x_max": params.x_max,
            "exponent": params.exponent,
            "glove_loss": loss,
            **facts,
        },
    )
