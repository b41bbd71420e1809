"""The methods of the family hyperbolic. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input
from umbel_client.progress import Progress

R = TypeVar("R")


class HyperbolicMethods(Generic[R]):
    """The methods of the family hyperbolic; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def ghhc(
        self,
        *,
        features: Input,
        names: Input | None = None,
        base: Input | None = None,
        n_internal: int = 64,
        scaling: Literal["unit", "largest", "none"] = "unit",
        point_norm: float = 0.9,
        max_norm: float = 0.95,
        seeding: Literal["k-means", "k-means++", "afk-mc2", "random", "points"] = "k-means",
        placement: Literal["midpoint", "order"] = "midpoint",
        n_init: int = 8,
        n_neighbors: int = 5,
        batch_size: int = 100,
        max_iter: int = 1000,
        learning_rate: float = 0.02,
        decay: bool = True,
        optimizer: Literal["sgd", "adam"] = "adam",
        loss: Literal["expected", "sigmoid", "softplus"] = "expected",
        perplexity: float | None = 1.2,
        temperature: float = 0.1,
        noise: float = 1.0,
        mask: Literal["likeliest", "nearest"] = "nearest",
        margin: float = 0.0,
        structure: Literal["distance", "norms"] = "distance",
        gamma: float = 0.25,
        structure_every: int = 0,
        keep: Literal["best", "last"] = "best",
        below: Literal["none", "average"] = "none",
        device: Literal["cpu", "cuda"] = "cpu",
        processes: int = 1,
        keep_steps: int = 0,
        seed: int = 0,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        extra_inputs: Mapping[str, Input] | None = None,
    ) -> R:
        """gHHC: a hierarchy as points of the Poincaré ball, moved by gradient steps.

        Leaves: tree, model, ball.

        Source: Gradient-based Hierarchical Clustering using Continuous Representations of Trees
        in Hyperbolic Space (2019, KDD).

        features : One row per point.
        names : optional. One name per point. A leaf of several points is named after the first
            three of them.
        base : optional. An earlier job of this method: nodes start where its nodes ended, and
            features are scaled as there. The tree is over the points of this job.
        n_internal : Number of nodes that are moved, seeds included. The tree leaves out those
            that no point needs.
        scaling : How features become points of the ball, about their mean: 'unit' puts each at
            norm 'point_norm', so that only directions count; 'largest' divides all by one
            number, which puts the farthest at 'point_norm'; 'none' takes them as they are, of
            norm below 1.
        point_norm : Norm of points, for 'unit' and 'largest'.
        max_norm : Largest norm of a node; a node beyond it is brought back to it.
        seeding : Where nodes start: half of them are seeds, which average linkage joins in the
            other half. Seeds are the centres of 'k-means', or points: drawn far apart, as
            k-means starts ('k-means++', or 'afk-mc2', which does not look at all points), or at
            'random'. With 'points' all nodes are random points.
        placement : Norm of a node at the start: at the hyperbolic 'midpoint' of the points
            under it, or by the 'order' of merges, the j-th of S seeds at norm log(S - j) / log
            S.
        n_init : Number of draws of seeds; the one of the best tree is used.
        n_neighbors : Nearest neighbours that a point forms triples with.
        batch_size : Number of triples in a step.
        max_iter : Number of steps on triples.
        learning_rate : Step length.
        decay : Whether step lengths fall, linearly, to 0.
        optimizer : Riemannian gradient descent, or Riemannian Adam.
        loss : What steps on triples lower: the 'expected' cost of the tree, or the ranking
            objective with this function of the scores of triples, which takes less time and
            memory for more than a few hundred nodes.
        perplexity : Number of nodes that points spread over when they select one, which sets
            the temperature anew for each round of steps. None: 'temperature'.
        temperature : Divisor of the dissimilarities that make a node a likely ancestor or not,
            where 'perplexity' is None.
        noise : Gumbel noise of those dissimilarities, in temperatures; 0 for none. For the
            ranking objective, as are 'mask' and 'margin'.
        mask : The common ancestor of two points that the third may not share: the 'likeliest',
            noise included, or the 'nearest', without noise.
        margin : Margin between norms in the dissimilarities of triples.
        structure : What steps on nodes and their parents lower: the 'distance', weighted by how
            much the norms break the margin 'gamma', or that break of the 'norms' alone.
        gamma : Margin between norms in those steps.
        structure_every : Number of steps on triples for each step on nodes and their parents; 0
            for none of the latter.
        keep : Nodes of the result: from the 'best' tree, or the 'last'.
        below : What is below a node that several points selected: 'none', they share one leaf;
            'average', a binary tree by average linkage of hyperbolic distances among these
            points, so that each point has a separate leaf.
        device : Where the computation runs: on the processor, or on a GPU.
        processes : Number of processes that take each step together, each for a part of its
            triples; the result is the same up to rounding. With 'cuda' each has a separate GPU;
            otherwise they share the threads of the job.
        keep_steps : Number of earlier trees that are kept beside the result, each of lower cost
            than the one before, to look at how the tree was learned; the result is the same.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "ghhc",
            features=features,
            names=names,
            base=base,
            params={
                "n_internal": n_internal,
                "scaling": scaling,
                "point_norm": point_norm,
                "max_norm": max_norm,
                "seeding": seeding,
                "placement": placement,
                "n_init": n_init,
                "n_neighbors": n_neighbors,
                "batch_size": batch_size,
                "max_iter": max_iter,
                "learning_rate": learning_rate,
                "decay": decay,
                "optimizer": optimizer,
                "loss": loss,
                "perplexity": perplexity,
                "temperature": temperature,
                "noise": noise,
                "mask": mask,
                "margin": margin,
                "structure": structure,
                "gamma": gamma,
                "structure_every": structure_every,
                "keep": keep,
                "below": below,
                "device": device,
                "processes": processes,
                "keep_steps": keep_steps,
                "seed": seed,
            },
            preprocess=preprocess,
            then=then,
            support=support,
            name_by=name_by,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
            progress=progress,
            **(extra_inputs or {}),
        )

    def ghhc_glove(
        self,
        *,
        graph: Input | None = None,
        documents: Input | None = None,
        names: Input | None = None,
        min_count: int = 5,
        max_words: int = 10000,
        window: int = 10,
        n_dimensions: int = 50,
        x_max: float = 100.0,
        exponent: float = 0.75,
        n_passes: int = 50,
        vector_learning_rate: float = 0.05,
        word_learning_rate: float = 0.001,
        problem_weight: float = 1.0,
        n_internal: int = 64,
        scaling: Literal["largest", "unit"] = "unit",
        point_norm: float = 0.9,
        max_norm: float = 0.95,
        seeding: Literal["k-means", "k-means++", "afk-mc2", "random", "points"] = "k-means",
        placement: Literal["midpoint", "order"] = "midpoint",
        n_init: int = 8,
        n_neighbors: int = 5,
        batch_size: int = 100,
        max_iter: int = 1000,
        learning_rate: float = 0.02,
        decay: bool = True,
        optimizer: Literal["sgd", "adam"] = "adam",
        loss: Literal["expected", "sigmoid", "softplus"] = "expected",
        perplexity: float | None = 1.2,
        temperature: float = 0.1,
        noise: float = 1.0,
        mask: Literal["likeliest", "nearest"] = "nearest",
        margin: float = 0.0,
        structure: Literal["distance", "norms"] = "distance",
        gamma: float = 0.25,
        structure_every: int = 0,
        keep: Literal["best", "last"] = "best",
        below: Literal["none", "average"] = "average",
        device: Literal["cpu", "cuda"] = "cpu",
        seed: int = 0,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        extra_inputs: Mapping[str, Input] | None = None,
    ) -> R:
        """gHHC with GloVe: vectors of words and a tree over the words, learned together.

        Leaves: tree, model. Exactly one of graph, documents must be given.

        Source: Gradient-based Hierarchical Clustering using Continuous Representations of Trees
        in Hyperbolic Space (2019, KDD).

        graph : optional. Counts of words that occur together: a square symmetric matrix, dense
            or sparse, with a row and a column for each word. A new row counts how often a new
            word occurs with each of these words. Sparse matrices are accepted.
        documents : optional. Texts that words and counts are taken from; a new text is placed
            by its words.
        names : optional. The words, one for each row of 'graph'; words of documents are their
            own names.
        min_count : Words of the documents that occur less often are left out.
        max_words : Largest number of words of the documents; the most frequent are kept.
        window : Largest distance, in words, at which two words of a document occur together.
        n_dimensions : Dimensions of the vectors and of the ball.
        x_max : Count from which a pair of words has full weight.
        exponent : A pair with a lower count has the weight (count / x_max) to this power.
        n_passes : Number of passes over all pairs that learn vectors without the tree.
        vector_learning_rate : Step length of AdaGrad in those passes.
        word_learning_rate : Step length of words, contexts and biases along with the tree; 0
            leaves them as they are.
        problem_weight : Factor of GloVe's loss, a mean over pairs, beside the tree's loss.
        n_internal : Number of nodes that are moved, seeds included. The tree leaves out those
            that no point needs.
        scaling : How vectors become points of the ball, about their mean: 'largest' divides all
            by one number, which puts the farthest at 'point_norm' and changes no product;
            'unit' puts each at 'point_norm', so that the rest of the fit must make up for it.
        point_norm : Norm at the start of the farthest word, or of all words.
        max_norm : Largest norm of a node or word; a node or word beyond it is brought back to
            it.
        seeding : Where nodes start: half of them are seeds, which average linkage joins in the
            other half. Seeds are the centres of 'k-means', or points: drawn far apart, as
            k-means starts ('k-means++', or 'afk-mc2', which does not look at all points), or at
            'random'. With 'points' all nodes are random points.
        placement : Norm of a node at the start: at the hyperbolic 'midpoint' of the points
            under it, or by the 'order' of merges, the j-th of S seeds at norm log(S - j) / log
            S.
        n_init : Number of draws of seeds; the one of the best tree is used.
        n_neighbors : Nearest neighbours that a point forms triples with.
        batch_size : Number of triples in a step.
        max_iter : Number of steps on triples.
        learning_rate : Step length.
        decay : Whether step lengths fall, linearly, to 0.
        optimizer : Riemannian gradient descent, or Riemannian Adam.
        loss : What steps on triples lower: the 'expected' cost of the tree, or the ranking
            objective with this function of the scores of triples, which takes less time and
            memory for more than a few hundred nodes.
        perplexity : Number of nodes that points spread over when they select one, which sets
            the temperature anew for each round of steps. None: 'temperature'.
        temperature : Divisor of the dissimilarities that make a node a likely ancestor or not,
            where 'perplexity' is None.
        noise : Gumbel noise of those dissimilarities, in temperatures; 0 for none. For the
            ranking objective, as are 'mask' and 'margin'.
        mask : The common ancestor of two points that the third may not share: the 'likeliest',
            noise included, or the 'nearest', without noise.
        margin : Margin between norms in the dissimilarities of triples.
        structure : What steps on nodes and their parents lower: the 'distance', weighted by how
            much the norms break the margin 'gamma', or that break of the 'norms' alone.
        gamma : Margin between norms in those steps.
        structure_every : Number of steps on triples for each step on nodes and their parents; 0
            for none of the latter.
        keep : Nodes of the result: from the 'best' tree, or the 'last'.
        below : What is below a node that several words selected: 'average', a binary tree by
            average linkage of hyperbolic distances among these words; 'none', the words as
            siblings.
        device : Where the computation runs: on the processor, or on a GPU.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "ghhc-glove",
            graph=graph,
            documents=documents,
            names=names,
            params={
                "min_count": min_count,
                "max_words": max_words,
                "window": window,
                "n_dimensions": n_dimensions,
                "x_max": x_max,
                "exponent": exponent,
                "n_passes": n_passes,
                "vector_learning_rate": vector_learning_rate,
                "word_learning_rate": word_learning_rate,
                "problem_weight": problem_weight,
                "n_internal": n_internal,
                "scaling": scaling,
                "point_norm": point_norm,
                "max_norm": max_norm,
                "seeding": seeding,
                "placement": placement,
                "n_init": n_init,
                "n_neighbors": n_neighbors,
                "batch_size": batch_size,
                "max_iter": max_iter,
                "learning_rate": learning_rate,
                "decay": decay,
                "optimizer": optimizer,
                "loss": loss,
                "perplexity": perplexity,
                "temperature": temperature,
                "noise": noise,
                "mask": mask,
                "margin": margin,
                "structure": structure,
                "gamma": gamma,
                "structure_every": structure_every,
                "keep": keep,
                "below": below,
                "device": device,
                "seed": seed,
            },
            preprocess=preprocess,
            then=then,
            support=support,
            name_by=name_by,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
            progress=progress,
            **(extra_inputs or {}),
        )

    def hyphc(
        self,
        *,
        features: Input | None = None,
        similarity: Input | None = None,
        names: Input | None = None,
        affinity: Literal["cosine", "rbf"] = "cosine",
        gamma: float | None = None,
        dimension: int = 2,
        n_init: int = 8,
        max_iter: int = 1500,
        patience: int = 75,
        batch_size: int | None = None,
        learning_rate: float = 0.2,
        temperature: float = 0.05,
        final_temperature: float = 0.05,
        max_norm: float = 0.999,
        device: Literal["cpu", "cuda"] = "cpu",
        keep_steps: int = 0,
        seed: int = 0,
        preprocess: Sequence[Mapping[str, Any]] | None = None,
        then: str | Mapping[str, Any] | None = None,
        support: Mapping[str, Any] | None = None,
        name_by: str | None = None,
        name: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        webhook: str | None = None,
        expires_at: Expiry = None,
        retrying: Retrying | None = None,
        wait_s: float | None = None,
        progress: Progress = None,
        extra_inputs: Mapping[str, Input] | None = None,
    ) -> R:
        """HypHC: leaves move in the Poincaré ball so that their tree has a low Dasgupta cost.

        Leaves: tree, model, ball. Exactly one of features, similarity must be given.

        Source: From Trees to Continuous Embeddings and Back: Hyperbolic Hierarchical Clustering
        (2020, NeurIPS).

        features : optional. One row per point.
        similarity : optional. Square symmetric matrix of similarities between points. A new
            point has one row, with a column for each point of the fit.
        names : optional. One name per point.
        affinity : Similarity of rows of features: 'cosine' is (1 + cos) / 2, 'rbf' exp(-gamma
            d^2). Applies to the input 'features' only.
        gamma : Gamma of 'rbf'; default: 1 / (2 s^2), with s^2 the mean of d^2 over all pairs.
        dimension : Dimensions of the ball; with 2, decoding is fastest and the ball can be
            drawn.
        n_init : Number of runs from random leaves; the best tree is the result.
        max_iter : Largest number of steps of a run.
        patience : A run ends after this number of rounds without a better tree. A round is 10
            steps, for more than 500 points one step for each 50 of them, and at most 'max_iter'
            / 20.
        batch_size : Number of triples in a step; default: four for each point, between 1,024
            and 65,536.
        learning_rate : Length of a step, in the distance of the ball.
        temperature : Divisor of depths in the choice of the two of three leaves that merge
            first.
        final_temperature : Temperature at the end; it changes by the same factor in each step.
        max_norm : Norm of the leaves at the end; higher for more points.
        device : Where the computation runs: on the processor, or on a GPU.
        keep_steps : Number of earlier trees that are kept beside the result, each of lower cost
            than the one before, to look at how the tree was learned; the result is the same.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "hyphc",
            features=features,
            similarity=similarity,
            names=names,
            params={
                "affinity": affinity,
                "gamma": gamma,
                "dimension": dimension,
                "n_init": n_init,
                "max_iter": max_iter,
                "patience": patience,
                "batch_size": batch_size,
                "learning_rate": learning_rate,
                "temperature": temperature,
                "final_temperature": final_temperature,
                "max_norm": max_norm,
                "device": device,
                "keep_steps": keep_steps,
                "seed": seed,
            },
            preprocess=preprocess,
            then=then,
            support=support,
            name_by=name_by,
            name=name,
            description=description,
            tags=tags,
            webhook=webhook,
            expires_at=expires_at,
            retrying=retrying,
            wait_s=wait_s,
            progress=progress,
            **(extra_inputs or {}),
        )
