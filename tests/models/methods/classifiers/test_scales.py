"""Classifiers on columns of any offset and size: the optimum of the stated objective.

The tests find the optimum by L-BFGS in other coordinates: columns far from 0 are centred, an
orthogonal matrix turns the centre into one column, and all are divided by their sizes.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Fitted
from models.methods.classifiers.classes.coordinates import coordinates_of
from models.methods.classifiers.classes.problem import design_of
from models.registry import method
from models.tree import class_paths

# the root
# ├── g
# │   ├── a
# │   └── b
# └── c
HIERARCHY = class_paths.read("g/a\ng/b\nc")
N = 90
RNG = np.random.default_rng(0)
CODE = RNG.integers(0, 3, N)
NEAR = RNG.normal(size=(N, 3)) + 2.0 * RNG.normal(size=(3, 3))[CODE]
SPREAD = RNG.normal(size=N)
START = 1.7e9 + 2.6e6 * RNG.random(N)
END = START + 600.0 * RNG.random(N)
LABELS = np.array(["a", "b", "c"], dtype=object)[CODE]

COLUMNS = {
    "near": NEAR,
    "one column, 3e4": np.c_[NEAR, 3e4 + 1e4 * SPREAD],
    "one column, 1e8": np.c_[NEAR, 1e8 + 3e7 * SPREAD],
    "year": np.c_[NEAR, 2010.0 + 5.0 * SPREAD],
    "unix seconds": np.c_[NEAR, 1.7e9 + 1e6 * SPREAD],
    "two unix seconds": np.c_[NEAR, START, END],
    "two unix milliseconds": np.c_[NEAR, 1e3 * START, 1e3 * END],
    **{f"all + 1e{power}": NEAR + 10.0**power for power in range(4, 10)},
    "all - 1e7": NEAR - 1e7,
    "constant 5": np.c_[NEAR, np.full(N, 5.0)],
    "constant 1e9": np.c_[NEAR, np.full(N, 1e9)],
    "equal columns": np.c_[NEAR, NEAR[:, 0] + 1e8, NEAR[:, 0] + 1e8],
    "one column times 1e6": NEAR * [1.0, 1.0, 1e6],
    "times 1e-30": NEAR * 1e-30,
    "times 1e-3": NEAR * 1e-3,
}


def coordinates(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which every column is moderate, and the factors of squares in the penalty."""
    mean = features.mean(axis=0)
    mean[np.abs(mean) < 30.0 * features.std(axis=0)] = 0.0
    axis = np.append(mean, 1.0)
    length = np.linalg.norm(axis)
    # The complement of the axis, from the difference of each column with the constant one.
    turn = np.linalg.qr(np.c_[axis, np.eye(len(axis))[:, : len(mean)]])[0]
    turn[:, 0] = axis / length
    rows = np.c_[features - mean, np.zeros(len(features))] @ turn
    rows[:, 0] += length
    sizes = np.maximum(np.abs(rows).max(axis=0), 1e-2)
    return rows / sizes, 1.0 / sizes**2


@functools.cache
def optimum(name: str, loss: str) -> float:
    """The least objective: softmax, logistic against the rest, or that over the tree."""
    rows, factors = coordinates(COLUMNS[name])
    sign = np.where(np.eye(3)[CODE] > 0, 1.0, -1.0)
    # Nodes: the root, g, a, b, c.
    tree = loss == "tree"
    n_nodes, leaves = (5, [2, 3, 4]) if tree else (3, [0, 1, 2])
    above = np.eye(n_nodes)
    if tree:
        for node, parent in ((1, 0), (2, 1), (3, 1), (4, 0)):
            above[node, parent] = -1.0

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(n_nodes, -1)
        away = above @ weights
        scores = rows @ weights[leaves].T
        gradient = above.T @ (factors * away)
        if loss == "softmax":
            top = scores.max(axis=1)
            total = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
            lost = float((total - scores[np.arange(N), CODE]).sum())
            slope = np.exp(scores - total[:, None]) - np.eye(3)[CODE]
        else:
            lost = float(np.logaddexp(0.0, -sign * scores).sum())
            slope = -sign * np.exp(-np.logaddexp(0.0, sign * scores))
        gradient[leaves] += slope.T @ rows
        return 0.5 * float((factors * away**2).sum()) + lost, gradient.ravel()

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-13, "gtol": 1e-9}
    start = np.zeros(n_nodes * rows.shape[1])
    return float(minimize(value, start, jac=True, method="L-BFGS-B", options=options).fun)


def fit(name: str, features: np.ndarray | sp.csr_array, **params: object) -> Fitted:
    classifier = method(name)
    data = {"features": features, "labels": LABELS, "hierarchy": HIERARCHY}
    return classifier.fit(Data(data), classifier.Params(**params))


def right(name: str, fitted: Fitted, features: np.ndarray | sp.csr_array) -> float:
    """The share of rows whose label is predicted."""
    assert fitted.model is not None
    found = method(name).predict(fitted.model, fitted.tree, Data({"features": features})).classes
    assert found is not None
    return float(
        np.mean([found.name[code] == own for code, own in zip(found.code, LABELS, strict=True)])
    )


LOSS = {"mlr": "softmax", "rmlr": "softmax", "blr": "logistic", "rr-lr": "tree"}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_optimum_is_that_of_the_columns_as_they_came(name: str) -> None:
    features = COLUMNS[name]
    for classifier, loss in LOSS.items():
        params = {"tol": 1e-8} if classifier == "mlr" else {}
        fitted = fit(classifier, features, **params)
        least = optimum(name, loss)
        assert fitted.metrics["objective"] == pytest.approx(least, rel=1e-5), classifier
        assert fitted.model is not None
        small = name.startswith("times 1e-")
        assert ["No column of input 'features'" in one for one in fitted.warnings] == [True] * small
        if not small:
            assert right(classifier, fitted, features) > 0.75, classifier


def margins(name: str, classifier: str) -> float:
    """The least objective of a support vector machine, by a solver of cones."""
    import cvxpy

    rows, factors = coordinates(COLUMNS[name])
    units = np.sqrt(factors)
    # Nodes: the root, g, a, b, c.
    weights = [cvxpy.Variable(rows.shape[1]) for _ in range(5)]
    root, g, a, b, c = weights
    leaves, own = [a, b, c], np.eye(3)[CODE] > 0

    def squares(*some: object) -> object:
        return 0.5 * sum(cvxpy.sum_squares(cvxpy.multiply(units, one)) for one in some)

    def hinge(some: np.ndarray, sign: np.ndarray, of: object) -> object:
        return cvxpy.sum(cvxpy.pos(1.0 - cvxpy.multiply(sign, rows[some] @ of)))

    def behind(lead: list[object], losses: list[float], some: np.ndarray) -> object:
        """The sum over rows of the largest loss that is not led by."""
        each = [loss - rows[some] @ one for one, loss in zip(lead, losses, strict=True)]
        return cvxpy.sum(cvxpy.maximum(0.0, *each))

    everywhere = np.ones(N, dtype=bool)
    signs = np.where(own, 1.0, -1.0).T
    if classifier in ("bsvm", "rr-svm"):
        loss = sum(hinge(everywhere, sign, w) for sign, w in zip(signs, leaves, strict=True))
        near = leaves if classifier == "bsvm" else [root, g - root, a - g, b - g, c - root]
        objective = squares(*near) + loss
    elif classifier == "td-svm":
        below, turns = ~own[:, 2], signs[:, ~own[:, 2]]
        objective = squares(g, c, a, b) + hinge(everywhere, signs[2], c)
        objective += hinge(everywhere, -signs[2], g)
        objective += hinge(below, turns[0], a) + hinge(below, turns[1], b)
    elif classifier == "msvm":
        objective = squares(*leaves) + sum(
            behind([leaves[k] - w for w in leaves if w is not leaves[k]], [1.0, 1.0], own[:, k])
            for k in range(3)
        )
    elif classifier == "hsvm":
        objective = squares(g, a, b, c) + behind([a - b, a + g - c], [1.0, 1.5], own[:, 0])
        objective += behind([b - a, b + g - c], [1.0, 1.5], own[:, 1])
        objective += behind([c - a - g, c - b - g], [1.5, 1.5], own[:, 2])
    else:
        # Products of g with a and b count K = 1 / (2 sqrt(2)), half of what is convex; K |g.a| +
        # K |g.b| is the largest of K g.(s a + t b) over signs, whose squares are completed.
        K = 0.5 / np.sqrt(2.0)
        objective = squares(c) + cvxpy.maximum(
            *(
                squares(g + K * (s * a + t * b))
                + squares(np.sqrt(1.0 - 2.0 * K**2) * (s * a + t * b) / np.sqrt(2.0))
                + squares((s * a - t * b) / np.sqrt(2.0))
                for s in (1.0, -1.0)
                for t in (1.0, -1.0)
            )
        )
        objective += behind([g - c, a - b], [1.0, 1.0], own[:, 0])
        objective += behind([g - c, b - a], [1.0, 1.0], own[:, 1])
        objective += behind([c - g], [1.0], own[:, 2])
    problem = cvxpy.Problem(cvxpy.Minimize(objective))
    options = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-12}
    return float(problem.solve(solver="CLARABEL", **options))


MARGINS = ["bsvm", "rr-svm", "td-svm", "msvm", "hsvm", "ot"]


@pytest.mark.parametrize("classifier", MARGINS)
@pytest.mark.needs("cvxpy", "clarabel")
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_margins_have_the_optimum_of_the_columns_as_they_came(classifier: str) -> None:
    for name in ("one column, 1e8", "year", "two unix milliseconds", "all + 1e9", "equal columns"):
        fitted = fit(classifier, COLUMNS[name], tol=1e-5)
        least = margins(name, classifier)
        assert fitted.metrics["objective"] == pytest.approx(least, rel=2e-5), name


@pytest.mark.parametrize("classifier", MARGINS)
def test_margins_are_proven_on_any_offset_and_size(classifier: str) -> None:
    """By the gap, whose dual is computed for the stated problem."""
    for name, features in {**COLUMNS, "times 1e12": NEAR * 1e12}.items():
        for given in (features, sp.csr_array(features)) if name == "year" else (features,):
            fitted = fit(classifier, given)
            small = name.startswith("times 1e-")
            assert ["No column of input" in one for one in fitted.warnings] == [True] * small, name
            gap = fitted.metrics.get("gap", 0.0)
            assert 0.0 <= gap <= 1e-2 * fitted.metrics["objective"], name
            if not small:
                assert right(classifier, fitted, given) > 0.75, name


@pytest.mark.parametrize("classifier", MARGINS)
def test_margins_that_are_not_proven_are_refused_by_column(classifier: str) -> None:
    for features in (NEAR * [1.0, 1e150, 1.0], NEAR * 1e30):
        with pytest.raises(UsageError, match=r"Column \d .*1\d*|2\d*.*standardize") as refused:
            fit(classifier, features, tol=1e-12)
        assert refused.value.where["role"] == "features"
        assert refused.value.where["column"] in (1, 2)
    assert fit(classifier, NEAR, tol=1e-12, max_iter=1).warnings


def test_values_of_scores_do_not_cancel_far_from_zero() -> None:
    """Probabilities of rows + 1e9 are the same at 1e8 and 1e9."""
    far, further = (COLUMNS[f"all + 1e{power}"] for power in (8, 9))
    for classifier in ("mlr", "rmlr", "blr", "rr-lr", "hblr"):
        tables = []
        for features in (far, further):
            fitted = fit(classifier, features)
            assert fitted.model is not None
            rows = Data({"features": features})
            classes = method(classifier).predict(fitted.model, fitted.tree, rows).classes
            assert classes is not None
            tables.append(classes.probability)
        np.testing.assert_allclose(tables[0], tables[1], atol=2e-3)


@pytest.mark.parametrize("params", [{}, {"covariance": "M1"}, {"inference": "variational"}])
def test_hblr_settles_at_the_same_point_for_any_offset(params: dict[str, str]) -> None:
    ends = [fit("hblr", NEAR + offset, **params) for offset in (1e5, 1e7, 1e9)]
    for end in ends:
        assert not end.warnings
        assert right("hblr", end, NEAR + (1e5, 1e7, 1e9)[ends.index(end)]) > 0.75
    if "inference" not in params:
        first, *others = (end.metrics["log_posterior"] for end in ends)
        assert others == pytest.approx([first, first], rel=1e-4)


def test_what_needs_columns_as_they_came_is_refused_by_name() -> None:
    for classifier, params in (("hblr", {"covariance": "M2"}), ("rr-lr", {"block_size": 1})):
        with pytest.raises(
            UsageError, match=r"Column 3 .* around 1\.[67]\d*e\+09.*standardize"
        ) as refused:
            fit(classifier, COLUMNS["unix seconds"], **params)
        assert refused.value.where["column"] == 3


@pytest.mark.parametrize(("kind", "offset"), [(np.float64, 1e13), (np.float32, 1e6)])
def test_a_spread_that_is_lost_in_its_offset_is_a_warning(kind: type, offset: float) -> None:
    features = NEAR.astype(kind)
    features[:, 1] += kind(offset)
    fitted = fit("mlr", features)
    assert "Column 1 (counted from 0) of input 'features' varies by" in fitted.warnings[0]
    assert not fit("mlr", NEAR.astype(kind)).warnings


@pytest.mark.parametrize("intercept", [True, False])
def test_turned_columns_are_a_rotation(intercept: bool) -> None:
    """Products of rows, hence all of a problem with a penalty of squares, stay; sparse as dense."""
    features = np.c_[NEAR[:, 0], 100.0 + SPREAD, NEAR[:, 1], np.full(N, -70.0), 500.0 - SPREAD]
    design = design_of(features, intercept)
    turn, _ = coordinates_of(design, 5, 1e-16)
    assert turn is not None
    assert turn.center.columns.tolist() == [3, 1, 4]
    turned = np.asarray(turn.turned(design))
    np.testing.assert_allclose(turned @ turned.T, design @ design.T, rtol=1e-12)
    sparse = turn.turned(design_of(sp.csr_array(features), intercept)).toarray()
    np.testing.assert_allclose(sparse, turned, rtol=1e-12, atol=1e-12)
    weights = RNG.normal(size=(2, design.shape[1]))
    np.testing.assert_allclose(
        turn.center.scores(features, turn.plain(weights)),
        turned @ weights.T,
        rtol=1e-11,
        atol=1e-10,
    )
    np.testing.assert_allclose(
        turned @ turn.turned_weights(weights).T, design @ weights.T, rtol=1e-11, atol=1e-10
    )
    if not intercept:
        fitted = fit("blr", features, intercept=False)
        assert not fitted.warnings
        assert right("blr", fitted, sp.csr_array(features)) > 0.5


@pytest.mark.parametrize("scale", [1e12, 1e30])
def test_large_columns_are_separated_or_the_bound_is_a_warning(scale: float) -> None:
    for features in (NEAR * scale, NEAR * [1.0, scale, 1.0]):
        for classifier in LOSS:
            fitted = fit(classifier, features, **({"max_iter": 60} if classifier == "rmlr" else {}))
            assert np.isfinite(fitted.metrics["objective"])
            if fitted.warnings:
                assert "Not converged" in fitted.warnings[0], classifier
                assert "Column" in fitted.warnings[-1], classifier
            assert right(classifier, fitted, features) > 0.75, classifier


def test_values_that_scores_have_no_room_for_are_refused_by_column() -> None:
    fitted = fit("td-svm", NEAR)
    assert fitted.model is not None
    rows = NEAR.copy()
    rows[4, 2] = 1e308
    with pytest.raises(UsageError, match="at row 4, column 2") as refused:
        method("td-svm").predict(fitted.model, fitted.tree, Data({"features": rows}))
    assert refused.value.where["column"] == 2


@pytest.mark.parametrize("classifier", ["mlr", "blr", "corrmnl"])
def test_weights_that_single_precision_has_no_room_for_are_kept(classifier: str) -> None:
    params = {"n_samples": 20, "burn_in": 20} if classifier == "corrmnl" else {}
    features = NEAR * 1e100
    assert right(classifier, fit(classifier, features, **params), features) > 0.75
