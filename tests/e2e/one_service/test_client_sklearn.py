"""The estimators against scikit-learn's own requirements, examples, searches and pipelines."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import scipy.cluster.hierarchy as hierarchy
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from tests.conftest import ROOT
from tests.e2e.conftest import Service
from tests.needs_kit import need
from umbel_client import InputError, Umbel
from umbel_client.sklearn import UmbelClassifier, UmbelClusterer, UmbelTransformer

RNG = np.random.default_rng(0)
TRUE = np.repeat([0, 1, 2], 10)
FEATURES = RNG.normal(size=(30, 4)) + 6 * TRUE[:, None]


@pytest.fixture
def umbel(service: Service) -> Umbel:
    return Umbel(service.url)


def clusterer(service: Service, *arguments: object, **options: object) -> UmbelClusterer:
    return UmbelClusterer(*arguments, umbel=Umbel(service.url), **options)


def test_it_agrees_with_scikit_learns_own(service: Service) -> None:
    model = clusterer(service, "hac", n_clusters=3, params={"linkage": "ward"}).fit(FEATURES)
    own = AgglomerativeClustering(3, linkage="ward", compute_distances=True).fit(FEATURES)
    assert adjusted_rand_score(own.labels_, model.labels_) == 1.0
    np.testing.assert_array_equal(np.sort(model.children_, axis=1), np.sort(own.children_, axis=1))
    np.testing.assert_allclose(model.distances_, own.distances_)
    assert model.n_leaves_ == own.n_leaves_


def test_the_example_plot_dendrogram_runs(service: Service) -> None:
    """`plot_dendrogram` as scikit-learn's example has it, without drawing."""
    model = clusterer(service, "hac", n_clusters=3).fit(FEATURES)
    counts = np.zeros(model.children_.shape[0])
    n_samples = len(model.labels_)
    for i, merge in enumerate(model.children_):
        current_count = 0
        for child_idx in merge:
            if child_idx < n_samples:
                current_count += 1
            else:
                current_count += counts[child_idx - n_samples]
        counts[i] = current_count
    linkage_matrix = np.column_stack([model.children_, model.distances_, counts]).astype(float)
    drawn = hierarchy.dendrogram(linkage_matrix, truncate_mode="level", p=3, no_plot=True)
    assert drawn["ivl"]
    np.testing.assert_allclose(linkage_matrix, model.tree_.linkage())


def test_a_partition_gives_its_own_clusters(service: Service) -> None:
    model = clusterer(service, "kmeans", n_clusters=3, random_state=1)
    assert adjusted_rand_score(TRUE, model.fit_predict(FEATURES)) == 1.0
    assert model.n_clusters_ == 3
    with pytest.raises(AttributeError, match="3 leaves for 30 rows"):
        _ = model.children_


EMPTY_ROWS = "rows that have no value are refused in sparse matrices: they would be empty documents"
SPARSE = dict.fromkeys(
    ["check_estimator_sparse_tag", "check_estimator_sparse_array", "check_estimator_sparse_matrix"],
    EMPTY_ROWS,
)
ONE_CLUSTER = dict.fromkeys(
    [
        *("check_dont_overwrite_parameters", "check_methods_subset_invariance"),
        *("check_fit2d_1feature", "check_fit2d_predict1d"),
    ],
    "the checks ask for one cluster; the method takes two and more",
)
DIRECTIONS = {
    "check_estimators_dtypes": "a row of zeros has no direction",
    "check_fit2d_1feature": "directions need two columns",
}
CHANCE = dict.fromkeys(
    [
        *("check_fit_score_takes_y", "check_estimators_nan_inf"),
        *("check_fit_idempotent", "check_n_features_in"),
    ],
    "labels drawn by chance, for which the learned metric is 0: refused",
)
UNIT = {"preprocess": [{"step": "l2"}]}

Checked = tuple[str, str, dict[str, Any], dict[str, str]]
CLUSTERERS: list[Checked] = [
    ("UmbelClusterer", method, {}, {})
    for method in (
        *("birch", "bisecting-kmeans", "gmm", "hac", "hdbscan", "hkm", "hmmc", "hsc", "kmeans"),
        *("minibatch-kmeans", "perch", "scc", "spectral"),
    )
]
CLUSTERERS += [
    ("UmbelClusterer", "ghhc", {"n_internal": 4, "max_iter": 100, "n_init": 2}, {}),
    ("UmbelClusterer", "mmc", {}, ONE_CLUSTER),
    ("UmbelClusterer", "turtle", {"max_iter": 200}, ONE_CLUSTER),
    ("UmbelClusterer", "vmf", UNIT, SPARSE | DIRECTIONS),
]
CLASSIFIERS = ("blr", "bsvm", "hblr", "hsvm", "mlr", "msvm", "ot", "rmlr", "td-svm")
"""`rr-lr` and `rr-svm` need a hierarchy of the classes, which differ from check to check."""
TRANSFORMERS = ("bp", "fda", "pcc", "tcs", "tcs-cs", "tcs-fs", "tcs-mm")
CHECKED = [
    *CLUSTERERS,
    *(("UmbelClassifier", method, {}, SPARSE) for method in CLASSIFIERS),
    *(("UmbelTransformer", method, {}, {}) for method in TRANSFORMERS),
    ("UmbelTransformer", "lmnn", {}, CHANCE),
]
CHECK = """
import json, sys
from sklearn.utils.estimator_checks import check_estimator
from umbel_client import Umbel, sklearn
url, face, method = sys.argv[1:4]
options, expected = map(json.loads, sys.argv[4:])
estimator = getattr(sklearn, face)(method, random_state=0, umbel=Umbel(url), **options)
check_estimator(estimator, on_skip=None, expected_failed_checks=expected)
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("face", "method", "options", "expected"), CHECKED, ids=[each[1] for each in CHECKED]
)
def test_scikit_learns_checks_pass(
    service: Service, face: str, method: str, options: dict[str, Any], expected: dict[str, str]
) -> None:
    """All but the expected ones, in a process that enables SciPy's array API for one."""
    paths = os.pathsep.join([str(ROOT / "client"), str(ROOT)])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": paths}
    texts = map(json.dumps, (options, expected))
    command = [sys.executable, "-W", "ignore", "-c", CHECK, service.url, face, method, *texts]
    subprocess.run(command, env=environment, check=True)


def test_clusters_are_predicted_as_they_were_found(umbel: Umbel) -> None:
    for method, options in (
        ("hac", {"linkage": "ward"}),
        ("hac", {"n_clusters": 5}),
        ("kmeans", {"n_clusters": 3}),
        ("gmm", {"n_clusters": 3}),
        ("hdbscan", {"min_cluster_size": 5}),
        ("birch", {"max_leaves": 4}),
        ("hkm", {"n_clusters": 3}),
        ("vmf", {"n_clusters": 3, "preprocess": [{"step": "l2"}]}),
    ):
        model = UmbelClusterer(method, umbel=umbel, **options)
        found = model.fit_predict(FEATURES)
        np.testing.assert_array_equal(model.predict(FEATURES), found)
        assert model.n_clusters_ == len(set(found[found >= 0]))


def test_noise_is_minus_one(umbel: Umbel) -> None:
    features = np.vstack([FEATURES, [[900.0, -900.0, 900.0, -900.0]]])
    model = UmbelClusterer("hdbscan", umbel=umbel, min_cluster_size=5, preprocess=None)
    found = model.fit_predict(features)
    assert model.n_clusters_ == len(set(found[found >= 0]))
    assert set(found[:-1]) <= {-1, 0, 1, 2}
    np.testing.assert_array_equal(model.predict(features), found)


@pytest.mark.parametrize("n_clusters", [None, 2])
def test_where_all_is_noise_no_row_is_in_a_cluster(umbel: Umbel, n_clusters: int | None) -> None:
    model = UmbelClusterer("hdbscan", n_clusters, umbel=umbel).fit(FEATURES[::5])
    assert model.n_clusters_ == 0
    assert set(model.labels_) == set(model.predict(FEATURES)) == {-1}


def test_groups_of_smaller_clusters_are_the_clusters(umbel: Umbel) -> None:
    model = UmbelClusterer("birch", 3, umbel=umbel).fit(FEATURES)
    assert model.n_leaves_ > model.n_clusters_ == 3
    assert adjusted_rand_score(TRUE, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(FEATURES), model.labels_)


def test_scores_are_higher_for_better_clusters(umbel: Umbel) -> None:
    good = UmbelClusterer("kmeans", 3, umbel=umbel).fit(FEATURES)
    poor = UmbelClusterer("kmeans", 9, umbel=umbel).fit(FEATURES)
    assert good.score(FEATURES, TRUE) == 1.0 > poor.score(FEATURES, TRUE)
    expected = silhouette_score(FEATURES, good.labels_)
    score = good.score(FEATURES)
    assert score == pytest.approx(expected, rel=1e-12)
    assert score > poor.score(FEATURES)
    assert UmbelClusterer("kmeans", 1, umbel=umbel).fit(FEATURES).score(FEATURES) == 0.0


SEARCHES: list[tuple[str, dict[str, Any], dict[str, list[Any]]]] = [
    ("kmeans", {"params": {"seed": 0}}, {"n_clusters": [2, 3]}),
    ("hac", {"n_clusters": 3}, {"linkage": ["ward", "complete"]}),
    ("hac", {"n_clusters": 3}, {"method": ["hac", "kmeans"]}),
    ("minibatch-kmeans", {}, {"random_state": [0, 1], "params": [{"n_clusters": 2}]}),
]


def index_of(estimator: Any, rows: Any, known: Any = None) -> float:
    return float(adjusted_rand_score(known, estimator.predict(rows)))


@pytest.mark.parametrize(("method", "options", "grid"), SEARCHES)
def test_a_search_over_parameters_gives_numbers(
    umbel: Umbel, method: str, options: dict[str, Any], grid: dict[str, list[Any]]
) -> None:
    estimator = UmbelClusterer(method, umbel=umbel, **options)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(estimator, grid, scoring=index_of, cv=folds, error_score="raise")
    search.fit(FEATURES, TRUE)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.5


def test_a_search_draws_parameters(umbel: Umbel) -> None:
    grid = {"n_clusters": [2, 3], "n_init": [1, 5]}
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    estimator = UmbelClusterer("kmeans", umbel=umbel)
    drawn = RandomizedSearchCV(estimator, grid, n_iter=2, cv=folds, random_state=0)
    drawn.fit(FEATURES, TRUE)
    assert np.isfinite(drawn.cv_results_["mean_test_score"]).all()


def test_pipelines_are_searched_and_validated(umbel: Umbel) -> None:
    pipeline = Pipeline(
        [("scale", StandardScaler()), ("group", UmbelClusterer("hac", umbel=umbel))]
    )
    grid = {"group__linkage": ["ward", "average"], "group__n_clusters": [3]}
    search = GridSearchCV(pipeline, grid, cv=StratifiedKFold(2), error_score="raise")
    assert search.fit(FEATURES, TRUE).best_score_ == 1.0
    supervised = Pipeline(
        [
            ("learn", UmbelTransformer("fda", umbel=umbel)),
            ("classify", UmbelClassifier("mlr", umbel=umbel, C=10.0)),
        ]
    )
    scores = cross_val_score(supervised, FEATURES, TRUE, cv=2, error_score="raise")
    assert scores.min() > 0.9
    grids = [
        {"classify__method": [classify], "learn__method": [learn]}
        for classify, learn in (("mlr", "fda"), ("msvm", "bp"))
    ]
    search = GridSearchCV(supervised, grids, cv=StratifiedKFold(2), error_score="raise")
    assert search.fit(FEATURES, TRUE).best_score_ > 0.9


CLASSES = [
    np.array(["cat", "dog", "rose"]),
    np.array(["cat", "", "a/b"], dtype=object),
    np.array([7, -1, 3]),
    np.array([0.5, 1.0, 2.0]) * 2,
]


@pytest.mark.parametrize(
    ("method", "classes"),
    list(zip(("mlr", "msvm", "td-svm", "mlr"), CLASSES, strict=True)),
)
def test_classes_are_those_of_the_caller(umbel: Umbel, method: str, classes: Any) -> None:
    known = classes[TRUE]
    model = UmbelClassifier(method, umbel=umbel).fit(FEATURES, known)
    np.testing.assert_array_equal(model.classes_, np.unique(known))
    found = model.predict(FEATURES)
    assert found.dtype == model.classes_.dtype
    assert (found == known).mean() >= 0.8
    chances = model.predict_proba(FEATURES)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], found)
    scores = model.decision_function(FEATURES)
    assert scores.shape == (30, 3)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], found)
    assert model.score(FEATURES, known) == (found == known).mean()


def test_of_two_classes_the_score_has_one_column(umbel: Umbel) -> None:
    model = UmbelClassifier("mlr", umbel=umbel).fit(FEATURES[:20], TRUE[:20])
    scores = model.decision_function(FEATURES[:20])
    assert scores.shape == (20,)
    np.testing.assert_array_equal(
        model.classes_[(scores > 0).astype(int)], model.predict(FEATURES[:20])
    )
    with pytest.raises(ValueError, match="two classes are needed"):
        model.fit(FEATURES[:5], TRUE[:5])


def test_a_hierarchy_of_the_classes_is_an_input(umbel: Umbel) -> None:
    known = np.array(["cat", "dog", "rose"])[TRUE]
    paths = ["animal/cat", "animal/dog", "plant/rose"]
    model = UmbelClassifier("hsvm", inputs={"hierarchy": paths}, umbel=umbel).fit(FEATURES, known)
    assert model.score(FEATURES, known) > 0.9
    assert "animal" in model.tree_.newick()
    with pytest.raises(ValueError, match="`fit` gives it"):
        model.set_params(inputs={"names": ["x", "y", "z"]}).fit(FEATURES, known)


@pytest.mark.parametrize("method", ["fda", "tcs-fs", "bp"])
def test_transformations_are_those_of_the_model(umbel: Umbel, method: str) -> None:
    some = np.where(np.arange(30) % 5 == 0, -1, TRUE)
    objects = np.where(some < 0, None, np.array(["a", "b", "c"], dtype=object)[TRUE])
    for known in (TRUE, some, objects):
        model = UmbelTransformer(method, umbel=umbel, n_clusters=1, random_state=0)
        rows = model.fit_transform(FEATURES, known)
        assert rows.shape == (30, len(model.get_feature_names_out()))
        own = model.model_.transform(features=FEATURES).array()
        np.testing.assert_array_equal(rows, own)
        nearest = KNeighborsClassifier(1).fit(rows[:-1], TRUE[:-1])
        assert nearest.predict(rows[-1:]) == TRUE[-1:]
    single = model.transform(FEATURES.astype(np.float32))
    assert single.dtype == np.float32


def test_frames_give_and_keep_names(umbel: Umbel) -> None:
    need("pandas")
    import pandas as pd

    frame = pd.DataFrame(FEATURES, columns=list("abcd"))
    transformer = UmbelTransformer("fda", umbel=umbel).set_output(transform="pandas")
    out = transformer.fit_transform(frame, TRUE)
    assert list(out.columns) == ["umbeltransformer0", "umbeltransformer1"]
    clusterer = UmbelClusterer("mmc", 2, umbel=umbel).fit(frame)
    assert {each["feature"] for each in clusterer.tree_.features()} <= {*"abcd"}
    for model in (transformer, clusterer, UmbelClassifier("mlr", umbel=umbel).fit(frame, TRUE)):
        assert list(model.feature_names_in_) == list("abcd")
        use = model.transform if model is transformer else model.predict
        use(frame)
        with pytest.raises(ValueError, match="feature names should match"):
            use(frame[list("bacd")])
        with pytest.raises(ValueError, match="features"):
            use(FEATURES[:, :3])


def test_masked_values_are_refused(umbel: Umbel) -> None:
    masked = np.ma.masked_array(FEATURES, FEATURES[3, 1] == FEATURES)
    for face in (UmbelClusterer, UmbelClassifier, UmbelTransformer):
        with pytest.raises(ValueError, match="row 3, column 1 is masked"):
            face(umbel=umbel).fit(masked, TRUE)
    with pytest.raises(ValueError, match="row 2 is masked"):
        UmbelClassifier(umbel=umbel).fit(FEATURES, np.ma.masked_array(TRUE, np.arange(30) == 2))


def test_sparse_rows_are_sent_as_such(umbel: Umbel) -> None:
    rows = sp.csr_array(np.abs(FEATURES))
    for face in (UmbelClusterer("kmeans", 3), UmbelClassifier("mlr"), UmbelTransformer("fda")):
        model = clone(face).set_params(umbel=umbel).fit(rows, TRUE)
        dense = clone(face).set_params(umbel=umbel).fit(rows.toarray(), TRUE)
        use = "transform" if isinstance(face, UmbelTransformer) else "predict"
        sparse, full = getattr(model, use)(rows), getattr(dense, use)(rows.toarray())
        np.testing.assert_allclose(sparse, full, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("face", "method"), [("UmbelClassifier", "kmeans"), ("UmbelTransformer", "kmeans")]
)
def test_a_method_of_another_kind_is_refused(umbel: Umbel, face: str, method: str) -> None:
    estimator = {"UmbelClassifier": UmbelClassifier, "UmbelTransformer": UmbelTransformer}[face]
    with pytest.raises(InputError, match="'kmeans' takes no labels"):
        estimator(method, umbel=umbel).fit(FEATURES, TRUE)


def test_a_pickle_works_without_the_key(umbel: Umbel, monkeypatch: pytest.MonkeyPatch) -> None:
    keyed = Umbel(umbel.url, "a-very-secret-key")
    model = UmbelClusterer("kmeans", 3, umbel=keyed).fit(FEATURES)
    found = model.predict(FEATURES)
    content = pickle.dumps(model)
    assert b"a-very-secret-key" not in content
    assert "a-very-secret-key" not in repr(model) + model._repr_html_()
    monkeypatch.setenv("UMBEL_KEY", "of-the-environment")
    copy = pickle.loads(content)
    np.testing.assert_array_equal(copy.predict(FEATURES), found)
    assert copy.umbel._connection.settings.key == "of-the-environment"
    assert clone(model).umbel._connection.settings.key == "a-very-secret-key"
    assert deepcopy(model).tree_._connection.settings.key == "a-very-secret-key"
