"""Any method of the service as a clusterer of scikit-learn.

from umbel_client.sklearn import UmbelClusterer

labels = UmbelClusterer("hac", n_clusters=10, params={"linkage": "ward"}).fit_predict(X)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from umbel_client.client import Umbel
from umbel_client.errors import InputError
from umbel_client.inputs import Input
from umbel_client.methods import METHODS
from umbel_client.problems import NotBinary
from umbel_client.tree import Tree

_DEFAULT_CLUSTERS = 2


class UmbelClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters rows by a method of an Umbel service.

    Parameters
    ----------
    method : str
        Id of a method that takes `features` alone.
    n_clusters : int or None
        The clusters in `labels_`: the method's own parameter, where it has one of this name, else
        the number of clusters in the cut of its tree. None: the method's default, or two clusters
        of a tree over the rows.
    params : mapping or None
        Further parameters of the method.
    random_state : int or None
        The method's `seed`, where it draws. None: the method's default.
    preprocess : list of mappings or None
        Steps that prepare the features, as of `Umbel.run`.
    umbel : Umbel or None
        The client; None: `Umbel()`, which finds a local service.

    Attributes
    ----------
    labels_ : (n_samples,) the cluster of each row; -1 for noise, as in scikit-learn's HDBSCAN.
    n_clusters_ : how many clusters `labels_` has, without noise.
    children_ : (n_samples - 1, 2) the merges, as in scikit-learn's AgglomerativeClustering; only of
        methods whose tree is binary and has the rows as leaves.
    distances_ : (n_samples - 1,) the height of each merge.
    n_leaves_, n_features_in_, feature_names_in_ : as in scikit-learn.
    tree_ : the `Tree`, with all that it can do.
    """

    def __init__(
        self,
        method: str = "hac",
        n_clusters: int | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        preprocess: list[Mapping[str, Any]] | None = None,
        umbel: Umbel | None = None,
    ) -> None:
        self.method = method
        self.n_clusters = n_clusters
        self.params = params
        self.random_state = random_state
        self.preprocess = preprocess
        self.umbel = umbel

    def fit(self, X: Input, y: object = None) -> UmbelClusterer:
        """Run the method on the rows.

        X : (n_samples, n_features). y : ignored.

        Raises ValueError for data or parameters that cannot be used, and as `Umbel.run`.
        """
        del y
        rows = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        facts = METHODS.get(self.method)
        params = dict(self.params or {})
        own = facts is not None and "n_clusters" in facts.params
        if own and self.n_clusters is not None:
            params["n_clusters"] = self.n_clusters
        if self.random_state is not None and facts is not None and "seed" in facts.params:
            params["seed"] = self._seed()
        umbel = self.umbel or Umbel()
        self.tree_ = umbel.run(
            self.method,
            features=rows,
            params=params,
            preprocess=self.preprocess,
            progress=False,
        )
        self.labels_ = self._labels(len(rows), own)
        self.n_clusters_ = len(np.unique(self.labels_[self.labels_ >= 0]))
        self.n_leaves_ = self.tree_.n_leaves
        self.__dict__.pop("_merges", None)
        return self

    @property
    def children_(self) -> npt.NDArray[np.int64]:
        """(n_samples - 1, 2) the nodes that each merge joins; rows are the nodes up to n_samples.

        Raises AttributeError where the tree has no merges of rows.
        """
        return self._linkage()[:, :2].astype(np.int64)

    @property
    def distances_(self) -> npt.NDArray[np.float64]:
        """(n_samples - 1,) the height of each merge. Raises as `children_`."""
        return self._linkage()[:, 2]

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        raise InputError("random_state", "it is an integer or None; the service draws.")

    def _labels(self, n_rows: int, own: bool) -> npt.NDArray[np.int64]:
        tree: Tree = self.tree_
        over_rows = tree.n_leaves == n_rows and tree.n_points == n_rows
        if (own and not over_rows) or (self.n_clusters is None and not over_rows):
            return tree.assignments()
        return tree.assignments(self.n_clusters or _DEFAULT_CLUSTERS)

    def _linkage(self) -> npt.NDArray[np.float64]:
        check_is_fitted(self, "tree_")
        if "_merges" not in self.__dict__:
            if self.tree_.n_leaves != len(self.labels_):
                raise AttributeError(
                    f"The tree of {self.method!r} has {self.tree_.n_leaves} leaves for "
                    f"{len(self.labels_)} rows; merges need a tree over the rows."
                )
            try:
                self._merges = self.tree_.linkage()
            except NotBinary as error:
                raise AttributeError(f"The tree has no merges: {error.detail}") from error
        merges: npt.NDArray[np.float64] = self._merges
        return merges
