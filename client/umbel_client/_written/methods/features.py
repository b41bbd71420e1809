"""The methods of the family features. Written by `make client` from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input, Items
from umbel_client.progress import Progress

R = TypeVar("R")


class FeaturesMethods(Generic[R]):
    """The methods of the family features; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

    def birch(
        self,
        *,
        features: Input,
        names: Input | None = None,
        threshold: float | None = None,
        branching: int = 10,
        max_leaves: int = 5000,
        n_clusters: int | None = None,
        tree: Literal["merged", "inserted"] = "merged",
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
        """BIRCH: points summarized one by one in subclusters, which are merged by ward linkage.

        Leaves: tree, model.

        Source: BIRCH: An Efficient Data Clustering Method for Very Large Databases (1996,
        SIGMOD).

        features : One row per point.
        names : optional. One name per point. A leaf of several points is named after the first
            three of them.
        threshold : Largest radius of a subcluster, in the units of the features. Default: a
            tenth of the points' root mean squared distance from their mean, raised by half
            while there are more than 'max_leaves' subclusters.
        branching : Largest number of subclusters of a node of the tree.
        max_leaves : Largest number of subclusters; with more, the threshold is raised.
        n_clusters : Number of clusters into which the subclusters are grouped by ward linkage;
            the tree is then the clusters with their subclusters. Default: all merges.
        tree : Without 'n_clusters': the subclusters merged by ward linkage, or the nodes into
            which the order of the points put them.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "birch",
            features=features,
            names=names,
            params={
                "threshold": threshold,
                "branching": branching,
                "max_leaves": max_leaves,
                "n_clusters": n_clusters,
                "tree": tree,
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

    def bisecting_kmeans(
        self,
        *,
        features: Input,
        names: Input | None = None,
        n_clusters: int = 8,
        bisecting_strategy: Literal["biggest_inertia", "largest_cluster"] = "biggest_inertia",
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
        """Bisecting k-means: the cluster with the largest inertia, or the largest one, is split in
        two.

        Leaves: tree, model.

        Source: A Comparison of Document Clustering Techniques (2000, KDD Workshop on Text
        Mining).

        features : One row per point.
        names : optional. One name per cluster, from the largest to the smallest.
        n_clusters : Number of clusters.
        bisecting_strategy : Which cluster is split next: 'biggest_inertia' the cluster with the
            largest sum of squared distances to its centre, 'largest_cluster' the cluster with
            the most points.
        n_init : Number of k-means runs at each node; the best run is kept.
        max_iter : Largest number of iterations of a run.
        tol : A run ends when the sum of the centres' squared displacements is below this times
            the mean variance of the features.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "bisecting-kmeans",
            features=features,
            names=names,
            params={
                "n_clusters": n_clusters,
                "bisecting_strategy": bisecting_strategy,
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

    def hac(
        self,
        *,
        features: Input | None = None,
        distances: Input | None = None,
        similarity: Input | None = None,
        items: Items | None = None,
        graph: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        hierarchy: Input | None = None,
        names: Input | None = None,
        sample_weight: Input | None = None,
        linkage: Literal[
            "auto", "average", "single", "complete", "weighted", "ward", "centroid", "median"
        ] = "auto",
        metric: Literal[
            "euclidean",
            "sqeuclidean",
            "cityblock",
            "chebyshev",
            "cosine",
            "correlation",
            "canberra",
            "braycurtis",
            "hamming",
            "jaccard",
            "gower",
        ] = "euclidean",
        connectivity: Literal["none", "knn"] = "none",
        n_neighbors: int = 15,
        epsilon: float = 0.0,
        weights: Mapping[str, Any] | None = None,
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
        """Agglomerative clustering (HAC): a binary tree over points, merging the two closest
        groups.

        Leaves: tree, model. Exactly one of features, distances, similarity, items must be
        given.

        Source: Modern hierarchical, agglomerative clustering algorithms (2011,
        arXiv:1109.2378).

        features : optional. One row per point.
        distances : optional. Square symmetric matrix of distances between points, zero
            diagonal.
        similarity : optional. Square symmetric matrix of similarities between points; a
            distance is the largest value of the matrix minus the similarity.
        items : optional. A table with a row per point, which are compared by Gower's distance:
            numbers and dates by their range, categories and booleans as equal or not, over the
            columns in which both rows have a value; texts are left out.
        graph : optional. Which points are neighbours, of which only groups that an edge joins
            merge: a square matrix, dense or sparse, whose values other than 0 are edges, or
            pairs of points, by their numbers from 0 or, as text, by their names. Sparse
            matrices are accepted.
        must_link : optional. Pairs of points, by number or name, that are one group from the
            start, together with all that other pairs link to them.
        cannot_link : optional. Pairs of points, by number or name, of which groups merge only
            where nothing else may.
        hierarchy : optional. A known tree that the result refines. Each leaf bears the name of
            one or several points, without the input 'names' a point's number; points that it
            does not name may be anywhere.
        names : optional. One name per point.
        sample_weight : optional. The weight of each row: a row of weight 3 counts as three
            equal rows. A table of features with a column of weights brings it.
        linkage : Distance between groups: 'single' closest points, 'complete' farthest,
            'average' mean over pairs, 'weighted' mean over the two parts, 'ward' increase of
            the within-group variance, 'centroid' between means, 'median' between midpoints.
            'auto': 'ward' for features by 'euclidean' distance, whose cuts are clusters of like
            size, also of unit vectors; else 'average', which any distance has. The result says
            which it was.
        metric : Distance between points, as SciPy's pdist defines it; 'jaccard' takes values
            other than 0 as present. 'ward', 'centroid' and 'median' linkage accept only
            'euclidean'. It applies to the input 'features' and must stay 'euclidean' with the
            other inputs, but that 'items' are compared by 'gower', which applies to them alone.
        connectivity : Which groups may merge: 'none' any two, in quadratic time; 'knn' only
            groups joined by an edge of the nearest-neighbour graph, for many points, from the
            input 'features'.
        n_neighbors : With 'knn': number of nearest neighbours that each point is joined to.
        epsilon : With 'knn' and linkage 'average', 'ward', 'centroid' or 'median': each merge
            is at most 1 + epsilon times as long as the shortest possible at its time, so that
            many are made in a round, on several threads; 0 merges the closest two every time.
        weights : With the input 'items': the weights of columns in the distance, by name; 1 for
            the others, 0 leaves a column out.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "hac",
            features=features,
            distances=distances,
            similarity=similarity,
            items=items,
            graph=graph,
            must_link=must_link,
            cannot_link=cannot_link,
            hierarchy=hierarchy,
            names=names,
            sample_weight=sample_weight,
            params={
                "linkage": linkage,
                "metric": metric,
                "connectivity": connectivity,
                "n_neighbors": n_neighbors,
                "epsilon": epsilon,
                "weights": weights,
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

    def hdbscan(
        self,
        *,
        features: Input | None = None,
        distances: Input | None = None,
        items: Items | None = None,
        names: Input | None = None,
        min_cluster_size: int = 5,
        min_samples: int | None = 1,
        metric: Literal[
            "euclidean",
            "cityblock",
            "chebyshev",
            "canberra",
            "cosine",
            "correlation",
            "braycurtis",
            "hamming",
            "jaccard",
            "gower",
        ] = "euclidean",
        weights: Mapping[str, Any] | None = None,
        cluster_selection_method: Literal["auto", "eom", "leaf"] = "auto",
        cluster_selection_epsilon: float = 0.0,
        max_cluster_size: int | None = None,
        allow_single_cluster: bool = False,
        noise: Literal["keep", "nearest"] = "keep",
        noise_within: float | None = None,
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
        """HDBSCAN: clusters of any shape and density; points outside all clusters are noise.

        Leaves: tree, model. Exactly one of features, distances, items must be given.

        Source: Hierarchical Density Estimates for Data Clustering, Visualization, and Outlier
        Detection (2015, ACM TKDD 10(1)).

        features : optional. One row per point.
        distances : optional. Square symmetric matrix of distances between points, zero
            diagonal.
        items : optional. A table with a row per point, which are compared by Gower's distance:
            numbers and dates by their range, categories and booleans as equal or not, over the
            columns in which both rows have a value; texts are left out.
        names : optional. One name per point. A leaf of several points is named after the first
            three of them.
        min_cluster_size : Smallest size of a cluster.
        min_samples : Which nearest neighbour's distance measures the density at a point; larger
            values give more noise and fewer clusters. null: 'min_cluster_size', as in the
            library hdbscan.
        metric : Distance between points, as SciPy's pdist defines it; 'jaccard' takes values
            other than 0 as present. It applies to the input 'features' and must stay
            'euclidean' with 'distances'; 'items' are compared by 'gower', which applies to them
            alone.
        weights : With the input 'items': the weights of columns in the distance, by name; 1 for
            the others, 0 leaves a column out.
        cluster_selection_method : Which clusters of the condensed tree are chosen: 'eom' the
            most stable clusters, 'leaf' the leaves of the tree, which are smaller and more even
            in size; 'auto' the most stable ones, unless these are one cluster of nearly all
            rows beside crumbs: then the leaves.
        cluster_selection_epsilon : Clusters are not split at distances smaller than this.
        max_cluster_size : Largest size of one of the most stable clusters. Default: no limit.
        allow_single_cluster : Whether the root may be chosen as the only cluster.
        noise : What becomes of points outside all clusters: 'keep' leaves them noise, with the
            cluster -1; 'nearest' gives each to the cluster of the nearest point in one, by
            mutual reachability distance.
        noise_within : With 'nearest': points further than this from the nearest cluster, by
            mutual reachability distance, stay noise. Default: none is too far.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "hdbscan",
            features=features,
            distances=distances,
            items=items,
            names=names,
            params={
                "min_cluster_size": min_cluster_size,
                "min_samples": min_samples,
                "metric": metric,
                "weights": weights,
                "cluster_selection_method": cluster_selection_method,
                "cluster_selection_epsilon": cluster_selection_epsilon,
                "max_cluster_size": max_cluster_size,
                "allow_single_cluster": allow_single_cluster,
                "noise": noise,
                "noise_within": noise_within,
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

    def hkm(
        self,
        *,
        features: Input,
        names: Input | None = None,
        grow: Literal["compact", "scattered"] = "scattered",
        branching: int = 2,
        max_leaves: int = 64,
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
        """Hierarchical k-means (HKM): a tree grown from the root, each node split by k-means.

        Leaves: tree, model.

        Source: Hierarchical Maximum-Margin Clustering (2015, section 5).

        features : One row per point.
        names : optional. One name per point. A leaf of several points is named after the first
            three of them.
        grow : Which leaf is split next: 'compact' the leaf whose clusters would be the most
            compact (HKM), 'scattered' the leaf whose points are the most scattered (HKM-D).
        branching : Number of clusters that a node is split into.
        max_leaves : Largest number of leaves of the tree.
        n_init : Number of k-means runs at each node; the best run is kept.
        max_iter : Largest number of iterations of a run.
        tol : A run ends when the sum of the centres' squared displacements is below this times
            the mean variance of the features.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "hkm",
            features=features,
            names=names,
            params={
                "grow": grow,
                "branching": branching,
                "max_leaves": max_leaves,
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

    def hsc(
        self,
        *,
        features: Input,
        names: Input | None = None,
        grow: Literal["compact", "scattered"] = "scattered",
        branching: int = 2,
        max_leaves: int = 64,
        n_neighbors: int = 5,
        n_init: int = 10,
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
        """Hierarchical spectral clustering (HSC): a tree grown from the root, each node split by
        spectral clustering on its own graph of nearest neighbours (`growing.spectral`).

        Leaves: tree, model.

        Source: Hierarchical Maximum-Margin Clustering (2015, section 5).

        features : One row per point.
        names : optional. One name per point. A leaf of several points is named after the first
            three of them.
        grow : Which leaf is split next: 'compact' the leaf whose clusters would be the most
            compact (HSC), 'scattered' the leaf whose points are the most scattered (HSC-D).
        branching : Number of clusters that a node is split into.
        max_leaves : Largest number of leaves of the tree.
        n_neighbors : Number of nearest neighbours that each point is joined to; the mean
            distance to them is the width of the Gaussian that weights the edges.
        n_init : Number of k-means runs at each node, on the eigenvectors; the best is kept.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "hsc",
            features=features,
            names=names,
            params={
                "grow": grow,
                "branching": branching,
                "max_leaves": max_leaves,
                "n_neighbors": n_neighbors,
                "n_init": n_init,
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

    def layers(
        self,
        *,
        features: Input,
        min_size: int = 10,
        n_neighbors: int = 15,
        n_components: int = 15,
        steps: int = 8,
        largest_p: float = 0.05,
        n_references: int = 9,
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
        """Layers of embeddings: nested clusterings at the few sizes at which clusters persist,
        without a number of clusters; rows in no cluster are noise.

        Leaves: tree.

        Source: Persistent Leaf Spatial Clustering (2025).

        features : One embedding per row: floats, quantised integers or 0 and 1.
        min_size : The smallest size of a cluster.
        n_neighbors : Nearest neighbours that each row is joined to.
        n_components : Eigenvectors of the graph.
        steps : Steps of the random walk on the graph.
        largest_p : The largest p-value of a layer; 1 keeps all.
        n_references : Sets without structure that layers are compared with.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "layers",
            features=features,
            params={
                "min_size": min_size,
                "n_neighbors": n_neighbors,
                "n_components": n_components,
                "steps": steps,
                "largest_p": largest_p,
                "n_references": n_references,
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

    def perch(
        self,
        *,
        features: Input,
        names: Input | None = None,
        base: Input | None = None,
        max_leaves: int | None = None,
        balance: bool = False,
        order: Literal["shuffled", "given"] = "shuffled",
        heights: Literal["cost", "diameter"] = "cost",
        growable: bool = False,
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
        """PERCH: a binary tree grown point by point, with rotations that keep it pure.

        Leaves: tree, model.

        Source: A Hierarchical Algorithm for Extreme Clustering (2017, KDD, sections 3 to 5).

        features : One row per point.
        names : optional. One name per point.
        base : optional. An earlier job, run with `growable`, whose points come before these:
            the tree holds all points, the earlier job's first.
        max_leaves : Largest number of leaves; with more, the node with the smallest bounding
            box among those whose children are leaves becomes a leaf. Default: a leaf for each
            point.
        balance : Whether to also rotate for balance: trees are shallower, often less pure.
        order : Order in which points are inserted: 'shuffled' by the seed, whatever the order
            of the rows, or as 'given'.
        heights : Height of a node: 'cost' is the diagonal of its bounding box times its number
            of points, 'diameter' the diagonal alone. Cutting into k clusters opens the highest.
        growable : Keep what a later job needs to continue this one with more points (`base`):
            the points and about 120 bytes for each.
        seed : Seed of the random generator.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "perch",
            features=features,
            names=names,
            base=base,
            params={
                "max_leaves": max_leaves,
                "balance": balance,
                "order": order,
                "heights": heights,
                "growable": growable,
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

    def point_tree(
        self,
        *,
        features: Input,
        names: Input | None = None,
        rule: Literal["consensus", "walk"] = "consensus",
        metric: Literal["euclidean", "cosine", "correlation"] = "euclidean",
        n_neighbors: int = 10,
        steps: int = 4,
        max_places: int = 20000,
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
        """Tree of points by walks and linkages: a binary tree over points that six trees agree on.

        Leaves: tree, model.

        Source: Umbel: docs/points.md (2026).

        features : One row per point.
        names : optional. One name per point.
        rule : 'consensus': of six trees, by walks, average linkage and Ward's linkage. 'walk':
            one tree, average linkage of walks.
        metric : Distance between points, as SciPy's pdist defines it.
        n_neighbors : Number of nearest neighbours that each point is joined to; a consensus has
            half as many and twice as many, too.
        steps : Steps of a walk; a consensus has four times as many, too.
        max_places : More distinct points are first merged into so many groups along the graph
            of neighbours.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "point-tree",
            features=features,
            names=names,
            params={
                "rule": rule,
                "metric": metric,
                "n_neighbors": n_neighbors,
                "steps": steps,
                "max_places": max_places,
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

    def scc(
        self,
        *,
        features: Input,
        graph: Input | None = None,
        must_link: Input | None = None,
        cannot_link: Input | None = None,
        hierarchy: Input | None = None,
        names: Input | None = None,
        metric: Literal[
            "euclidean",
            "sqeuclidean",
            "cityblock",
            "chebyshev",
            "cosine",
            "correlation",
            "canberra",
            "braycurtis",
            "hamming",
            "jaccard",
        ] = "euclidean",
        n_neighbors: int = 10,
        n_rounds: int = 100,
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
        """Sub-cluster components (SCC): a tree over points in rounds, for millions of points.

        Leaves: tree, model.

        Source: Scalable Hierarchical Agglomerative Clustering (2021, KDD).

        features : One row per point.
        graph : optional. Which points are neighbours, of which only groups that an edge joins
            merge: a square matrix, dense or sparse, whose values other than 0 are edges, or
            pairs of points, by their numbers from 0 or, as text, by their names. Sparse
            matrices are accepted.
        must_link : optional. Pairs of points, by number or name, that are one group from the
            start, together with all that other pairs link to them.
        cannot_link : optional. Pairs of points, by number or name, of which groups merge only
            where nothing else may.
        hierarchy : optional. A known tree that the result refines. Each leaf bears the name of
            one or several points, without the input 'names' a point's number; points that it
            does not name may be anywhere.
        names : optional. One name per point.
        metric : Distance between points, as SciPy's pdist defines it; 'jaccard' takes values
            other than 0 as present.
        n_neighbors : Number of nearest neighbours that each point is joined to; not used with
            the input 'graph'.
        n_rounds : Number of similarity thresholds; with more of them the tree is finer and
            closer to merging two clusters at a time.
        preprocess, then, support, name_by, name, description, tags, webhook, expires_at,
            retrying, wait_s, progress : as of `Umbel.run`.
        extra_inputs : further inputs by role, for `then` and `name_by`.

        Raises as `Umbel.run`.
        """
        return self._run(
            "scc",
            features=features,
            graph=graph,
            must_link=must_link,
            cannot_link=cannot_link,
            hierarchy=hierarchy,
            names=names,
            params={
                "metric": metric,
                "n_neighbors": n_neighbors,
                "n_rounds": n_rounds,
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
