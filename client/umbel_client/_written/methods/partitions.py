"""The methods of the family partitions. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input, Items
from umbel_client.progress import Progress

R = TypeVar("R")


class PartitionsMethods(Generic[R]):
    """The methods of the family partitions; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def gmm(
        self,
        *,
        features: Input,
        names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        covariance: Literal["full", "tied", "diag", "spherical"] = "full",
        reg_covar: float = 1e-06,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 0.001,
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
        """Gaussian mixture: a partition and a soft assignment by EM, with any shape of cluster.

        Leaves: tree, model, logits.

        Source: Maximum Likelihood from Incomplete Data via the EM Algorithm (1977, Journal of
        the Royal Statistical Society B 39(1)).

        features : One row per point.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of clusters between 'min_clusters' and 'max_clusters': the
            lowest 'bic' or the highest mean 'silhouette'.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        covariance : Shape of the clusters: 'full' any ellipsoid each, 'tied' one ellipsoid for
            all, 'diag' an ellipsoid along the axes each, 'spherical' a ball each.
        reg_covar : Added to the variances, so that they stay positive; for columns that spread
            by less than 1e-5 or more than 1e5, times the square of the power of two next to it.
        n_init : Number of runs from different seeds; the best run is kept.
        max_iter : Largest number of iterations of a run.
        tol : A run ends when the mean log-likelihood of a point changes by less.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "gmm",
            features=features,
            names=names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "covariance": covariance,
                "reg_covar": reg_covar,
                "n_init": n_init,
                "max_iter": max_iter,
                "tol": tol,
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

    def kmeans(
        self,
        *,
        features: Input,
        names: Input | None = None,
        sample_weight: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette", "gap"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        n_references: int = 20,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 0.0001,
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
        """k-means: a partition into clusters around centres, and a soft assignment from it.

        Leaves: tree, model, logits.

        Source: k-means++: The Advantages of Careful Seeding (2007, SODA).

        features : One row per point. Sparse matrices are accepted.
        names : optional. One name per cluster, from the largest to the smallest.
        sample_weight : optional. The weight of each row: a row of weight 3 counts as three
            equal rows. A table of features with a column of weights brings it.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of clusters between 'min_clusters' and 'max_clusters': the
            lowest 'bic' of spherical Gaussians, the highest mean 'silhouette', or by the 'gap'
            statistic the fewest within one standard error of the next.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        n_references : Draws of reference points for the gap statistic.
        n_init : Number of runs from different seeds; the best run is kept.
        max_iter : Largest number of iterations of a run.
        tol : A run ends when the centres' squared moves sum to less than this times the mean
            variance of the features.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "kmeans",
            features=features,
            names=names,
            sample_weight=sample_weight,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "n_references": n_references,
                "n_init": n_init,
                "max_iter": max_iter,
                "tol": tol,
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

    def lda(
        self,
        *,
        features: Input,
        feature_names: Input | None = None,
        names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["held-out"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        doc_topic_prior: float | None = None,
        topic_word_prior: float | None = None,
        learning: Literal["batch", "online"] = "batch",
        batch_size: int = 128,
        held_out: float = 0.0,
        n_init: int = 1,
        max_iter: int = 10,
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
        """Latent Dirichlet allocation: topics of rows of counts, each row a mixture of them.

        Leaves: tree, model, logits.

        Source: Latent Dirichlet Allocation (2003, Journal of Machine Learning Research 3).

        features : One row of counts per point. Sparse matrices are accepted.
        feature_names : optional. One name per column; clusters are named by their distinctive
            terms.
        names : optional. One name per topic, from the largest to the smallest.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of clusters between 'min_clusters' and 'max_clusters': the
            highest mean log-likelihood of rows 'held-out'.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        doc_topic_prior : Dirichlet parameter of a row's topics; default: 1 / number of topics.
        topic_word_prior : Dirichlet parameter of a topic's columns; default: 1 / number of
            topics.
        learning : 'batch': all rows for each update; 'online': 'batch_size' rows for each.
        batch_size : Rows of an update where 'learning' is 'online'.
        held_out : Share of the rows kept out of the fit, to measure likelihood on.
        n_init : Number of runs from different seeds; the best run is kept.
        max_iter : Passes over the rows in a run.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "lda",
            features=features,
            feature_names=feature_names,
            names=names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "doc_topic_prior": doc_topic_prior,
                "topic_word_prior": topic_word_prior,
                "learning": learning,
                "batch_size": batch_size,
                "held_out": held_out,
                "n_init": n_init,
                "max_iter": max_iter,
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

    def minibatch_kmeans(
        self,
        *,
        features: Input,
        names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette", "gap"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        n_references: int = 20,
        batch_size: int = 1024,
        n_init: int = 3,
        max_iter: int = 20,
        tol: float = 0.001,
        reassignment_ratio: float = 0.01,
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
        """Mini-batch k-means: k-means by small random batches, for files larger than memory.

        Leaves: tree, model, logits.

        Source: Web-scale k-means clustering (2010, WWW).

        features : One row per point. Sparse matrices are accepted.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of clusters between 'min_clusters' and 'max_clusters' on a
            sample of the rows: the lowest 'bic' of spherical Gaussians, the highest mean
            'silhouette', or by the 'gap' statistic the fewest within one standard error of the
            next.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        n_references : Draws of reference points for the gap statistic.
        batch_size : Rows of a batch, at least as many as there are clusters.
        n_init : Number of seedings of the sample; the one with the least inertia serves.
        max_iter : Most passes over the rows.
        tol : The passes end when one lowers the inertia of the sample by less than this share.
        reassignment_ratio : A centre with fewer points than this share of the largest cluster's
            is moved to a random point of the batch.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "minibatch-kmeans",
            features=features,
            names=names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "n_references": n_references,
                "batch_size": batch_size,
                "n_init": n_init,
                "max_iter": max_iter,
                "tol": tol,
                "reassignment_ratio": reassignment_ratio,
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

    def multinomial(
        self,
        *,
        features: Input,
        feature_names: Input | None = None,
        names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "held-out"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        smoothing: float = 0.1,
        held_out: float = 0.0,
        n_init: int = 5,
        max_iter: int = 200,
        tol: float = 1e-06,
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
        """Mixture of multinomials: a partition of rows of counts, such as terms of texts, by EM.

        Leaves: tree, model, logits.

        Source: Inference and evaluation of the multinomial mixture model for text clustering
        (2007, Information Processing & Management 43(5), section 2).

        features : One row of counts per point. Sparse matrices are accepted.
        feature_names : optional. One name per column; clusters are named by their distinctive
            terms.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of clusters between 'min_clusters' and 'max_clusters': the
            lowest 'bic', or the highest mean log-likelihood of rows 'held-out'.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        smoothing : Added to the count of each column in each cluster (Dirichlet prior less 1).
        held_out : Share of the rows kept out of the fit, to measure likelihood on.
        n_init : Number of runs from different seeds; the best run is kept.
        max_iter : Largest number of iterations of a run.
        tol : A run ends when its objective rises by less than this share of it.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "multinomial",
            features=features,
            feature_names=feature_names,
            names=names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "smoothing": smoothing,
                "held_out": held_out,
                "n_init": n_init,
                "max_iter": max_iter,
                "tol": tol,
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

    def spectral(
        self,
        *,
        features: Input | None = None,
        similarity: Input | None = None,
        items: Items | None = None,
        names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["eigengap", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        affinity: Literal["knn", "rbf"] = "knn",
        metric: Literal["euclidean", "hamming", "jaccard", "gower"] = "euclidean",
        weights: Mapping[str, Any] | None = None,
        n_neighbors: int = 10,
        gamma: float | None = None,
        n_init: int = 10,
        max_iter: int = 300,
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
        """Spectral clustering: k-means on the leading eigenvectors of an affinity graph.

        Leaves: tree, model, logits. Exactly one of features, similarity, items must be given.

        Source: Normalized Cuts and Image Segmentation (2000, IEEE Transactions PAMI 22(8)).

        features : optional. One row per point.
        similarity : optional. Square symmetric matrix of similarities, none negative; on
            prediction one row per new point, one column per fitted one. Sparse matrices are
            accepted.
        items : optional. A table with a row per point, which are compared by Gower's distance:
            numbers and dates by their range, categories and booleans as equal or not, over the
            columns in which both rows have a value; texts are left out.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of clusters between 'min_clusters' and 'max_clusters': the
            largest 'eigengap' of the graph, or the highest mean 'silhouette' of the
            coordinates.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        affinity : Graph of the features: 'knn' joins nearest neighbours, 'rbf' all points by
            exp(-gamma d^2). Ignored with the input 'similarity'.
        metric : Distance between points; 'jaccard' takes values other than 0 as present. It
            applies to the input 'features' and must stay 'euclidean' with 'similarity'; 'items'
            are compared by 'gower', which applies to them alone.
        weights : With the input 'items': the weights of columns in the distance, by name; 1 for
            the others, 0 leaves a column out.
        n_neighbors : Neighbours of a point in the graph, itself among them.
        gamma : Gamma of 'rbf'; default: 1 / (2 s^2), s the mean distance of points to their
            'n_neighbors' nearest.
        n_init : Number of k-means runs; the best run is kept.
        max_iter : Largest number of iterations of a k-means run.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "spectral",
            features=features,
            similarity=similarity,
            items=items,
            names=names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "affinity": affinity,
                "metric": metric,
                "weights": weights,
                "n_neighbors": n_neighbors,
                "gamma": gamma,
                "n_init": n_init,
                "max_iter": max_iter,
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

    def temi(
        self,
        *,
        features: Input,
        names: Input | None = None,
        n_clusters: int = 8,
        n_heads: int = 16,
        k_neighbors: int | Literal["auto"] = "auto",
        beta: float = 0.6,
        temperature: float = 0.1,
        momentum: float | Literal["auto"] = "auto",
        max_iter: int | Literal["auto"] = "auto",
        learning_rate: float | Literal["auto"] = "auto",
        keep: Literal["auto", "heads"] = "auto",
        batch_size: int = 512,
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
        """Temi: clusters that a point shares with its nearest neighbours, by self-distillation of
        heads.

        Leaves: tree, model, logits.

        Source: Exploring the Limits of Deep Image Clustering using Pretrained Models (2023,
        BMVC).

        features : One row per point, none all zeros.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters.
        n_heads : Number of heads; the one with the lowest loss is kept.
        k_neighbors : Nearest neighbours that a point is paired with, fewer than a cluster has;
            auto: a third of the points that a cluster has on average, from 5 to 50.
        beta : Power of the probabilities; below 1 it keeps clusters from being left empty.
        temperature : What scores are divided by before softmax.
        momentum : Share of the teacher that stays in each step; auto: by the number of steps,
            0.996 from 12,500 steps on, 0.9 up to 500.
        max_iter : Passes over the points; auto: 100, and more to make 500 steps.
        learning_rate : Step length of the heads (Adam); auto: by the number of steps and the
            size of the values.
        keep : What the clusters are: those by the best head, or ('auto') by k-means where these
            tell more of the clusters of a point's neighbours; features of more than 16,777,216
            values are not compared so.
        batch_size : Points of a step; all where there are fewer.
        device : Where the computation runs: on the processor, or on a GPU.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "temi",
            features=features,
            names=names,
            params={
                "n_clusters": n_clusters,
                "n_heads": n_heads,
                "k_neighbors": k_neighbors,
                "beta": beta,
                "temperature": temperature,
                "momentum": momentum,
                "max_iter": max_iter,
                "learning_rate": learning_rate,
                "keep": keep,
                "batch_size": batch_size,
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

    def turtle(
        self,
        *,
        features: Input | Sequence[Input],
        names: Input | None = None,
        n_clusters: int = 8,
        gamma: float = 10.0,
        max_iter: int = 6000,
        learning_rate: float = 0.001,
        inner_iter: int = 10,
        inner_learning_rate: float = 0.001,
        warm_start: bool = False,
        batch_size: int = 10000,
        n_init: int = 1,
        n_folds: int = 5,
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
        """Turtle: the labelling that linear classifiers learn best, in one or several feature
        spaces.

        Leaves: tree, model, logits.

        Source: Let Go of Your Labels with Unsupervised Transfer (2024, ICML, eq. 9 and 12).

        features : One row per point; several give the same points in several spaces.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters.
        gamma : Weight of the entropy of the clusters' sizes.
        max_iter : Steps of the labelling.
        learning_rate : Step length of the labelling (Adam).
        inner_iter : Steps of the classifiers for each step of the labelling.
        inner_learning_rate : Step length of the classifiers (Adam).
        warm_start : Whether classifiers continue from the step before instead of starting
            again.
        batch_size : Points of a step; all where there are fewer.
        n_init : Number of runs; the one with the best cross-validated accuracy is kept.
        n_folds : Folds of the cross-validation, at most as many as there are points. 0: no
            cross-validation, possible with one run only.
        device : Where the computation runs: on the processor, or on a GPU.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "turtle",
            features=features,
            names=names,
            params={
                "n_clusters": n_clusters,
                "gamma": gamma,
                "max_iter": max_iter,
                "learning_rate": learning_rate,
                "inner_iter": inner_iter,
                "inner_learning_rate": inner_learning_rate,
                "warm_start": warm_start,
                "batch_size": batch_size,
                "n_init": n_init,
                "n_folds": n_folds,
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
