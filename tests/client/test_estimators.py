"""Parameters of methods by name on the estimators for scikit-learn; no service is needed."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from copy import copy, deepcopy
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.utils import get_tags

from tests.conftest import ROOT
from umbel_client import AsyncUmbel, InputError, Umbel
from umbel_client.methods import METHODS
from umbel_client.sklearn import UmbelClassifier, UmbelClusterer, UmbelTransformer

FACES = [UmbelClusterer, UmbelClassifier, UmbelTransformer]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_is_one_by_name(face: Any, method: str) -> None:
    estimator = face(method)
    before = estimator.get_params()
    for name, default in METHODS[method].defaults.items():
        if name == "n_clusters" and face is UmbelClusterer:
            continue
        if isinstance(default, list):
            assert name not in before
        else:
            assert before[name] == default
        estimator.set_params(**{name: "other"})
        assert estimator.get_params()[name] == "other"
        assert clone(estimator).get_params()[name] == "other"
        assert getattr(estimator, name) == "other"
        estimator.set_params(**{name: default})
    assert estimator.get_params() == {**before, **estimator._named()}


def test_a_parameter_may_be_given_in_the_call() -> None:
    estimator = UmbelClusterer("hac", 3, linkage="ward")
    assert estimator.get_params()["linkage"] == "ward"
    assert estimator.n_clusters == 3
    assert repr(estimator) == "UmbelClusterer('hac', n_clusters=3, linkage='ward')"
    assert repr(estimator.set_params(linkage="auto")) == "UmbelClusterer('hac', n_clusters=3)"


def test_lists_are_parameters_too() -> None:
    estimator = UmbelClusterer("deepect", hidden_sizes=[8, 4])
    assert clone(estimator).get_params()["hidden_sizes"] == [8, 4]


@pytest.mark.parametrize("face", FACES)
def test_what_is_no_parameter_is_refused(face: Any) -> None:
    for make in (
        lambda: face("hac", linkag="ward"),
        lambda: face("hac").set_params(linkag="ward"),
        lambda: face("hac").set_params(linkag="ward", metric="cosine"),
    ):
        with pytest.raises(ValueError, match="'hac' has no such parameter; is 'linkage' meant"):
            make()
    with pytest.raises(InputError, match="goes into `params`"):
        face("hac").set_params(fit=3)


def test_the_method_is_a_parameter_that_others_follow() -> None:
    estimator = UmbelClusterer("hac").set_params(linkage="ward", method="hac")
    estimator.set_params(method="kmeans", n_init=3)
    assert estimator.get_params()["n_init"] == 3
    with pytest.raises(ValueError, match="'kmeans' has no such parameter"):
        estimator.fit([[0.0], [1.0], [2.0]])


def test_methods_that_the_client_does_not_know_take_any() -> None:
    estimator = UmbelClusterer("of-a-plugin", depth=3)
    assert clone(estimator).get_params()["depth"] == 3


def test_a_seed_is_given_once() -> None:
    estimator = UmbelClusterer("kmeans", random_state=0, seed=1)
    with pytest.raises(InputError, match="give one of them"):
        estimator.fit([[0.0], [1.0]])


def test_tags_tell_what_an_estimator_is() -> None:
    assert is_clusterer(UmbelClusterer())
    assert is_classifier(UmbelClassifier())
    tags = get_tags(UmbelTransformer())
    assert tags.transformer_tags is not None
    assert tags.target_tags.required
    assert get_tags(UmbelClusterer("kmeans")).input_tags.sparse
    assert not get_tags(UmbelClusterer("hac", n_clusters=2)).input_tags.allow_nan
    for method, facts in METHODS.items():
        assert get_tags(UmbelClusterer(method)).input_tags.sparse == ("features" in facts.sparse)


@pytest.mark.parametrize("kind", [Umbel, AsyncUmbel])
def test_a_pickle_has_no_key_and_a_copy_has(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UMBEL_KEY", raising=False)
    umbel = kind("http://127.0.0.1:1", "secret-of-mine", retries=2)
    content = pickle.dumps(umbel)
    assert b"secret-of-mine" not in content
    settings = pickle.loads(content)._connection.settings
    assert (settings.url, settings.key, settings.retries) == ("http://127.0.0.1:1", None, 2)
    monkeypatch.setenv("UMBEL_KEY", "another")
    assert pickle.loads(content)._connection.settings.key == "another"
    for again in (copy(umbel), deepcopy(umbel)):
        assert again._connection.settings == umbel._connection.settings


@pytest.mark.parametrize("absent", [True, False])
def test_the_client_needs_no_scikit_learn(absent: bool) -> None:
    """Without it, the estimators say how it is installed."""
    program = f"""
import sys
if {absent}:
    sys.modules["sklearn"] = None
import umbel_client, umbel_client.commands
assert {absent} or "sklearn" not in sys.modules
try:
    import umbel_client.sklearn
except umbel_client.MissingPackage as error:
    print(error)
"""
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "client", capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert ("pip install scikit-learn" in found.stdout) is absent


@pytest.mark.needs("pandas")
@pytest.mark.parametrize("index", [[2, 0, 1, 3], [0, 1, 2, 3], [4, 5, 6, 7]])
def test_targets_whose_index_is_in_another_order_are_noted(index: list[int]) -> None:
    import pandas as pd

    frame = pd.DataFrame({"x": [0.0, 1, 2, 3]})
    targets = pd.Series(list("aabb"), index=index)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        UmbelClassifier()._rows(frame, targets, reset=True)
    assert ["another order" in str(own.message) for own in caught] == [True] * (index[0] == 2)


def test_no_clusters_are_refused() -> None:
    with pytest.raises(InputError, match="it is 0; at least 1"):
        UmbelClusterer("hac", n_clusters=0).fit([[0.0], [1.0], [2.0]])


def test_an_empty_class_and_its_stand_in_are_two() -> None:
    classifier = UmbelClassifier()
    classifier.classes_ = np.array(["", "''", "x"])
    assert sorted(classifier._names().values()) == [0, 1, 2]
    assert "" not in classifier._names()
