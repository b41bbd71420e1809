"""The methods of the family labelled. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input
from umbel_client.progress import Progress

R = TypeVar("R")


class LabelledMethods(Generic[R]):
    """The methods of the family labelled; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def bp(
        self,
        *,
        features: Input,
        labels: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        names: Input | None = None,
        feature_names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        may_join: bool = False,
        clusterer: Literal["gmm"] = "gmm",
        n_init: int = 50,
        n_components: int | Literal["auto"] | None = "auto",
        seed: int = 0,
        shrinkage: float = 1.0,
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
        """A Bayesian mixture whose known and new clusters have one covariance, which known rows
        show.

        Leaves: tree, model, logits, transformation. At least one of labels, must_link must be
        given.

        Source: Large-scale Structured Learning (2014, section 6.6.1).

        features : One row per point. Sparse matrices are accepted.
        labels : optional. The known cluster of each row; null or -1 where it is not known.
        must_link : optional. Pairs of rows of one cluster, by their numbers from 0: rows that
            are linked are one known cluster, together with the rows of their labels.
        cannot_link : optional. Pairs of rows of different clusters: each row, with all that it
            is linked to, is a separate known cluster.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        feature_names : optional. One name per column, for the features that the transformation
            stretches.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of new clusters between 'min_clusters' and 'max_clusters':
            the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        may_join : Whether rows that are not labelled may also belong to known clusters. False:
            all of them belong to new ones.
        clusterer : The mixture is one of Gaussians, whose covariance is learned with it.
        n_init : Number of runs of the mixture from different seeds; the likeliest is kept.
        n_components : Number of columns that rows are cut to by SVD before all else. 'auto': 30
            where there are more than 200; null: never.
        seed : Seed of the random generator.
        shrinkage : Weight of the prior by which the common covariance is drawn to a multiple of
            the identity, in rows for each column.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "bp",
            features=features,
            labels=labels,
            must_link=must_link,
            cannot_link=cannot_link,
            names=names,
            feature_names=feature_names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "may_join": may_join,
                "clusterer": clusterer,
                "n_init": n_init,
                "n_components": n_components,
                "seed": seed,
                "shrinkage": shrinkage,
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

    def fda(
        self,
        *,
        features: Input,
        labels: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        names: Input | None = None,
        feature_names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        may_join: bool = False,
        clusterer: Literal["gmm", "vmf"] = "gmm",
        n_init: int = 50,
        n_components: int | Literal["auto"] | None = "auto",
        seed: int = 0,
        gamma: float = 1.0,
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
        """Fisher discriminants: the directions in which known clusters differ most for their
        spread.

        Leaves: tree, model, logits, transformation. At least one of labels, must_link must be
        given.

        Source: The Use of Multiple Measurements in Taxonomic Problems (1936).

        features : One row per point. Sparse matrices are accepted.
        labels : optional. The known cluster of each row; null or -1 where it is not known.
        must_link : optional. Pairs of rows of one cluster, by their numbers from 0: rows that
            are linked are one known cluster, together with the rows of their labels.
        cannot_link : optional. Pairs of rows of different clusters: each row, with all that it
            is linked to, is a separate known cluster.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        feature_names : optional. One name per column, for the features that the transformation
            stretches.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of new clusters between 'min_clusters' and 'max_clusters':
            the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        may_join : Whether rows that are not labelled may also belong to known clusters. False:
            all of them belong to new ones.
        clusterer : How transformed rows are clustered: a mixture of Gaussians ('gmm') or of von
            Mises-Fisher distributions of their directions ('vmf'), with one spread for all
            clusters.
        n_init : Number of runs of the mixture from different seeds; the likeliest is kept.
        n_components : Number of columns that rows are cut to by SVD before all else. 'auto': 30
            where there are more than 200; null: never.
        seed : Seed of the random generator.
        gamma : Added to the variances within clusters, summed over rows.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "fda",
            features=features,
            labels=labels,
            must_link=must_link,
            cannot_link=cannot_link,
            names=names,
            feature_names=feature_names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "may_join": may_join,
                "clusterer": clusterer,
                "n_init": n_init,
                "n_components": n_components,
                "seed": seed,
                "gamma": gamma,
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

    def lmnn(
        self,
        *,
        features: Input,
        labels: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        names: Input | None = None,
        feature_names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        may_join: bool = False,
        clusterer: Literal["gmm", "vmf"] = "gmm",
        n_init: int = 50,
        n_components: int | Literal["auto"] | None = "auto",
        seed: int = 0,
        n_neighbors: int = 50,
        mu: float = 0.5,
        tol: float = 0.001,
        max_iter: int = 1000,
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
        """Large margin nearest neighbours: known rows near their neighbours, other clusters' rows
        far.

        Leaves: tree, model, logits, transformation. At least one of labels, must_link must be
        given.

        Source: Distance Metric Learning for Large Margin Nearest Neighbor Classification (2009,
        JMLR).

        features : One row per point. Sparse matrices are accepted.
        labels : optional. The known cluster of each row; null or -1 where it is not known.
        must_link : optional. Pairs of rows of one cluster, by their numbers from 0: rows that
            are linked are one known cluster, together with the rows of their labels.
        cannot_link : optional. Pairs of rows of different clusters: each row, with all that it
            is linked to, is a separate known cluster.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        feature_names : optional. One name per column, for the features that the transformation
            stretches.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of new clusters between 'min_clusters' and 'max_clusters':
            the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        may_join : Whether rows that are not labelled may also belong to known clusters. False:
            all of them belong to new ones.
        clusterer : How transformed rows are clustered: a mixture of Gaussians ('gmm') or of von
            Mises-Fisher distributions of their directions ('vmf'), with one spread for all
            clusters.
        n_init : Number of runs of the mixture from different seeds; the likeliest is kept.
        n_components : Number of columns that rows are cut to by SVD before all else. 'auto': 30
            where there are more than 200; null: never.
        seed : Seed of the random generator.
        n_neighbors : Number of target neighbours of a known row, at most the other rows of its
            cluster.
        mu : Weight of rows of other clusters that are too near; that of the distances to target
            neighbours is 1 - mu.
        tol : Learning ends when the objective can fall by this share at most.
        max_iter : Largest number of iterations of a run.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "lmnn",
            features=features,
            labels=labels,
            must_link=must_link,
            cannot_link=cannot_link,
            names=names,
            feature_names=feature_names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "may_join": may_join,
                "clusterer": clusterer,
                "n_init": n_init,
                "n_components": n_components,
                "seed": seed,
                "n_neighbors": n_neighbors,
                "mu": mu,
                "tol": tol,
                "max_iter": max_iter,
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

    def pcc(
        self,
        *,
        features: Input,
        labels: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        names: Input | None = None,
        feature_names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        may_join: bool = False,
        clusterer: Literal["gmm", "vmf"] = "gmm",
        n_init: int = 50,
        n_components: int | Literal["auto"] | None = "auto",
        seed: int = 0,
        cross_weight: float = 1.0,
        floor: float = 0.001,
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
        """Probabilistic clustering with constraints: one metric that draws known clusters' rows
        together.

        Leaves: tree, model, logits, transformation. At least one of labels, must_link must be
        given.

        Source: Integrating Constraints and Metric Learning in Semi-supervised Clustering (2004,
        ICML).

        features : One row per point. Sparse matrices are accepted.
        labels : optional. The known cluster of each row; null or -1 where it is not known.
        must_link : optional. Pairs of rows of one cluster, by their numbers from 0: rows that
            are linked are one known cluster, together with the rows of their labels.
        cannot_link : optional. Pairs of rows of different clusters: each row, with all that it
            is linked to, is a separate known cluster.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        feature_names : optional. One name per column, for the features that the transformation
            stretches.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of new clusters between 'min_clusters' and 'max_clusters':
            the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        may_join : Whether rows that are not labelled may also belong to known clusters. False:
            all of them belong to new ones.
        clusterer : How transformed rows are clustered: a mixture of Gaussians ('gmm') or of von
            Mises-Fisher distributions of their directions ('vmf'), with one spread for all
            clusters.
        n_init : Number of runs of the mixture from different seeds; the likeliest is kept.
        n_components : Number of columns that rows are cut to by SVD before all else. 'auto': 30
            where there are more than 200; null: never.
        seed : Seed of the random generator.
        cross_weight : Weight of pairs of rows of different known clusters.
        floor : The least eigenvalue that M may have, in mean variances of a column; a multiple
            of the identity raises M to it.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "pcc",
            features=features,
            labels=labels,
            must_link=must_link,
            cannot_link=cannot_link,
            names=names,
            feature_names=feature_names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "may_join": may_join,
                "clusterer": clusterer,
                "n_init": n_init,
                "n_components": n_components,
                "seed": seed,
                "cross_weight": cross_weight,
                "floor": floor,
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

    def tcs(
        self,
        *,
        features: Input,
        labels: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        names: Input | None = None,
        feature_names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        may_join: bool = False,
        clusterer: Literal["gmm", "vmf"] = "gmm",
        n_init: int = 50,
        n_components: int | Literal["auto"] | None = "auto",
        seed: int = 0,
        density: Literal["gaussian", "vmf", "gamma"] = "gaussian",
        kappa: float = 10.0,
        regularizer: Literal["auto", "identity", "l2", "nuclear", "logdet", "l1"] = "auto",
        gamma: float | Literal["auto"] = "auto",
        form: Literal["full", "diagonal", "low-rank"] = "full",
        rank: int | None = None,
        covariance: Literal["auto", "spherical", "tied", "full"] = "auto",
        use_unlabeled: bool = False,
        unlabeled_weight: float = 0.5,
        tol: float = 1e-06,
        max_iter: int = 2000,
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
        """The transformation under which a mixture tells the known clusters best; then new ones
        are found.

        Leaves: tree, model, logits, transformation. At least one of labels, must_link must be
        given.

        Source: Transformation-based Clustering with Supervision (2014, UAI).

        features : One row per point. Sparse matrices are accepted.
        labels : optional. The known cluster of each row; null or -1 where it is not known.
        must_link : optional. Pairs of rows of one cluster, by their numbers from 0: rows that
            are linked are one known cluster, together with the rows of their labels.
        cannot_link : optional. Pairs of rows of different clusters: each row, with all that it
            is linked to, is a separate known cluster.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        feature_names : optional. One name per column, for the features that the transformation
            stretches.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of new clusters between 'min_clusters' and 'max_clusters':
            the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        may_join : Whether rows that are not labelled may also belong to known clusters. False:
            all of them belong to new ones.
        clusterer : How transformed rows are clustered: a mixture of Gaussians ('gmm') or of von
            Mises-Fisher distributions of their directions ('vmf'), with one spread for all
            clusters.
        n_init : Number of runs of the mixture from different seeds; the likeliest is kept.
        n_components : Number of columns that rows are cut to by SVD before all else. 'auto': 30
            where there are more than 200; null: never.
        seed : Seed of the random generator.
        density : What a cluster's transformed rows follow: a Gaussian; a von Mises-Fisher
            distribution of directions ('vmf', by which they are clustered then); or a gamma
            distribution of each column ('gamma', for features above 0; logarithms are
            clustered).
        kappa : With density 'vmf': the concentration of each known cluster's directions.
        regularizer : What holds the transformation's square A: its distance from the identity
            or from 0 ('l2'), its trace ('nuclear'), trace - log det, or the entries of |A - I|
            ('l1'). 'auto': by validation on known clusters, or nothing; with four to six by
            agreement, with fewer nothing; with another density than 'gaussian' the identity.
        gamma : Weight of the regularizer against the sum of log-likelihoods of known rows.
            'auto': chosen with the regularizer.
        form : Whether the transformation mixes columns ('full'), stretches each by itself
            ('diagonal') or mixes them to 'rank' columns ('low-rank').
        rank : Number of columns of form 'low-rank'.
        covariance : Shape of the clusters of transformed rows: one spread for all
            ('spherical'), one covariance for all ('tied') or for each ('full'). 'auto': as the
            regularizer, with fewer than four known clusters one spread. Clusters of directions
            always have one spread.
        use_unlabeled : Whether to learn from rows without a label as well, clustered and
            learned from by turns.
        unlabeled_weight : With 'use_unlabeled': the weight of an unlabelled row's log-
            likelihood after the last rise; a known row's is 1.
        tol : Learning ends when the objective can fall by this share at most.
        max_iter : Largest number of iterations of a run.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "tcs",
            features=features,
            labels=labels,
            must_link=must_link,
            cannot_link=cannot_link,
            names=names,
            feature_names=feature_names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "may_join": may_join,
                "clusterer": clusterer,
                "n_init": n_init,
                "n_components": n_components,
                "seed": seed,
                "density": density,
                "kappa": kappa,
                "regularizer": regularizer,
                "gamma": gamma,
                "form": form,
                "rank": rank,
                "covariance": covariance,
                "use_unlabeled": use_unlabeled,
                "unlabeled_weight": unlabeled_weight,
                "tol": tol,
                "max_iter": max_iter,
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

    def tcs_cs(
        self,
        *,
        features: Input,
        labels: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        names: Input | None = None,
        feature_names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        may_join: bool = False,
        clusterer: Literal["gmm", "vmf"] = "gmm",
        n_init: int = 50,
        n_components: int | Literal["auto"] | None = "auto",
        seed: int = 0,
        gamma: float | Literal["auto"] = "auto",
        solver: Literal["dual", "clarabel", "scs"] = "dual",
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
        """Known clusters made separable: the least change of distances that does it; then new ones
        are found.

        Leaves: tree, model, logits, transformation. At least one of labels, must_link must be
        given.

        Source: Large-scale Structured Learning (2014, section 6.5).

        features : One row per point. Sparse matrices are accepted.
        labels : optional. The known cluster of each row; null or -1 where it is not known.
        must_link : optional. Pairs of rows of one cluster, by their numbers from 0: rows that
            are linked are one known cluster, together with the rows of their labels.
        cannot_link : optional. Pairs of rows of different clusters: each row, with all that it
            is linked to, is a separate known cluster.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        feature_names : optional. One name per column, for the features that the transformation
            stretches.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of new clusters between 'min_clusters' and 'max_clusters':
            the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        may_join : Whether rows that are not labelled may also belong to known clusters. False:
            all of them belong to new ones.
        clusterer : How transformed rows are clustered: a mixture of Gaussians ('gmm') or of von
            Mises-Fisher distributions of their directions ('vmf'), with one spread for all
            clusters.
        n_init : Number of runs of the mixture from different seeds; the likeliest is kept.
        n_components : Number of columns that rows are cut to by SVD before all else. 'auto': 30
            where there are more than 200; null: never.
        seed : Seed of the random generator.
        gamma : How separable known clusters must be: the least squared distance of two means,
            in multiples of the sum of both clusters' variances over columns. 'auto': chosen by
            validation on known clusters, doing nothing included.
        solver : What finds the transformation: quasi-Newton steps on the dual ('dual', the
            quickest), an interior-point method ('clarabel', precise, slow above some 50
            columns), or operator splitting ('scs').
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "tcs-cs",
            features=features,
            labels=labels,
            must_link=must_link,
            cannot_link=cannot_link,
            names=names,
            feature_names=feature_names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "may_join": may_join,
                "clusterer": clusterer,
                "n_init": n_init,
                "n_components": n_components,
                "seed": seed,
                "gamma": gamma,
                "solver": solver,
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

    def tcs_fs(
        self,
        *,
        features: Input,
        labels: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        names: Input | None = None,
        feature_names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        may_join: bool = False,
        clusterer: Literal["gmm", "vmf"] = "gmm",
        n_init: int = 50,
        n_components: int | Literal["auto"] | None = "auto",
        seed: int = 0,
        gamma: float = 1.0,
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
        """Directions in which every two known clusters are apart: Fisher discriminants of pairs.

        Leaves: tree, model, logits, transformation. At least one of labels, must_link must be
        given.

        Source: Large-scale Structured Learning (2014, appendix D).

        features : One row per point. Sparse matrices are accepted.
        labels : optional. The known cluster of each row; null or -1 where it is not known.
        must_link : optional. Pairs of rows of one cluster, by their numbers from 0: rows that
            are linked are one known cluster, together with the rows of their labels.
        cannot_link : optional. Pairs of rows of different clusters: each row, with all that it
            is linked to, is a separate known cluster.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        feature_names : optional. One name per column, for the features that the transformation
            stretches.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of new clusters between 'min_clusters' and 'max_clusters':
            the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        may_join : Whether rows that are not labelled may also belong to known clusters. False:
            all of them belong to new ones.
        clusterer : How transformed rows are clustered: a mixture of Gaussians ('gmm') or of von
            Mises-Fisher distributions of their directions ('vmf'), with one spread for all
            clusters.
        n_init : Number of runs of the mixture from different seeds; the likeliest is kept.
        n_components : Number of columns that rows are cut to by SVD before all else. 'auto': 30
            where there are more than 200; null: never.
        seed : Seed of the random generator.
        gamma : Added to the variances within clusters, summed over rows.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "tcs-fs",
            features=features,
            labels=labels,
            must_link=must_link,
            cannot_link=cannot_link,
            names=names,
            feature_names=feature_names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "may_join": may_join,
                "clusterer": clusterer,
                "n_init": n_init,
                "n_components": n_components,
                "seed": seed,
                "gamma": gamma,
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

    def tcs_mm(
        self,
        *,
        features: Input,
        labels: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        names: Input | None = None,
        feature_names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "silhouette"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        may_join: bool = False,
        clusterer: Literal["gmm", "vmf"] = "gmm",
        n_init: int = 50,
        n_components: int | Literal["auto"] | None = "auto",
        seed: int = 0,
        gamma: float | Literal["auto"] = "auto",
        n_searches: int = 10,
        tol: float = 0.001,
        max_iter: int = 100,
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
        """Known clusters a better clustering than all others, by a margin; then new ones are
        found.

        Leaves: tree, model, logits, transformation. At least one of labels, must_link must be
        given.

        Source: Large-scale Structured Learning (2014, section 7.3.2).

        features : One row per point. Sparse matrices are accepted.
        labels : optional. The known cluster of each row; null or -1 where it is not known.
        must_link : optional. Pairs of rows of one cluster, by their numbers from 0: rows that
            are linked are one known cluster, together with the rows of their labels.
        cannot_link : optional. Pairs of rows of different clusters: each row, with all that it
            is linked to, is a separate known cluster.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        feature_names : optional. One name per column, for the features that the transformation
            stretches.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of new clusters between 'min_clusters' and 'max_clusters':
            the lowest 'bic' or the highest mean 'silhouette' of the transformed rows.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        may_join : Whether rows that are not labelled may also belong to known clusters. False:
            all of them belong to new ones.
        clusterer : How transformed rows are clustered: a mixture of Gaussians ('gmm') or of von
            Mises-Fisher distributions of their directions ('vmf'), with one spread for all
            clusters.
        n_init : Number of runs of the mixture from different seeds; the likeliest is kept.
        n_components : Number of columns that rows are cut to by SVD before all else. 'auto': 30
            where there are more than 200; null: never.
        seed : Seed of the random generator.
        gamma : Weight of the squared distance of the transformation's square A from the
            identity, against the slack of the margin. 'auto': chosen by validation on known
            clusters, doing nothing included.
        n_searches : Number of runs of k-means that look for a better clustering in each round;
            before the last, five times as many.
        tol : Rounds end when no clustering is found that lacks more than this, in units of the
            loss, which is 1 for a clustering drawn by chance.
        max_iter : Largest number of rounds.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "tcs-mm",
            features=features,
            labels=labels,
            must_link=must_link,
            cannot_link=cannot_link,
            names=names,
            feature_names=feature_names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "may_join": may_join,
                "clusterer": clusterer,
                "n_init": n_init,
                "n_components": n_components,
                "seed": seed,
                "gamma": gamma,
                "n_searches": n_searches,
                "tol": tol,
                "max_iter": max_iter,
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

    def tcs_tree(
        self,
        *,
        features: Input,
        labels: Input,
        hierarchy: Input | None = None,
        names: Input | None = None,
        documents: Input | None = None,
        regularizer: Literal["auto", "identity", "l2"] = "auto",
        gamma: float | Literal["auto"] = "auto",
        tie: float = 10.0,
        novelty: float = 0.6,
        min_size: int = 5,
        max_depth: int | None = None,
        n_components: int | Literal["auto"] | None = "auto",
        new_classes: bool = False,
        answers: Sequence[str] = [],
        tol: float = 0.0001,
        max_iter: int = 2000,
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
        """A partly labelled tree is completed: rows join known leaves, or form new ones and whole
        subtrees.

        Leaves: tree, model.

        Source: Large-scale Structured Learning (2014, section 7.3.1).

        features : One row per point. Sparse matrices are accepted.
        labels : The node of each row, by name or as a path of names; null or -1 where it is not
            known. Rows with the label of an inner node stop there.
        hierarchy : optional. The known tree, or class paths. Without it the labels' paths make
            the tree, or one root over labels without a path.
        names : optional. Where labels are the numbers 0, 1, ...: what they are called.
        documents : optional. A text for each row: clusters are also compared by words.
        regularizer : Whether the topmost metric is held near the identity or near 0 ('l2'),
            which ends directions that tell no children apart. 'auto': by validation.
        gamma : Weight of what holds the metrics against the rows' log-likelihood. 'auto': by
            validation.
        tie : How much more than 'gamma' holds a metric near its parent's.
        novelty : A row may be new where the share of labelled rows near it is below this part
            of that near labelled rows. Larger: more.
        min_size : Fewest rows of a new node.
        max_depth : Most edges from the root to a new node; null: no bound.
        n_components : Number of columns that rows are cut to by SVD before all else. 'auto': 30
            where there are more than 200; null: never.
        new_classes : Place labels outside 'hierarchy' as new classes.
        answers : Answers to an earlier fit's questions: 'ROW under NODE', 'ROW not under NODE',
            'ROW same as ROW'.
        tol : Learning ends when the objective can fall by this share at most.
        max_iter : Largest number of iterations of a run.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "tcs-tree",
            features=features,
            labels=labels,
            hierarchy=hierarchy,
            names=names,
            documents=documents,
            params={
                "regularizer": regularizer,
                "gamma": gamma,
                "tie": tie,
                "novelty": novelty,
                "min_size": min_size,
                "max_depth": max_depth,
                "n_components": n_components,
                "new_classes": new_classes,
                "answers": answers,
                "tol": tol,
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
