"""The method `tcs`: figure 6.1, its densities and forms, and which options go together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models import registry
from models.arrays import Float, Int
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.labelled.discovery.finding import find
from models.methods.labelled.supervision import validation
from models.metrics.flat import ari, contingency
from models.running.progress import silent
from tests.models.methods.labelled.bimodal_kit import bimodal, half_known

METHOD = registry.method("tcs")


def fit(features: Any, labels: Any, method: str = "tcs", **params: Any) -> Fitted:
    chosen = registry.method(method)
    params = {"n_clusters": 3, "n_init": 10, **params}
    return chosen.fit(Data({"features": features, "labels": labels}), chosen.Params(**params))


def score(fitted: Fitted, labels: Int, code: Int) -> float:
    """The adjusted Rand index on rows without a label."""
    free = labels < 0
    cluster = np.unique(fitted.tree.leaf_of_point[free], return_inverse=True)[1]
    truth = np.unique(code[free], return_inverse=True)[1]
    value = ari(contingency(cluster, truth, int(cluster.max()) + 1, int(truth.max()) + 1))
    assert value is not None
    return value


def metric_of(fitted: Fitted) -> Float:
    """A, in the scale of the features."""
    assert fitted.model is not None
    projection = fitted.model.arrays["projection"]
    return np.asarray(projection @ projection.T)


WAYS: list[tuple[str, dict[str, Any]]] = [
    ("tcs", {"regularizer": "nuclear", "gamma": 1.0}),
    ("tcs", {"regularizer": "l2", "gamma": 1.0}),
    ("tcs", {"regularizer": "nuclear", "gamma": 1.0, "form": "diagonal"}),
    ("tcs", {"regularizer": "nuclear", "gamma": 1.0, "form": "low-rank", "rank": 1}),
    ("fda", {}),
]


@pytest.mark.parametrize(("method", "params"), WAYS)
def test_figure_6_1_is_recovered(method: str, params: dict[str, Any]) -> None:
    for seed in range(10):
        data, code = half_known(seed)
        labels = data.values["labels"]
        assert score(fit(data.values["features"], labels, method, **params), labels, code) == 1.0


def test_figure_6_1_is_not_seen_by_a_mixture_alone() -> None:
    for seed in range(10):
        data, code = half_known(seed)
        labels = data.values["labels"]
        free = labels < 0
        discovery = find(
            data.values["features"][free],
            np.full(int(free.sum()), -1),
            3,
            clusterer="gmm",
            may_join=False,
            n_init=10,
            rng=np.random.default_rng(seed),
            progress=silent,
        )
        value = ari(contingency(discovery.cluster, code[free], 3, 3))
        assert value is not None
        assert value < 0.3


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("regularizer", ["identity", "logdet", "l1", "l2", "nuclear"])
def test_what_regularizers_leave_along_the_modes(regularizer: str, gamma: float) -> None:
    """Where known means do not differ the likelihood is blind: A stays 1 where the regularizer
    wants it so, and becomes 0 under those that want it small."""
    points, code = bimodal(0)
    # Mirrored rows give all means the same place along the modes.
    points = np.vstack([points, points * [1.0, -1.0]])
    code = np.tile(code, 2)
    labels = np.where(code >= 3, code, -1)
    fitted = fit(points, labels, regularizer=regularizer, gamma=gamma, n_init=1, tol=1e-8)
    scale = np.sqrt(((points - points.mean(axis=0)) ** 2).mean())
    metric = metric_of(fitted) * scale**2
    along = 1.0 if regularizer in ("identity", "logdet", "l1") else 0.0
    assert metric[1, 1] == pytest.approx(along, abs=1e-3)
    assert metric[0, 1] == pytest.approx(0, abs=1e-6)
    assert metric[0, 0] > 1.01 or along == 0.0


def test_identity_does_not_recover_figure_6_1() -> None:
    for seed in range(3):
        data, code = half_known(seed)
        labels = data.values["labels"]
        fitted = fit(data.values["features"], labels, regularizer="identity", gamma=1.0)
        assert score(fitted, labels, code) < 0.3


def circle(seed: int, n_known: int = 3, n_new: int = 3) -> tuple[Float, Int, Int]:
    """Clusters of directions in a plane, at any distance from the origin, and two noisy columns."""
    rng = np.random.default_rng(seed)
    n_clusters = n_known + n_new
    code = np.arange(60 * n_clusters) % n_clusters
    # Known and new clusters take turns around the circle.
    turn = np.where(code < n_known, 2 * code, 2 * (code - n_known) + 1)
    angle = 2 * np.pi * turn / n_clusters + rng.normal(0, 0.15, code.size)
    length = rng.uniform(0.5, 3.0, code.size)
    noise = rng.normal(0, 1.0, (code.size, 2))
    plane = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return (
        length[:, None] * np.column_stack([plane, noise]),
        code,
        np.where(code < n_known, code, -1),
    )


@pytest.mark.parametrize(
    "options", [{}, {"form": "diagonal"}, {"regularizer": "logdet", "gamma": 1.0}]
)
def test_directions_are_found_under_noise(options: dict[str, Any]) -> None:
    points, code, labels = circle(0)
    params = {"density": "vmf", "clusterer": "vmf", "regularizer": "identity", "gamma": 0.1}
    fitted = fit(points, labels, **{**params, **options})
    plain = fit(points, labels, **{**params, "gamma": 1e9})
    assert score(plain, labels, code) < 0.6
    assert score(fitted, labels, code) > 0.9
    values = [value for _, value in fitted.curves["objective"]]
    assert (np.diff(values) <= 0).all()
    assert fitted.metrics["rank"] == 4


def test_directions_are_clustered_as_directions() -> None:
    points, _, labels = circle(0)
    fitted = fit(points, labels, density="vmf", gamma=1.0)
    assert fitted.model is not None
    assert fitted.model.facts["kind"] == "vmf"
    assert any("clustered by their directions" in warning for warning in fitted.warnings)
    wanted = fit(points, labels, density="vmf", gamma=1.0, clusterer="vmf")
    np.testing.assert_array_equal(wanted.tree.leaf_of_point, fitted.tree.leaf_of_point)
    assert not any("clustered by their directions" in warning for warning in wanted.warnings)


def sums(seed: int) -> tuple[Float, Int, Int]:
    """Clusters of the sum of two columns, of which each row has another share."""
    rng = np.random.default_rng(seed)
    code = np.arange(360) % 6
    total, share = rng.gamma(60.0, 1 / 60, 360) * 2.0**code, rng.uniform(0.02, 0.98, size=360)
    points = np.column_stack([total * share, total * (1 - share)])
    return points, code, np.where(code % 2 == 0, code // 2, -1)


def test_gamma_distributed_sums_are_found() -> None:
    points, code, labels = sums(0)
    fitted = fit(points, labels, density="gamma", gamma=1.0)
    plain = fit(points, labels, density="gamma", gamma=1e9)
    assert score(fitted, labels, code) > 0.95
    assert score(plain, labels, code) < 0.6
    assert fitted.model is not None
    assert fitted.model.facts["kind"] == "log-gmm"
    assert (fitted.model.arrays["offset"] == 0).all()
    assert (fitted.model.arrays["projection"] >= 0).all()
    again = METHOD.predict(fitted.model, fitted.tree, Data({"features": points}))
    # New rows may also be placed in known clusters, where few of the fit's own would be.
    free = labels < 0
    assert (again.leaf[free] == fitted.tree.leaf_of_point[free]).mean() > 0.95
    with pytest.raises(UsageError, match="not above 0"):
        METHOD.predict(fitted.model, fitted.tree, Data({"features": points - 1e3}))


def blobs(seed: int) -> tuple[Float, Int, Int]:
    """Nine clusters in four of ten columns, the others noise; three are known."""
    rng = np.random.default_rng(seed)
    code = np.arange(360) % 9
    means = np.pad(2.5 * rng.normal(size=(9, 4)), ((0, 0), (0, 6)))
    spread = np.repeat([1.0, 3.0], [4, 6])
    return means[code] + spread * rng.normal(size=(360, 10)), code, np.where(code < 3, code, -1)


def test_rows_without_labels_help() -> None:
    gained = []
    for seed in range(2):
        points, code, labels = blobs(seed)
        params = {"n_clusters": 6, "regularizer": "l2", "gamma": 1.0, "tol": 1e-3}
        alone = fit(points, labels, **params)
        together = fit(points, labels, use_unlabeled=True, **params)
        gained.append(score(together, labels, code) - score(alone, labels, code))
        assert any("Rows without labels were clustered" in warning for warning in together.warnings)
        assert together.curves["agreement"][0][0] == 2
    assert np.mean(gained) > 0.05


@pytest.fixture
def few_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation where it does not matter what is chosen."""
    monkeypatch.setattr(validation, "FEWEST_SPLITS", 2)
    monkeypatch.setattr(validation, "MOST_SPLITS", 2)


@pytest.mark.usefixtures("few_splits")
def test_rows_without_labels_and_a_choice_that_cannot_use_them() -> None:
    points, code = bimodal(0, n_clusters=7, n_rows=10)
    labels = np.where(code < 4, code, -1)
    fitted = fit(points, labels, use_unlabeled=True, n_init=2, tol=1e-3)
    choices = [w for w in fitted.warnings if "Chosen by validation" in w]
    assert len(choices) == 1
    no_effect = any("'use_unlabeled' has no effect" in w for w in fitted.warnings)
    learned = any("Rows without labels were clustered" in w for w in fitted.warnings)
    assert no_effect != learned


@pytest.mark.usefixtures("few_splits")
@pytest.mark.parametrize("density", ["vmf", "gamma"])
def test_auto_chooses_the_weight_of_identity_for_other_densities(density: str) -> None:
    rng = np.random.default_rng(0)
    code = np.arange(70) % 7
    points = np.exp(rng.normal(size=(7, 3))[code] + 0.2 * rng.normal(size=(70, 3)))
    labels = np.where(code < 4, code, -1)
    fitted = fit(points, labels, density=density, n_init=1, tol=1e-3)
    (choice,) = (w for w in fitted.warnings if "Chosen by validation" in w)
    assert "identity" in choice or "nothing" in choice
    assert len(fitted.curves["validation_nmi"]) == 5


@pytest.mark.usefixtures("few_splits")
@pytest.mark.parametrize("form", [{"form": "diagonal"}, {"form": "low-rank", "rank": 2}])
def test_auto_stays_within_the_form(form: dict[str, Any]) -> None:
    points, code = bimodal(0, n_clusters=7, n_rows=10)
    fitted = fit(points, np.where(code < 4, code, -1), n_init=1, tol=1e-3, **form)
    # Nothing, and three regularizers by four weights: no discriminants, which are of no form.
    assert len(fitted.curves["validation_nmi"]) == 13


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("form", {"density": "vmf", "form": "low-rank", "rank": 1}),
    ("form", {"density": "gamma", "form": "diagonal"}),
    ("regularizer", {"density": "vmf", "regularizer": "l2"}),
    ("regularizer", {"density": "vmf", "regularizer": "nuclear"}),
    ("regularizer", {"density": "gamma", "regularizer": "logdet"}),
    ("regularizer", {"form": "low-rank", "rank": 1, "regularizer": "logdet"}),
    ("regularizer", {"form": "low-rank", "rank": 1, "regularizer": "l1"}),
    ("rank", {"form": "low-rank"}),
    ("rank", {"rank": 1}),
    ("rank", {"form": "low-rank", "rank": 3, "regularizer": "l2", "gamma": 1.0}),
    ("clusterer", {"density": "gamma", "clusterer": "vmf"}),
    ("n_components", {"density": "gamma", "n_components": 1}),
    ("use_unlabeled", {"density": "vmf", "use_unlabeled": True}),
    ("use_unlabeled", {"form": "low-rank", "rank": 1, "use_unlabeled": True}),
    ("use_unlabeled", {"use_unlabeled": True, "n_clusters": 1}),
    ("use_unlabeled", {"use_unlabeled": True, "choose": "bic"}),
]


@pytest.mark.parametrize(("parameter", "params"), REFUSED)
def test_options_that_do_not_go_together_are_refused(
    parameter: str, params: dict[str, Any]
) -> None:
    points, code = bimodal(0)
    with pytest.raises(UsageError) as caught:
        fit(np.abs(points) + 1, np.where(code < 3, code, -1), **params)
    assert caught.value.where["parameter"] == parameter
    assert repr(parameter) in caught.value.detail


def test_rows_that_a_density_cannot_take_are_refused() -> None:
    points, code = bimodal(0)
    labels = np.where(code < 3, code, -1)
    with pytest.raises(UsageError, match="not above 0 in row 0 "):
        fit(points, labels, density="gamma")
    points = np.vstack([points, points.mean(axis=0)])
    with pytest.raises(UsageError, match="Row 360 "):
        fit(points, np.append(labels, -1), density="vmf")


def test_single_precision() -> None:
    points, _, labels = circle(0)
    for params in (
        {"density": "vmf", "gamma": 1.0},
        {"form": "low-rank", "rank": 2, "regularizer": "l2", "gamma": 1.0},
        {"density": "gamma", "gamma": 10.0},
    ):
        features = np.abs(points) + 0.1
        exact = fit(features, labels, **params)
        rough = fit(features.astype(np.float32), labels, **params)
        assert rough.metrics["objective"] == pytest.approx(exact.metrics["objective"], rel=1e-3)


def test_a_weight_that_leaves_nothing_gives_way_to_a_smaller_one() -> None:
    """Two known clusters that hardly differ: nothing can be validated, and the trace wins."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, -1], 40)
    points = rng.normal(size=(120, 3)) + 0.2 * (labels == 1)[:, None]
    data = Data({"features": points, "labels": labels})
    fit = METHOD.fit(data, METHOD.Params(n_clusters=2, n_init=2, regularizer="nuclear"))
    given_up = [warning for warning in fit.warnings if "the transformation is 0" in warning]
    assert given_up
    assert fit.metrics["n_components"] >= 1
    with pytest.raises(UsageError, match="use a smaller 'gamma'"):
        METHOD.fit(data, METHOD.Params(n_clusters=2, regularizer="nuclear", gamma=40.0))


def test_too_few_clusters_to_validate_leave_a_given_weight() -> None:
    data, _ = half_known(0)
    labels = np.asarray(data.values["labels"])
    few = Data({**data.values, "labels": np.where(labels > 3, labels, -1)})
    fit = METHOD.fit(few, METHOD.Params(n_clusters=3, n_init=2, gamma=5.0))
    assert fit.metrics["gamma"] == pytest.approx(5.0)
    assert any("too few to validate on" in warning for warning in fit.warnings)


def test_from_two_or_three_known_clusters_nothing_is_learned_but_by_request() -> None:
    data, code = half_known(0)
    labels = np.asarray(data.values["labels"])
    labels = np.where(labels > 3, labels, -1)
    few = Data({**data.values, "labels": labels})
    params = METHOD.Params(n_clusters=3, n_init=2)
    auto = METHOD.fit(few, params)
    alone = METHOD.fit(few, params.model_copy(update={"regularizer": "identity", "gamma": 1e12}))
    assert any("no transformation was learned" in warning for warning in auto.warnings)
    assert score(auto, labels, code) == score(alone, labels, code)
    given = METHOD.fit(few, params.model_copy(update={"regularizer": "l2"}))
    assert any("was learned with l2" in warning for warning in given.warnings)


def long_classes(seed: int) -> tuple[Float, Int]:
    """Eight classes of one shape, three times as long in a direction in which means differ little
    as they are apart in the others."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(8), 40)
    means = np.column_stack([rng.permutation(8) * 1.0, rng.permutation(8) * 4.0])
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    values = means[code] + rng.normal(size=(code.size, 2)) * [12.0, 0.5]
    return values @ turn, code


def test_long_clusters_get_a_covariance_by_validation_where_a_spread_would_lose_them() -> None:
    features, code = long_classes(0)
    labels = np.where(code >= 5, -1, code)
    options = {"regularizer": "identity", "gamma": 1e9}
    one = fit(features, labels, covariance="spherical", **options)
    auto = fit(features, labels, **options)
    assert auto.chosen["covariance"].value in ("tied", "full")
    assert "spherical 0." in auto.chosen["covariance"].reason
    assert "covariance" not in one.chosen
    assert score(auto, labels, code) > 0.9 > score(one, labels, code) + 0.2
    # New rows are placed by the shapes too.
    free = labels < 0
    placed = METHOD.predict(auto.model, auto.tree, Data({"features": features[free]}))
    assert (placed.leaf == auto.tree.leaf_of_point[free]).mean() > 0.95


def test_few_known_clusters_keep_one_spread_and_say_so() -> None:
    data, _ = half_known(0)
    fitted = METHOD.fit(data, METHOD.Params(n_clusters=3, n_init=5))
    assert fitted.chosen["covariance"].value == "spherical"
    assert "too few to validate on" in fitted.chosen["covariance"].reason
