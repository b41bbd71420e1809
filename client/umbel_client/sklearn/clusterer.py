"""Any method that takes features as a clusterer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.utils.validation import check_is_fitted

from umbel_client.client import Umbel
from umbel_client.errors import InputError
from umbel_client.inputs import Input
from umbel_client.problems import NotBinary, WrongCut
from umbel_client.quoting import shown
from umbel_client.sklearn.estimator import MethodEstimator

_DEFAULT_CLUSTERS = 2


class UmbelClusterer(ClusterMixin, MethodEstimator):  # type: ignore[misc]
    """Clusters rows by a method of an Umbel service.

    Parameters
    ----------
    method : str
        Id of a method that takes `features`.
    n_clusters : int or None
        The clusters in `labels_`: the method's own parameter, where it has one of this name, else
        the number of clusters in the cut of its tree. None: the method's default, or two clusters
        of a tree over the rows.
    params : mapping or None
        Parameters of the method. Each may also be given by its name: `linkage="ward"`.
    inputs : mapping or None
        Further inputs of the method, by role, which are the same for all rows.
    random_state : int or None
        The method's `seed`, where it draws. None: the method's default.
    preprocess : list of mappings or None
        Steps that prepare the features, as of `Umbel.run`.
    umbel : Umbel or None
        The client; None: `Umbel()`, which finds a local service. A pickle has no key: it takes
        that of UMBEL_KEY.

    Attributes
    ----------
    labels_ : (n_samples,) the cluster of each row; -1 for noise, where the method has it.
    n_clusters_ : how many clusters `labels_` has, without noise.
    children_ : (n_samples - 1, 2) the merges, as in scikit-learn's AgglomerativeClustering; only of
        methods whose tree is binary and has the rows as leaves.
    distances_ : (n_samples - 1,) the height of each merge.
    n_leaves_, n_features_in_, feature_names_in_ : as in scikit-learn.
    tree_, model_ : the `Tree` and the `Model`, with all that they can do.
    """

    def __init__(
        self,
        method: str = "hac",
        n_clusters: int | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Input] | None = None,
        random_state: int | None = None,
        preprocess: list[Mapping[str, Any]] | None = None,
        umbel: Umbel | None = None,
        **by_name: Any,
    ) -> None:
        self.method = method
        self.n_clusters = n_clusters
        self.params = params
        self.inputs = inputs
        self.random_state = random_state
        self.preprocess = preprocess
        self.umbel = umbel
        for name, value in by_name.items():
            self._set(name, value)

    def fit(self, X: Input, y: object = None) -> UmbelClusterer:
        """Run the method on the rows.

        X : (n_samples, n_features). y : ignored.

        Raises ValueError for data or parameters that cannot be used, and as `Umbel.run`.
        """
        del y
        rows = self._rows(X, reset=True)
        facts = self._facts()
        own = facts is not None and "n_clusters" in facts.defaults
        given = {"n_clusters": self.n_clusters} if own and self.n_clusters is not None else {}
        if not own and self.n_clusters is not None and self.n_clusters < 1:
            raise InputError("n_clusters", f"it is {self.n_clusters}; at least 1 is needed.")
        tree = self._run(rows, given)
        over_rows = tree.n_leaves == tree.n_points == rows.shape[0]
        self._k = self.n_clusters or (_DEFAULT_CLUSTERS if over_rows else None)
        if own and not over_rows and self._k is not None and self._k >= tree.n_leaves:
            # Its leaves are the clusters, maybe fewer; more are parts of them, as in birch.
            self._k = None
        try:
            self.labels_ = tree.assignments(self._k)
        except WrongCut:
            # Where all rows are noise there is nothing to cut.
            self.labels_ = tree.assignments()
            if (self.labels_ >= 0).any():
                raise
        self.n_clusters_ = len(np.unique(self.labels_[self.labels_ >= 0]))
        self.n_leaves_ = tree.n_leaves
        # Leaves of noise are in no cluster, and some clusters may have no row.
        all_filled = self._k is not None or self.n_clusters_ == tree.n_leaves
        self._n_groups = (self._k or tree.n_leaves) if all_filled else tree.cut().n_clusters
        self.__dict__.pop("_merges", None)
        return self

    def predict(self, X: Input) -> npt.NDArray[np.int64]:
        """(n_samples,) the cluster of each row, numbered as in `labels_`, where the method's model
        places it; -1 where that is in none.

        Raises NotFittedError, ValueError, and as `Model.predict`.
        """
        rows = self._new_rows(X)
        if self.n_clusters_ == 0:
            return np.full(rows.shape[0], -1, dtype=np.int64)
        placed = self.model_.predict(features=rows, k=self._n_groups)
        return np.array([-1 if own is None else own for own in placed.clusters], dtype=np.int64)

    def score(self, X: Input, y: object = None) -> float:
        """How good the clusters are in which the model places rows; more is better.

        y : classes: the adjusted Rand index of both. None: the mean silhouette of the rows in time
        quadratic in them, 0 where there are fewer than two clusters or no two rows in one.

        Raises as `predict`.
        """
        found = self.predict(X)
        if y is not None:
            return float(adjusted_rand_score(y, found))
        rows = self._rows(X, reset=False)
        if not 2 <= len(np.unique(found)) < len(found):
            return 0.0
        return float(silhouette_score(rows, found))

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

    def _linkage(self) -> npt.NDArray[np.float64]:
        check_is_fitted(self, "tree_")
        if "_merges" not in self.__dict__:
            if self.tree_.n_leaves != len(self.labels_):
                raise AttributeError(
                    f"The tree of {shown(self.method)} has {self.tree_.n_leaves} leaves for "
                    f"{len(self.labels_)} rows; merges need a tree over the rows."
                )
            try:
                self._merges = self.tree_.linkage()
            except NotBinary as error:
                raise AttributeError(f"The tree has no merges: {error.detail}") from error
        merges: npt.NDArray[np.float64] = self._merges
        return merges
