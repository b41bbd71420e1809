"""The methods of the family margins. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input
from umbel_client.progress import Progress

R = TypeVar("R")


class MarginsMethods(Generic[R]):
    """The methods of the family margins; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def hmmc(
        self,
        *,
        features: Input,
        feature_names: Input | None = None,
        names: Input | None = None,
        alpha: float = 1.0,
        min_balance: float = 0.9,
        max_balance: float = 1.1,
        balance: Literal["fixed", "auto"] = "fixed",
        intercept: bool = True,
        n_init: int = 12,
        gaps: bool = False,
        n_swaps: int = 6,
        max_iter: int = 1000,
        tol: float = 0.0001,
        seed: int = 0,
        regularizer: Literal[
            "group+exclusive", "group", "exclusive", "l1", "l2"
        ] = "group+exclusive",
        beta: float = 1.0,
        branching: int = 2,
        max_leaves: int = 64,
        min_size: int = 2,
        max_depth: int | None = None,
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
        """Hierarchical maximum-margin clustering (HMMC): a tree grown from the root, each node
        split with large margins, by features that the split's clusters share and its ancestors
        do not use.

        Leaves: tree, model.

        Source: Hierarchical Maximum-Margin Clustering (2015, sections 3 and 4).

        features : One row per point.
        feature_names : optional. One name per column; splits are explained by them.
        names : optional. One name per point. A leaf of several points is named after the first
            three of them.
        alpha : Weight of the group sparsity, or of the plain l1 or l2 regularizer.
        min_balance : Smallest size of a cluster, relative to equal sizes; rounded down, at
            least one point. Lower it for well separated groups of uneven size; for others, the
            widest margin may then cut off only a few points.
        max_balance : Largest size of a cluster, relative to equal sizes; rounded up.
        balance : 'fixed': sizes lie within `min_balance` and `max_balance`. 'auto': each node
            is also split within 0.5 to 1.5 and within 0.2 to 1.8 times equal sizes, and the
            split with the highest splitting score is kept; three times the time.
        intercept : Whether scores have an intercept, which is not regularized; without one, as
            in the paper, the features should be centred.
        n_init : Number of starts of each split: one from k-means, one from spectral clustering,
            one along a random direction, the fourth in the widest gaps of random directions,
            the others along further directions; the result with the lowest objective is kept.
        gaps : Whether the fourth start is in the widest gaps of single features, before that in
            random directions, if the regularizer selects features. Some objectives then fall by
            far; but a gap in one feature, such as values that are exactly 0, may tell less of
            the points than all features together.
        n_swaps : The best start goes on with 30 % of its points in other clusters, and so on
            from the best result, until this many attempts in turn are vain; 0 for none.
        max_iter : Largest number of alternations between weights and clusters of a start.
        tol : A start ends when no point changes its cluster and the least subgradient of the
            weights is at most this fraction of the gradient at zero weights.
        seed : Seed of the random generator.
        regularizer : 'group+exclusive' (HMMC), 'group' (HMMC-G), 'exclusive' (HMMC-E), 'l1'
            (HMMC-1) or 'l2' (HMMC-2).
        beta : Weight of the exclusive sparsity, if the regularizer has one.
        branching : Number of clusters that a node is split into.
        max_leaves : Largest number of leaves of the tree.
        min_size : Leaves with fewer points are not split.
        max_depth : Leaves this many splits below the root are not split.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "hmmc",
            features=features,
            feature_names=feature_names,
            names=names,
            params={
                "alpha": alpha,
                "min_balance": min_balance,
                "max_balance": max_balance,
                "balance": balance,
                "intercept": intercept,
                "n_init": n_init,
                "gaps": gaps,
                "n_swaps": n_swaps,
                "max_iter": max_iter,
                "tol": tol,
                "seed": seed,
                "regularizer": regularizer,
                "beta": beta,
                "branching": branching,
                "max_leaves": max_leaves,
                "min_size": min_size,
                "max_depth": max_depth,
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

    def mmc(
        self,
        *,
        features: Input,
        feature_names: Input | None = None,
        names: Input | None = None,
        alpha: float = 1.0,
        min_balance: float = 0.9,
        max_balance: float = 1.1,
        balance: Literal["fixed", "auto"] = "fixed",
        intercept: bool = True,
        n_init: int = 12,
        gaps: bool = False,
        n_swaps: int = 6,
        max_iter: int = 1000,
        tol: float = 0.0001,
        seed: int = 0,
        n_clusters: int = 8,
        regularizer: Literal["l2", "l1", "group"] = "l2",
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
        """Maximum-margin clustering (MMC): a partition into clusters of bounded size with large
        margins.

        Leaves: tree, model, logits.

        Source: Maximum Margin Clustering (2004, NIPS).

        features : One row per point.
        feature_names : optional. One name per column; clusters are explained by them.
        names : optional. One name per cluster, from the largest to the smallest.
        alpha : Weight of the group sparsity, or of the plain l1 or l2 regularizer.
        min_balance : Smallest size of a cluster, relative to equal sizes; rounded down, at
            least one point. Lower it for well separated groups of uneven size; for others, the
            widest margin may then cut off only a few points.
        max_balance : Largest size of a cluster, relative to equal sizes; rounded up.
        balance : 'fixed': sizes lie within `min_balance` and `max_balance`. 'auto': each node
            is also split within 0.5 to 1.5 and within 0.2 to 1.8 times equal sizes, and the
            split with the highest splitting score is kept; three times the time.
        intercept : Whether scores have an intercept, which is not regularized; without one, as
            in the paper, the features should be centred.
        n_init : Number of starts of each split: one from k-means, one from spectral clustering,
            one along a random direction, the fourth in the widest gaps of random directions,
            the others along further directions; the result with the lowest objective is kept.
        gaps : Whether the fourth start is in the widest gaps of single features, before that in
            random directions, if the regularizer selects features. Some objectives then fall by
            far; but a gap in one feature, such as values that are exactly 0, may tell less of
            the points than all features together.
        n_swaps : The best start goes on with 30 % of its points in other clusters, and so on
            from the best result, until this many attempts in turn are vain; 0 for none.
        max_iter : Largest number of alternations between weights and clusters of a start.
        tol : A start ends when no point changes its cluster and the least subgradient of the
            weights is at most this fraction of the gradient at zero weights.
        seed : Seed of the random generator.
        n_clusters : Number of clusters.
        regularizer : The term weighted by alpha: the squared 'l2' or the 'l1' norm of the
            weights, or their 'group' sparsity, which selects features for all clusters.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "mmc",
            features=features,
            feature_names=feature_names,
            names=names,
            params={
                "alpha": alpha,
                "min_balance": min_balance,
                "max_balance": max_balance,
                "balance": balance,
                "intercept": intercept,
                "n_init": n_init,
                "gaps": gaps,
                "n_swaps": n_swaps,
                "max_iter": max_iter,
                "tol": tol,
                "seed": seed,
                "n_clusters": n_clusters,
                "regularizer": regularizer,
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
