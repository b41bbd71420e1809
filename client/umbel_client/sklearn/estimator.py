"""What the estimators share: the parameters of a method by name, rows that are checked, runs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from umbel_client import frames
from umbel_client.client import Umbel
from umbel_client.core.requests import keeps_columns
from umbel_client.errors import InputError
from umbel_client.inputs import Input, unmasked
from umbel_client.methods import METHODS, MethodFacts
from umbel_client.quoting import shown, written
from umbel_client.tree import Tree

_PLAIN = (str, int, float, type(None))


class MethodEstimator(BaseEstimator):  # type: ignore[misc]
    """A method of the service as an estimator.

    Every parameter of the method is one of the estimator's, under the same name, with the method's
    default until it is set: in the call, by `set_params`, or as an attribute. Only what was set is
    sent. `params` has more of them; one that is set by its name comes first.
    """

    method: str
    params: Mapping[str, Any] | None
    inputs: Mapping[str, Input] | None
    random_state: int | None
    preprocess: list[Mapping[str, Any]] | None
    umbel: Umbel | None
    tree_: Tree

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The estimator's parameters by name, the method's own among them."""
        facts = self._facts()
        defaults = {} if facts is None else facts.defaults
        # A copy would be another object than a default that is a list.
        plain = {name: own for name, own in defaults.items() if isinstance(own, _PLAIN)}
        return {**plain, **self._named(), **super().get_params(deep)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, the method's own among them. Raises InputError, a ValueError, for a name
        that is none of them."""
        if "method" in params:
            self.method = params["method"]
        for name, value in params.items():
            if name in self._get_param_names():
                setattr(self, name, value)
            else:
                self._set(name, value)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        given = {
            name: getattr(self, name)
            for name in self._get_param_names()
            if name != "method" and getattr(self, name) is not None
        }
        parts = [
            repr(self.method),
            *(f"{n}={v!r}" for n, v in {**given, **self._named()}.items()),
        ]
        text = f"{type(self).__name__}({', '.join(parts)})"
        return text if len(text) <= N_CHAR_MAX else f"{text[: N_CHAR_MAX - 4]}...)"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        return tags

    def _facts(self) -> MethodFacts | None:
        """What the method takes; None for one that this client does not know."""
        return METHODS.get(self.method) if isinstance(self.method, str) else None

    def _set(self, name: str, value: Any) -> None:
        """Set a parameter of the method by its name; the default is as if it were not set."""
        facts = self._facts()
        if name.strip("_") != name or hasattr(type(self), name):
            raise InputError(name, "it is no parameter; one of this name goes into `params`.")
        if facts is not None and name not in facts.defaults:
            raise InputError(name, self._unknown(name))
        default = None if facts is None else facts.defaults[name]
        if facts is not None and type(value) is type(default) and value == default:
            self.__dict__.pop(name, None)
        else:
            setattr(self, name, value)

    def _named(self) -> dict[str, Any]:
        """The parameters of the method that were set by their names."""
        own = self._get_param_names()
        return {
            name: value
            for name, value in vars(self).items()
            if name.strip("_") == name and name not in own
        }

    def _unknown(self, name: str) -> str:
        facts = self._facts()
        known = [*self._get_param_names(), *(() if facts is None else facts.defaults)]
        near = difflib.get_close_matches(name, known, n=1)
        meant = f"; is {shown(near[0])} meant?" if near else ";"
        method = written(self.method)
        return f"method {method} has no such parameter{meant} There are {', '.join(known)}."

    def _takes_sparse(self) -> bool:
        facts = self._facts()
        return facts is None or "features" in facts.sparse

    def _rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Rows, and with `y` the targets, as scikit-learn checks them.

        reset : whether they are for a fit, with which later ones must agree.

        Raises ValueError, of which InputError for masked values is one.
        """
        if reset:
            frames.warn_unaligned(y, X)
        if isinstance(X, np.ma.MaskedArray):
            X = unmasked("features", X)
        if isinstance(y, np.ma.MaskedArray):
            y = unmasked("targets", y)
        sparse = "csr" if self._takes_sparse() else False
        kinds = [np.float64, np.float32]
        least = 2 if reset else 1
        return validate_data(
            self, X, y, reset=reset, accept_sparse=sparse, dtype=kinds, ensure_min_samples=least
        )

    def _run(self, rows: Any, params: Mapping[str, Any], **inputs: Any) -> Tree:
        """The tree of the method, fitted on rows and further inputs. Raises as `Umbel.run`."""
        further: dict[str, Any] = dict(self.inputs or {})
        doubled = sorted(further.keys() & {"features", *inputs})
        if doubled:
            raise InputError(doubled[0], "`fit` gives it; leave it out of `inputs`.")
        facts = self._facts()
        given = {**(self.params or {}), **self._named(), **params}
        if facts is not None:
            missing = next((role for role in inputs if role not in facts.inputs), None)
            if missing is not None:
                raise InputError(missing, f"method {written(self.method)} takes no {missing}.")
            wrong = next((name for name in given if name not in facts.defaults), None)
            if wrong is not None:
                raise InputError(wrong, self._unknown(wrong))
            named = "feature_names" in facts.inputs and hasattr(self, "feature_names_in_")
            if named and keeps_columns(self.preprocess):
                further.setdefault("feature_names", list(self.feature_names_in_))
        if self.random_state is not None and (facts is None or "seed" in facts.defaults):
            if "seed" in given:
                raise InputError("seed", "it is the same as `random_state`; give one of them.")
            given["seed"] = self._seed()
        tree = (self.umbel or Umbel()).run(
            self.method,
            features=rows,
            params=given,
            preprocess=self.preprocess,
            progress=False,
            **{**inputs, **further},
        )
        self.tree_ = tree
        self.model_ = tree.model()
        return tree

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        raise InputError("random_state", "it is an integer or None; the service draws.")

    def _new_rows(self, X: Any) -> Any:
        """Rows for a fitted estimator. Raises NotFittedError, and as `_rows`."""
        check_is_fitted(self, "model_")
        return self._rows(X, reset=False)
