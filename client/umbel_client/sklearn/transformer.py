"""Methods that learn a transformation of rows, as transformers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from umbel_client.client import Umbel
from umbel_client.errors import InputError
from umbel_client.inputs import Input
from umbel_client.sklearn.estimator import MethodEstimator

_UNKNOWN = -1
_NOTHING_NEW = {"n_clusters": 1, "n_init": 1}


class UmbelTransformer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    MethodEstimator,
):
    """Transforms rows as a method of an Umbel service learns it from known clusters.

    Parameters
    ----------
    method : str
        Id of a method that learns a transformation: `tcs`, `fda`, `lmnn`, ....
    params, inputs, random_state, preprocess, umbel : as of `UmbelClusterer`.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : as in scikit-learn.
    tree_, model_ : the `Tree` of known and new clusters, and the `Model`.
    """

    def __init__(
        self,
        method: str = "tcs",
        *,
        params: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Input] | None = None,
        random_state: int | None = None,
        preprocess: list[Mapping[str, Any]] | None = None,
        umbel: Umbel | None = None,
        **by_name: Any,
    ) -> None:
        self.method = method
        self.params = params
        self.inputs = inputs
        self.random_state = random_state
        self.preprocess = preprocess
        self.umbel = umbel
        for name, value in by_name.items():
            self._set(name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Input, y: Any) -> UmbelTransformer:
        """Learn the transformation.

        X : (n_samples, n_features). y : (n_samples,) the known cluster of each; -1, and in a list
        of objects None, where it is not known. These methods look for new clusters among rows
        that are not known; where all are known they get each row once more as such a row, which
        leaves scales and directions as they are, and look for one cluster.

        Raises ValueError for data, clusters or parameters that cannot be used, and as `Umbel.run`.
        """
        rows, y = self._rows(X, y, reset=True)
        y = column_or_1d(y, warn=True)
        known = np.array([own is not None and own != _UNKNOWN and own == own for own in y])
        # Without those that are missing, objects may be of one kind.
        given = np.array(y[known].tolist())
        check_classification_targets(given)
        clusters, numbers = np.unique(given, return_inverse=True)
        if len(clusters) < 2:
            raise InputError("labels", "the known rows are of fewer than two clusters or classes.")
        labels = np.full(len(y), _UNKNOWN, dtype=np.int64)
        labels[known] = numbers
        params: dict[str, Any] = {}
        fitted = rows
        if known.all():
            chosen = {**(self.params or {}), **self._named()}
            params = {name: own for name, own in _NOTHING_NEW.items() if name not in chosen}
            fitted = sp.vstack([rows, rows], "csr") if sp.issparse(rows) else np.vstack([rows] * 2)
            labels = np.concatenate([labels, np.full(len(y), _UNKNOWN)])
        names = [str(own) or "''" for own in clusters]
        self._run(fitted, params, labels=labels, names=names)
        self._n_features_out = self._transformed(rows[:1]).shape[1]
        return self

    def transform(self, X: Input) -> npt.NDArray[Any]:
        """(n_samples, n_components) rows transformed; float32 where they are, else float64.

        Raises NotFittedError, ValueError, and as `Model.transform`.
        """
        return self._transformed(self._new_rows(X))

    def _transformed(self, rows: Any) -> npt.NDArray[Any]:
        dataset = self.model_.transform(features=rows)
        try:
            return dataset.array()
        finally:
            dataset.delete()
