"""Methods that learn classes, as classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from umbel_client.client import Umbel
from umbel_client.errors import InputError
from umbel_client.inputs import Input
from umbel_client.sklearn.estimator import MethodEstimator


class UmbelClassifier(ClassifierMixin, MethodEstimator):  # type: ignore[misc]
    """Classifies rows by a method of an Umbel service.

    Parameters
    ----------
    method : str
        Id of a method that learns classes: `mlr`, `msvm`, `hsvm`, ....
    params, random_state, preprocess, umbel : as of `UmbelClusterer`.
    inputs : mapping or None
        Further inputs by role: `{"hierarchy": ["animal/cat", "animal/dog", "plant/rose"]}`, whose
        leaves are the classes as text.

    Attributes
    ----------
    classes_ : (n_classes,) the classes, sorted.
    n_features_in_, feature_names_in_ : as in scikit-learn.
    tree_, model_ : the `Tree` over the classes and the `Model`.
    """

    def __init__(
        self,
        method: str = "mlr",
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
        tags.classifier_tags.multi_label = False
        return tags

    def fit(self, X: Input, y: Any) -> UmbelClassifier:
        """Learn the classes of rows.

        X : (n_samples, n_features). y : (n_samples,) the class of each.

        Raises ValueError for data, classes or parameters that cannot be used, and as `Umbel.run`.
        """
        rows, y = self._rows(X, y, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError("labels", "all rows are of one class; two classes are needed.")
        names = self._names()
        self._run(rows, {}, labels=numbers.astype(np.int64), names=list(names))
        return self

    def predict(self, X: Input) -> npt.NDArray[Any]:
        """(n_samples,) the class of each row. Raises NotFittedError, and as `Model.predict`."""
        rows = self._new_rows(X)
        placed = self.model_.predict(features=rows)
        number = self._names()
        found = [number[str(label)] for label in placed.labels]
        classes: npt.NDArray[Any] = self.classes_[found]
        return classes

    def predict_proba(self, X: Input) -> npt.NDArray[np.float64]:
        """(n_samples, n_classes) the probability of each class, by the columns of `classes_`.

        Raises as `predict`.
        """
        return self._of_classes(X, "probability")

    def decision_function(self, X: Input) -> npt.NDArray[np.float64]:
        """(n_samples, n_classes) the method's score of each class before it is a probability; of
        two classes (n_samples,), by how much the second one has more.

        Raises as `predict`.
        """
        scores = self._of_classes(X, "score")
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _of_classes(self, X: Input, what: str) -> npt.NDArray[np.float64]:
        rows = self._new_rows(X)
        number = self._names()
        placed = self.model_.predict(features=rows, top_k=len(number))
        found = np.zeros((len(placed), len(number)))
        for row, each in enumerate(placed):
            for top in each["top"]:
                found[row, number[top["label"]]] = top[what]
        return found

    def _names(self) -> dict[str, int]:
        """The number of each class by its name at the service, which takes no empty one."""
        names = [str(own) for own in self.classes_]
        empty = next(quotes for n in range(1, len(names) + 2) if (quotes := "''" * n) not in names)
        return {name or empty: number for number, name in enumerate(names)}
