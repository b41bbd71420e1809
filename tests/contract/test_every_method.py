"""What every registered method must do, whatever it computes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from models.calibration.class_rows import class_scores
from models.calibration.climbing import ClassTree, Rows
from models.errors import Cancelled, UsageError
from models.inputs.data import Data
from models.method import Method, Model
from models.numerics.softmax import log_softmax
from tests.conftest import ROOT
from tests.contract.contract_kit import (
    METHODS,
    N_POINTS,
    assert_same,
    clades,
    every_method,
    every_run,
    example,
    fit,
    fitted_example,
    observed,
    permuted,
    ways,
)

ORDER_MATTERS: frozenset[str] = frozenset({"birch", "ghhc"})
"""Methods whose result may depend on the order of rows, by their mathematics: online ones, and
those that draw batches of rows by number."""


@every_method
def test_it_has_a_smallest_set_of_inputs(method: Method[Any]) -> None:
    assert ways(method)


@every_run
def test_the_tree_is_valid_and_holds_every_point(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    fitted = fitted_example(method, roles)
    assert fitted.tree.validate().n_points == N_POINTS
    assert (fitted.model is not None) == method.predicts
    assert (fitted.logits is not None) == ("logits" in method.outputs)
    assert (fitted.features is not None) == method.transforms
    assert all(isinstance(value, float) and np.isfinite(value) for value in fitted.metrics.values())
    assert all(np.isfinite(curve).all() for curve in fitted.curves.values())
    assert all(warning.endswith(".") for warning in fitted.warnings)


@every_run
def test_the_same_seed_gives_the_same_result_on_any_number_of_threads(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    seeded = "seed" in method.Params.model_fields
    given = {"seed": 77} if seeded else {}
    first = (
        fit(method, example(method, roles), **given) if seeded else fitted_example(method, roles)
    )
    assert_same(fit(method, example(method, roles), threads=2, **given), first)


@every_run
def test_the_order_of_rows_does_not_matter(method: Method[Any], roles: tuple[str, ...]) -> None:
    if method.id in ORDER_MATTERS:
        pytest.skip("the order of rows is part of this method's definition")
    data = example(method, roles)
    order = np.random.default_rng(1).permutation(N_POINTS)
    straight = clades(fitted_example(method, roles).tree, np.arange(N_POINTS))
    assert clades(fit(method, permuted(data, order)).tree, order) == straight


@every_run
def test_inputs_are_not_changed(method: Method[Any], roles: tuple[str, ...]) -> None:
    untouched = example(method, roles)
    for role, value in observed(method, roles).data.values.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, untouched.values[role])


@every_run
def test_progress_grows_and_cancel_is_obeyed_at_each_call(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    watched = observed(method, roles)
    fractions = watched.fractions
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
    assert len(watched.stages) > 2, "no stage is reported between the start and the end"

    n_calls = len(fractions)
    for stop in sorted({0, 1, n_calls // 2, n_calls - 1}):
        calls = iter(range(n_calls))

        def cancel(fraction: float, stage: str, message: str = "", stop: int = stop) -> None:
            if next(calls) == stop:  # noqa: B023
                raise Cancelled

        with pytest.raises(Cancelled):
            method.fit(example(method, roles), method.Params(**method.example), cancel)


@every_run
def test_prediction_agrees_with_the_fit_on_its_own_rows(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    data = example(method, roles)
    fitted = fitted_example(method, roles)
    if fitted.model is None:
        with pytest.raises(UsageError) as caught:
            method.predict(None, fitted.tree, data)
        assert caught.value.code == "cannot-predict"
        return
    predictions = method.predict(fitted.model, fitted.tree, data)
    tree = fitted.tree
    assert (predictions.leaf == tree.leaf_of_point).all()
    assert (predictions.start[0], predictions.start[-1]) == (0, len(predictions.node))
    assert len(predictions.node) == len(predictions.probability)
    for row in range(N_POINTS):
        path = predictions.node[predictions.start[row] : predictions.start[row + 1]]
        probability = predictions.probability[predictions.start[row] : predictions.start[row + 1]]
        assert (path[0], path[-1]) == (0, predictions.leaf[row])
        assert (tree.parent[path[1:]] == path[:-1]).all()
        assert probability[0] == 1.0
        assert (np.diff(probability) <= 0).all()
        assert probability[-1] > 0


@every_run
def test_scores_of_classes_agree_with_predictions(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    data = example(method, roles)
    fitted = fitted_example(method, roles)
    if fitted.model is None:
        return
    predictions = method.predict(fitted.model, fitted.tree, data)
    if predictions.classes is not None and not predictions.classes.one_each:
        with pytest.raises(UsageError, match="several labels"):
            class_scores(method, fitted.model, fitted.tree, data)
        return
    scores = class_scores(method, fitted.model, fitted.tree, data)
    probability = np.exp(log_softmax(scores.read(0, N_POINTS)))
    placed = Rows.of(ClassTree.of(fitted.tree, scores.node), probability)
    row = np.repeat(np.arange(N_POINTS), np.diff(predictions.start))
    mass = placed.mass(row, predictions.node)
    if scores.by_edges:
        assert (placed.leaf == predictions.leaf).all()
    else:
        np.testing.assert_allclose(mass, predictions.probability, atol=1e-5)


@every_run
def test_logits_of_the_training_rows_are_those_of_the_fit(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    data = example(method, roles)
    fitted = fitted_example(method, roles)
    if fitted.logits is None:
        with pytest.raises(UsageError) as caught:
            method.logits(fitted.model, data)
        assert caught.value.code == "cannot-predict"
        return
    again = method.logits(fitted.model, data)
    assert again.shape == (N_POINTS, fitted.logits.shape[1])
    if "labels" in roles:
        # What the labels say of a row is certain to the fit alone; here the rows say it as well.
        np.testing.assert_allclose(np.exp(again), np.exp(fitted.logits), atol=1e-6)
    else:
        np.testing.assert_allclose(again, fitted.logits, rtol=1e-9, atol=1e-9)


@every_run
def test_training_rows_are_transformed_as_in_the_fit(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    data = example(method, roles)
    fitted = fitted_example(method, roles)
    if fitted.features is None:
        with pytest.raises(UsageError) as caught:
            method.transform(fitted.model, data)
        assert caught.value.code == "cannot-transform"
        return
    again = method.transform(fitted.model, data)
    assert again.shape == (N_POINTS, fitted.features.shape[1])
    np.testing.assert_allclose(again, fitted.features, rtol=1e-9, atol=1e-9)
    stretches = method.stretches(fitted.model)
    assert stretches is not None
    assert stretches.stretch.shape == stretches.spread.shape == (data.shapes()["features"][1],)
    assert stretches.n_components == again.shape[1]


@every_run
def test_points_of_a_ball_are_those_of_the_fit(method: Method[Any], roles: tuple[str, ...]) -> None:
    fitted = fitted_example(method, roles)
    if "ball" not in method.outputs or fitted.model is None:
        with pytest.raises(NotImplementedError, match="places no points in a ball"):
            method.ball(Model(), Data({}))
        return
    points = method.ball(fitted.model, example(method, roles))
    assert points.shape[0] == fitted.tree.n_points
    assert points.shape[1] >= 2
    assert (np.linalg.norm(points, axis=1) < 1).all()


@every_run
def test_a_model_of_plain_arrays_and_json_predicts_the_same(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    """A model is stored as safetensors and JSON, so it may hold nothing else."""
    fitted = fitted_example(method, roles)
    if fitted.model is None:
        return
    for array in fitted.model.arrays.values():
        assert isinstance(array, np.ndarray)
        assert array.dtype.kind in "fiub"
    assert json.loads(json.dumps(fitted.model.facts, allow_nan=False)) == fitted.model.facts


@every_method
def test_the_catalogue_entry_is_complete(method: Method[Any]) -> None:
    assert method.title
    assert method.paper.title
    assert 1900 < method.paper.year < 2100
    assert method.queue in ("cpu", "gpu")
    assert bool(method.placing) == method.predicts
    assert not method.placing.endswith(".")
    assert method.inputs
    assert all(accepted.description for accepted in method.inputs.values())
    assert set(method.outputs) <= {
        *("tree", "model", "logits", "transformation", "pictures", "confusions", "ball")
    }
    assert "tree" in method.outputs
    package = type(method).__module__.split(".")
    assert method.family == package[-2], "the family is the folder the method lies in"
    assert sys.modules[type(method).__module__].__doc__


def test_importing_a_methods_module_stays_light() -> None:
    """The API reads the catalogue, so no module may pull in what takes long or much memory."""
    code = (
        "import importlib, json, sys\n"
        "heavy = {}\n"
        "for name in json.loads(sys.argv[1]):\n"
        "    before = set(sys.modules)\n"
        "    importlib.import_module(name)\n"
        "    loaded = set(sys.modules) - before\n"
        "    heavy[name] = sorted(set(sys.argv[2:]) & loaded)\n"
        "print(json.dumps({name: loaded for name, loaded in heavy.items() if loaded}))\n"
    )
    modules = [type(method).__module__ for method in METHODS]
    large = ("torch", "sklearn", "cvxpy", "numba", "scipy.optimize", "scipy.spatial", "scipy.stats")
    answer = subprocess.run(
        [sys.executable, "-c", code, json.dumps(modules), *large],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(answer.stdout) == {}


@every_method
def test_every_method_has_a_test_file(method: Method[Any]) -> None:
    *folders, module = type(method).__module__.split(".")
    path = ROOT.joinpath("tests", *folders, f"test_{module}.py")
    assert path.is_file(), f"test it against its definition in {path.relative_to(ROOT)}"


@every_run
def test_leaves_are_called_as_their_points(method: Method[Any], roles: tuple[str, ...]) -> None:
    if "names" not in method.inputs or method.inputs["names"].one_per != "row":
        pytest.skip("names are not those of points")
    data = example(method, roles)
    names = [f"point {row}" for row in range(N_POINTS)]
    tree = fit(method, Data({**data.values, "names": names})).tree
    assert (tree.leaf_of_point == fitted_example(method, roles).tree.leaf_of_point).all()
    for leaf in np.unique(tree.leaf_of_point).tolist():
        own = [names[row] for row in np.flatnonzero(tree.leaf_of_point == leaf)]
        more = f" and {len(own) - 3} more" if len(own) > 3 else ""
        assert tree.name[leaf] in ("noise", ", ".join(own[:3]) + more)
