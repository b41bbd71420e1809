"""The methods of the family sphere. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input
from umbel_client.progress import Progress

R = TypeVar("R")


class SphereMethods(Generic[R]):
    """The methods of the family sphere; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def bvmf(
        self,
        *,
        features: Input,
        feature_names: Input | None = None,
        names: Input | None = None,
        n_clusters: int = 8,
        weights: Literal["dirichlet", "stick-breaking"] = "dirichlet",
        inference: Literal[
            "variational-sampling", "variational-bounding", "gibbs"
        ] = "variational-sampling",
        kappa: Literal["shared", "own"] = "own",
        empirical_bayes: bool = True,
        alpha: float = 1.0,
        c0: float = 1.0,
        kappa_median: float = 100.0,
        kappa_sigma: float = 1.0,
        max_kappa: float = 1000000.0,
        burn_in: int = 300,
        n_samples: int = 200,
        held_out: float = 0.0,
        level: float = 0.95,
        n_init: int = 5,
        max_iter: int = 200,
        tol: float = 0.0001,
        batch_size: int | None = None,
        delay: float = 10.0,
        forgetting: float = 0.7,
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
        """Bayesian mixture of von Mises-Fisher distributions: clusters of directions that share
        strength.

        Leaves: tree, model, logits.

        Source: Von Mises-Fisher Clustering Models (2014, ICML).

        features : One row of length 1 per point. Sparse matrices are accepted.
        feature_names : optional. One name per column; clusters are named by their most
            distinctive features.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters; with weights 'stick-breaking' the largest number.
        weights : Prior of the clusters' weights: 'dirichlet' for 'n_clusters' clusters, or
            'stick-breaking', a Dirichlet process that infers their number.
        inference : How the posterior is computed: 'variational-sampling' with the exact
            distribution of each concentration given the rest, 'variational-bounding' with a
            log-normal one and a bound, 'gibbs' by collapsed Gibbs sampling.
        kappa : Whether all clusters share one concentration or have their own. Own ones make
            rows likelier; a shared one recovers known classes better on most data sets tried.
            With 'shared', 'kappa_sigma' is not estimated.
        empirical_bayes : Whether the priors are estimated; 'alpha' and 'kappa_sigma' are the
            starting values.
        alpha : Parameter of the weights' prior: each cluster's in the Dirichlet distribution,
            or the process's concentration; larger values give more clusters.
        c0 : Concentration of the clusters' means around the direction of all rows; used without
            'empirical_bayes'.
        kappa_median : Median of the log-normal prior of the concentrations; used without
            'empirical_bayes'.
        kappa_sigma : Standard deviation of the logarithm of a concentration.
        max_kappa : Largest concentration of a cluster.
        burn_in : Sweeps of Gibbs sampling that are discarded at the start.
        n_samples : Sweeps of Gibbs sampling that are kept.
        held_out : Share of the rows kept out of the fit, to measure likelihood on and to set
            the threshold between in-sample and out-of-sample rows.
        level : Share of rows like the fitted ones that count as in-sample.
        n_init : Number of runs from different seeds; the highest bound is kept or, of Gibbs
            chains, the highest mean joint density.
        max_iter : Largest number of iterations of a run.
        tol : A run ends when the lower bound rises by no more than this for each row.
        batch_size : Approximate number of rows in a batch, for data larger than memory: the
            parameters are updated after each batch; 1,000 to 10,000 work well. 'max_iter' then
            counts passes over the rows, without the last one that measures. Default: each
            update uses all rows.
        delay : With 'batch_size': the step of batch t = 0, 1, ... is (delay + t)^-forgetting;
            the larger the delay, the less the first batches count.
        forgetting : With 'batch_size': the smaller, the sooner earlier batches are forgotten.
        device : Where passes over the rows are computed: on the processor or, for dense rows,
            on a GPU.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "bvmf",
            features=features,
            feature_names=feature_names,
            names=names,
            params={
                "n_clusters": n_clusters,
                "weights": weights,
                "inference": inference,
                "kappa": kappa,
                "empirical_bayes": empirical_bayes,
                "alpha": alpha,
                "c0": c0,
                "kappa_median": kappa_median,
                "kappa_sigma": kappa_sigma,
                "max_kappa": max_kappa,
                "burn_in": burn_in,
                "n_samples": n_samples,
                "held_out": held_out,
                "level": level,
                "n_init": n_init,
                "max_iter": max_iter,
                "tol": tol,
                "batch_size": batch_size,
                "delay": delay,
                "forgetting": forgetting,
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

    def hvmf(
        self,
        *,
        features: Input,
        hierarchy: Input | None = None,
        feature_names: Input | None = None,
        names: Input | None = None,
        height: int = 2,
        branching: int = 3,
        inference: Literal["variational-sampling", "variational-bounding"] = "variational-sampling",
        empirical_bayes: bool = True,
        alpha: float = 1.0,
        c0: float = 1.0,
        kappa_median: float = 100.0,
        kappa_sigma: float = 1.0,
        max_kappa: float = 1000000.0,
        held_out: float = 0.0,
        level: float = 0.95,
        n_init: int = 5,
        max_iter: int = 200,
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
        """Hierarchical mixture of von Mises-Fisher distributions: clusters at the leaves of a
        hierarchy.

        Leaves: tree, model, logits.

        Source: Von Mises-Fisher Clustering Models (2014, ICML).

        features : One row of length 1 per point. Sparse matrices are accepted.
        hierarchy : optional. A tree whose leaves are the clusters, in place of 'height' and
            'branching'. Its points, if any, are ignored.
        feature_names : optional. One name per column; nodes are named by their most distinctive
            features.
        names : optional. One name per leaf, from left to right; among siblings that 'height'
            and 'branching' describe, the largest comes first.
        height : Edges from the root to each leaf. Ignored where a hierarchy is given.
        branching : Children of each node that is not a leaf. Ignored where a hierarchy is
            given.
        inference : How the posterior is computed: 'variational-sampling' with the exact
            distribution of each concentration given the rest, 'variational-bounding' with a
            log-normal one and a bound.
        empirical_bayes : Whether the priors of weights and concentrations are estimated;
            'alpha' and 'kappa_sigma' are the starting values.
        alpha : Dirichlet prior of the leaves' weights.
        c0 : Concentration of the root's mean around the direction of all rows.
        kappa_median : Median of the log-normal prior of the concentrations; used without
            'empirical_bayes'.
        kappa_sigma : Standard deviation of the logarithm of a concentration.
        max_kappa : Largest concentration of a cluster.
        held_out : Share of the rows kept out of the fit, to measure likelihood on and to set
            the threshold between in-sample and out-of-sample rows.
        level : Share of rows like the fitted ones that count as in-sample.
        n_init : Number of runs from different seeds; the one with the highest bound is kept.
        max_iter : Largest number of iterations of a run.
        tol : A run ends when the lower bound rises by no more than this for each row.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "hvmf",
            features=features,
            hierarchy=hierarchy,
            feature_names=feature_names,
            names=names,
            params={
                "height": height,
                "branching": branching,
                "inference": inference,
                "empirical_bayes": empirical_bayes,
                "alpha": alpha,
                "c0": c0,
                "kappa_median": kappa_median,
                "kappa_sigma": kappa_sigma,
                "max_kappa": max_kappa,
                "held_out": held_out,
                "level": level,
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

    def tvmf(
        self,
        *,
        features: Input,
        timestamps: Input,
        feature_names: Input | None = None,
        names: Input | None = None,
        n_clusters: int = 8,
        n_periods: int | None = None,
        c0: float | Literal["auto"] | None = None,
        inference: Literal["variational-sampling", "variational-bounding"] = "variational-sampling",
        empirical_bayes: bool = True,
        first_c0: float = 1.0,
        weight_sd: float = 0.3,
        kappa_median: float = 100.0,
        kappa_sigma: float = 1.0,
        max_kappa: float = 1000000.0,
        held_out: float = 0.0,
        level: float = 0.95,
        n_init: int = 5,
        max_iter: int = 200,
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
        """Temporal mixture of von Mises-Fisher distributions: clusters whose means move and
        weights change.

        Leaves: tree, model, logits.

        Source: Von Mises-Fisher Clustering Models (2014, ICML).

        features : One row of length 1 per point. Sparse matrices are accepted.
        timestamps : One stamp per row, in any order: integers, numbers, or times of ISO 8601.
            New rows without stamps belong to the period after the last.
        feature_names : optional. One name per column; clusters are named by their most
            distinctive features.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters.
        n_periods : Number of equal bins that time is cut into. Default: each distinct time
            stamp is a period.
        c0 : Concentration of a cluster's mean around that of the period before: the larger, the
            slower clusters move. Default: means turn by about 15 degrees a period; auto: it is
            estimated from the rows.
        inference : How the posterior is computed: 'variational-sampling' with the exact
            distribution of each concentration given the rest, 'variational-bounding' with a
            log-normal one and a bound.
        empirical_bayes : Whether the other priors are estimated; 'weight_sd' and 'kappa_sigma'
            are the starting values.
        first_c0 : Concentration of the clusters' means in the first period around the direction
            of all rows; used without 'empirical_bayes'.
        weight_sd : Standard deviation of the change of a cluster's log weight in a period.
        kappa_median : Median of the log-normal prior of the concentrations; used without
            'empirical_bayes'.
        kappa_sigma : Standard deviation of the logarithm of a concentration.
        max_kappa : Largest concentration of a cluster.
        held_out : Share of the rows kept out of the fit, to measure likelihood on and to set
            the threshold between in-sample and out-of-sample rows.
        level : Share of rows like the fitted ones that count as in-sample.
        n_init : Number of runs from different seeds; the one with the highest bound is kept.
        max_iter : Largest number of iterations of a run.
        tol : A run ends when the lower bound rises by no more than this for each row.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "tvmf",
            features=features,
            timestamps=timestamps,
            feature_names=feature_names,
            names=names,
            params={
                "n_clusters": n_clusters,
                "n_periods": n_periods,
                "c0": c0,
                "inference": inference,
                "empirical_bayes": empirical_bayes,
                "first_c0": first_c0,
                "weight_sd": weight_sd,
                "kappa_median": kappa_median,
                "kappa_sigma": kappa_sigma,
                "max_kappa": max_kappa,
                "held_out": held_out,
                "level": level,
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

    def vmf(
        self,
        *,
        features: Input,
        feature_names: Input | None = None,
        names: Input | None = None,
        n_clusters: int = 8,
        choose: Literal["bic", "held-out"] | None = None,
        min_clusters: int = 2,
        max_clusters: int = 20,
        assignment: Literal["soft", "hard"] = "soft",
        kappa: Literal["shared", "own"] = "shared",
        max_kappa: float = 1000000.0,
        held_out: float = 0.0,
        level: float = 0.95,
        n_init: int = 5,
        max_iter: int = 200,
        tol: float = 0.0001,
        batch_size: int | None = None,
        delay: float = 10.0,
        forgetting: float = 0.7,
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
        """Mixture of von Mises-Fisher distributions: clusters of directions, by EM.

        Leaves: tree, model, logits.

        Source: Clustering on the Unit Hypersphere using von Mises-Fisher Distributions (2005,
        Journal of Machine Learning Research 6).

        features : One row of length 1 per point. Sparse matrices are accepted.
        feature_names : optional. One name per column; clusters are named by their most
            distinctive features.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters. Ignored where 'choose' says how to choose it.
        choose : Choose the number of clusters between 'min_clusters' and 'max_clusters': the
            lowest 'bic', or the highest mean log-likelihood of rows 'held-out'.
        min_clusters : The fewest clusters that 'choose' tries.
        max_clusters : The most clusters that 'choose' tries.
        assignment : How EM assigns a row: 'soft' by its posterior, 'hard' to its likeliest
            cluster alone; hard with a 'shared' kappa is spherical k-means.
        kappa : Whether all clusters share one concentration or have their own.
        max_kappa : Largest concentration of a cluster.
        held_out : Share of the rows kept out of the fit, to measure likelihood on and to set
            the threshold between in-sample and out-of-sample rows.
        level : Share of rows like the fitted ones that count as in-sample.
        n_init : Number of runs from different seeds; the best run is kept.
        max_iter : Largest number of iterations of a run.
        tol : A run ends when the mean log-likelihood of a row rises by no more than this.
        batch_size : Approximate number of rows in a batch, for data larger than memory: the
            parameters are updated after each batch; 1,000 to 10,000 work well. 'max_iter' then
            counts passes over the rows, without the last one that measures. Default: each
            update uses all rows.
        delay : With 'batch_size': the step of batch t = 0, 1, ... is (delay + t)^-forgetting;
            the larger the delay, the less the first batches count.
        forgetting : With 'batch_size': the smaller, the sooner earlier batches are forgotten.
        device : Where passes over the rows are computed: on the processor or, for dense rows,
            on a GPU.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "vmf",
            features=features,
            feature_names=feature_names,
            names=names,
            params={
                "n_clusters": n_clusters,
                "choose": choose,
                "min_clusters": min_clusters,
                "max_clusters": max_clusters,
                "assignment": assignment,
                "kappa": kappa,
                "max_kappa": max_kappa,
                "held_out": held_out,
                "level": level,
                "n_init": n_init,
                "max_iter": max_iter,
                "tol": tol,
                "batch_size": batch_size,
                "delay": delay,
                "forgetting": forgetting,
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
