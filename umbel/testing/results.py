"""What every method must do, whatever it computes: trees, seeds, order, progress, prediction, the
catalogue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from models.calibration.class_rows import class_scores
from models.calibration.climbing import ClassTree, TreeProbabilities
from models.errors import Cancelled, UsageError
from models.inputs.data import Data
from models.method import Method, Model
from models.numerics.rows import log_softmax
from models.plugins.loading import problem_of
from umbel.testing.examples import N_POINTS, Example, assert_same, clades, permuted
from umbel.testing.suite import Suite, once, where


class Results(Suite):
    """What a fit gives, whatever the method computes."""

    def test_the_tree_is_valid_and_holds_every_point(self, example: Example) -> None:
        fitted = example.fitted
        assert fitted.tree.validate().n_points == N_POINTS
        assert (fitted.model is not None) == example.method.predicts
        assert (fitted.logits is not None) == ("logits" in example.method.outputs)
        assert (fitted.features is not None) == example.method.transforms
        assert all(
            isinstance(value, float) and np.isfinite(value) for value in fitted.metrics.values()
        )
        assert all(np.isfinite(curve).all() for curve in fitted.curves.values())
        assert all(warning.endswith(".") for warning in fitted.warnings)

    def test_the_same_seed_gives_the_same_result_on_any_number_of_threads(
        self, example: Example
    ) -> None:
        assert_same(example.fit(threads=2), example.fitted)

    def test_the_order_of_rows_does_not_matter(self, example: Example) -> None:
        if example.method.id in self.order_matters:
            pytest.skip("the order of rows is part of this method's definition")
        data = example.data()
        order = np.random.default_rng(1).permutation(N_POINTS)
        straight = clades(example.fitted.tree, np.arange(N_POINTS))
        assert clades(example.fit(permuted(data, order)).tree, order) == straight

    def test_inputs_are_not_changed(self, example: Example) -> None:
        untouched = example.data()
        for role, value in example.observed.data.values.items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(value, untouched.values[role])

    def test_progress_grows_and_cancel_is_obeyed_on_the_way(self, example: Example) -> None:
        watched = example.observed
        fractions = watched.fractions
        assert fractions == sorted(fractions)
        assert (fractions[0], fractions[-1]) == (0.0, 1.0)
        assert len(watched.stages) > 2, "no stage is reported between the start and the end"

        n_calls = len(fractions)
        # `Method.fit` itself makes the first and the last call.
        for stop in sorted({1, n_calls // 2, n_calls - 2}):
            calls = iter(range(n_calls))

            def cancel(fraction: float, stage: str, message: str = "", stop: int = stop) -> None:
                if next(calls) == stop:  # noqa: B023
                    raise Cancelled

            with pytest.raises(Cancelled):
                example.method.fit(example.data(), example.params(), cancel)

    def test_prediction_agrees_with_the_fit_on_its_own_rows(self, example: Example) -> None:
        data = example.data()
        fitted = example.fitted
        if fitted.model is None:
            with pytest.raises(UsageError) as caught:
                example.method.predict(Model(), fitted.tree, data)
            assert caught.value.code == "cannot-predict"
            return
        predictions = example.method.predict(fitted.model, fitted.tree, data)
        tree = fitted.tree
        assert (predictions.leaf == tree.leaf_of_point).all()
        assert (predictions.start[0], predictions.start[-1]) == (0, len(predictions.node))
        assert len(predictions.node) == len(predictions.probability)
        for row in range(N_POINTS):
            path = predictions.node[predictions.start[row] : predictions.start[row + 1]]
            probability = predictions.probability[
                predictions.start[row] : predictions.start[row + 1]
            ]
            assert (path[0], path[-1]) == (0, predictions.leaf[row])
            assert (tree.parent[path[1:]] == path[:-1]).all()
            assert probability[0] == 1.0
            assert (np.diff(probability) <= 0).all()
            assert probability[-1] > 0

    @where(lambda example: example.method.predicts)
    def test_scores_of_classes_agree_with_predictions(self, example: Example) -> None:
        data = example.data()
        fitted = example.fitted
        assert fitted.model is not None
        predictions = example.method.predict(fitted.model, fitted.tree, data)
        if predictions.classes is not None and not predictions.classes.one_each:
            with pytest.raises(UsageError, match="several labels"):
                class_scores(example.method, fitted.model, fitted.tree, data)
            return
        scores = class_scores(example.method, fitted.model, fitted.tree, data)
        probability = np.exp(log_softmax(scores.read(0, N_POINTS)))
        placed = TreeProbabilities.of(ClassTree.of(fitted.tree, scores.node), probability)
        row = np.repeat(np.arange(N_POINTS), np.diff(predictions.start))
        mass = placed.mass(row, predictions.node)
        if scores.by_edges:
            assert (placed.leaf == predictions.leaf).all()
        else:
            np.testing.assert_allclose(mass, predictions.probability, atol=1e-5)

    def test_logits_of_the_training_rows_are_those_of_the_fit(self, example: Example) -> None:
        data = example.data()
        fitted = example.fitted
        if fitted.logits is None:
            with pytest.raises(UsageError) as caught:
                example.method.logits(fitted.model or Model(), data)
            assert caught.value.code == "cannot-predict"
            return
        again = example.method.logits(fitted.model or Model(), data)
        assert again.shape == (N_POINTS, fitted.logits.shape[1])
        if "labels" in example.roles:
            # What labels say of a row is certain to the fit alone; here the rows say it, too.
            np.testing.assert_allclose(np.exp(again), np.exp(fitted.logits), atol=1e-6)
        else:
            np.testing.assert_allclose(again, fitted.logits, rtol=1e-9, atol=1e-9)

    def test_training_rows_are_transformed_as_in_the_fit(self, example: Example) -> None:
        data = example.data()
        fitted = example.fitted
        if fitted.features is None:
            with pytest.raises(UsageError) as caught:
                example.method.transform(fitted.model or Model(), data)
            assert caught.value.code == "cannot-transform"
            return
        assert fitted.model is not None
        again = example.method.transform(fitted.model, data)
        assert again.shape == (N_POINTS, fitted.features.shape[1])
        np.testing.assert_allclose(again, fitted.features, rtol=1e-9, atol=1e-9)
        stretches = example.method.stretches(fitted.model)
        assert stretches is not None
        assert stretches.stretch.shape == stretches.spread.shape == (data.shapes()["features"][1],)
        assert stretches.n_components == again.shape[1]

    def test_points_of_a_ball_are_those_of_the_fit(self, example: Example) -> None:
        fitted = example.fitted
        if "ball" not in example.method.outputs or fitted.model is None:
            with pytest.raises(NotImplementedError, match="places no points in a ball"):
                example.method.ball(Model(), Data({}))
            return
        points = example.method.ball(fitted.model, example.data())
        assert points.shape[0] == fitted.tree.n_points
        assert points.shape[1] >= 2
        assert (np.linalg.norm(points, axis=1) < 1).all()

    @where(lambda example: example.method.predicts)
    def test_a_model_of_plain_arrays_and_json_predicts_the_same(self, example: Example) -> None:
        """A model is stored as safetensors and JSON, so it may hold nothing else."""
        fitted = example.fitted
        assert fitted.model is not None
        for array in fitted.model.arrays.values():
            assert isinstance(array, np.ndarray)
            assert array.dtype.kind in "fiub"
        assert json.loads(json.dumps(fitted.model.facts, allow_nan=False)) == fitted.model.facts

    @once
    def test_the_catalogue_entry_is_complete(self, example: Example) -> None:
        method = example.method
        assert problem_of(method, method.id) is None
        assert method.title
        assert method.paper.title
        assert 1900 < method.paper.year < 2100
        assert not method.placing.endswith(".")
        assert all(accepted.description for accepted in method.inputs.values())
        assert sys.modules[type(method).__module__].__doc__

    def test_importing_a_methods_module_stays_light(self) -> None:
        """The API reads the catalogue, so no module may pull in what takes long or much memory."""
        code = (
            "import importlib, json, sys, umbel.floors\n"
            "heavy = {}\n"
            "for name in json.loads(sys.argv[1]):\n"
            "    before = set(sys.modules)\n"
            "    importlib.import_module(name)\n"
            "    loaded = set(sys.modules) - before\n"
            "    heavy[name] = sorted(set(sys.argv[2:]) & loaded)\n"
            "print(json.dumps({name: loaded for name, loaded in heavy.items() if loaded}))\n"
        )
        modules = sorted({type(example.method).__module__ for example in self.examples})
        large = (
            "torch",
            "sklearn",
            "cvxpy",
            "numba",
            "scipy.optimize",
            "scipy.spatial",
            "scipy.stats",
        )
        answer = subprocess.run(
            [sys.executable, "-c", code, json.dumps(modules), *large],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(answer.stdout) == {}

    @where(lambda example: names_are_per_row(example.method))
    def test_leaves_are_called_as_their_points(self, example: Example) -> None:
        data = example.data()
        names = [f"point {row}" for row in range(N_POINTS)]
        tree = example.fit(Data({**data.values, "names": names})).tree
        assert (tree.leaf_of_point == example.fitted.tree.leaf_of_point).all()
        for leaf in np.unique(tree.leaf_of_point).tolist():
            own = [names[row] for row in np.flatnonzero(tree.leaf_of_point == leaf)]
            more = f" and {len(own) - 3} more" if len(own) > 3 else ""
            assert tree.name[leaf] in ("noise", ", ".join(own[:3]) + more)


def names_are_per_row(method: Method[Any]) -> bool:
    """Whether each row may have a name."""
    return "names" in method.inputs and method.inputs["names"].one_per == "row"
