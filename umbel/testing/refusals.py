"""Inputs that every method refuses: the error names what is wrong, and where."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.items import ItemTable
from models.roles import role_of
from umbel.testing.examples import N_POINTS, SQUARE, Example, by_point, some_rows, spoil
from umbel.testing.suite import Suite, once, where


class Refusals(Suite):
    """Inputs that are refused: the error names what is wrong, and where."""

    def test_a_value_that_is_not_finite_is_named(self, example: Example) -> None:
        for role, bad in product(example.roles, (np.nan, np.inf, -np.inf)):
            data: Any = example.data()
            place = spoil(data.values[role], bad)
            # A class that a row cannot have is -inf among its logits.
            if place is None or (role == "logits" and bad == -np.inf):
                continue
            with pytest.raises(UsageError) as caught:
                example.fit(data)
            assert caught.value.code == "not-finite"
            assert caught.value.where == {"role": role, **place}
            assert ", ".join(f"{what} {at}" for what, at in place.items()) in caught.value.detail

    @once
    def test_unknown_and_missing_roles_are_refused(self, example: Example) -> None:
        data: Any = example.data()
        with pytest.raises(UsageError) as caught:
            example.fit(Data({**data.values, "no_such_role": np.zeros((N_POINTS, 2))}))
        assert caught.value.where == {"role": "no_such_role"}
        with pytest.raises(UsageError) as caught:
            example.fit(Data({}))
        assert caught.value.where["role"] in example.method.inputs

    @where(
        lambda example: example.number == 0 and "names" in example.method.inputs, needs=lambda _: ()
    )
    def test_a_wrong_number_of_names_is_refused(self, example: Example) -> None:
        data: Any = example.data()
        with pytest.raises(UsageError) as caught:
            example.fit(Data({**data.values, "names": ["a"]}))
        assert caught.value.where == {"role": "names"}

    def test_no_rows_are_refused(self, example: Example) -> None:
        data: Any = example.data()
        empty = {
            role: some_rows(value, np.arange(0)) if by_point(value) else value
            for role, value in data.values.items()
        }
        error = refusal(example, Data(empty))
        assert error.code in TOO_FEW
        assert error.where.get("role", example.roles[0]) in example.roles

    def test_no_columns_are_refused(self, example: Example) -> None:
        data: Any = example.data()
        role = example.roles[0]
        table = isinstance(data.values[role], ItemTable)
        empty = ItemTable(()) if table else np.empty((N_POINTS, 0))
        error = refusal(example, Data({**data.values, role: empty}))
        assert error.code in TOO_FEW
        assert error.where.get("role", role) == role

    def test_inputs_of_different_length_are_refused(self, example: Example) -> None:
        data: Any = example.data()
        for role in (name for name in example.roles[1:] if by_point(data.values[name])):
            fewer = some_rows(data.values[role], np.arange(N_POINTS - 1))
            error = refusal(example, Data({**data.values, role: fewer}))
            assert error.code == "wrong-shape"

    @where(lambda example: not role_of(example.roles[0]).table)
    def test_values_that_overflow_are_refused_or_do_no_harm(self, example: Example) -> None:
        data: Any = example.data()
        role = example.roles[0]
        for size in (1e160, 1e308):  # Squares overflow; sums do.
            values = data.values[role] / np.abs(data.values[role]).max() * size
            refused = None
            try:
                fitted = example.fit(Data({**data.values, role: values}))
            except UsageError as error:
                refused = error
            if refused is not None:
                assert refused.where.get("role", role) == role
            else:
                assert np.isfinite(fitted.tree.height).all()
                assert all(np.isfinite(value) for value in fitted.metrics.values())

    @where(lambda example: example.method.predicts and not role_of(example.roles[0]).table)
    def test_new_rows_of_another_width_are_refused(self, example: Example) -> None:
        data: Any = example.data()
        fitted = example.fitted
        role = example.roles[0]
        assert fitted.model is not None
        for values in (data.values[role][:, :-1], np.hstack([data.values[role]] * 2)):
            others = {name: value for name, value in data.values.items() if name != role}
            with pytest.raises(UsageError) as caught:
                example.method.predict(fitted.model, fitted.tree, Data({**others, role: values}))
            assert caught.value.code == "wrong-shape"
            assert caught.value.where["role"] == role
            assert f"{values.shape[1]} columns" in caught.value.detail

    @where(lambda example: example.method.predicts and not role_of(example.roles[0]).table)
    def test_new_rows_that_are_not_finite_are_refused(self, example: Example) -> None:
        fitted = example.fitted
        role = example.roles[0]
        assert fitted.model is not None
        for bad in (np.nan, np.inf):
            data: Any = example.data()
            data.values[role][7, 1] = bad
            # `_predict` must refuse them: `_check` is for fits.
            with pytest.raises(UsageError) as caught:
                example.method.predict(fitted.model, fitted.tree, data)
            assert (caught.value.code, caught.value.where) == (
                "not-finite",
                {"role": role, "row": 7, "column": 1},
            )

    def test_inputs_too_large_for_memory_are_refused_with_the_estimate(
        self, example: Example
    ) -> None:
        n_rows = 100_000
        role = example.roles[0]
        shape = (n_rows, n_rows) if role in SQUARE else (n_rows, 64)
        shapes = {name: shape if name == role else (n_rows,) for name in example.roles}
        with pytest.raises(UsageError) as caught:  # give the method `_memory`
            example.method.check_size(shapes, example.params(), 1 << 16)
        assert caught.value.code == "too-large"
        assert repr(example.method.id) in caught.value.detail
        assert "GiB" in caught.value.detail

    @once
    def test_sizes_that_are_not_known_yet_are_not_refused(self, example: Example) -> None:
        params = example.params()
        example.method.check_size({}, params, 1 << 20)
        for role in example.method.inputs:
            example.method.check_size({role: (7,)}, params, 1 << 40)  # refused once it is read

    def test_a_column_in_place_of_a_matrix_is_refused(self, example: Example) -> None:
        data: Any = example.data()
        error = refusal(example, Data({**data.values, example.roles[0]: np.ones(N_POINTS)}))
        assert (error.code, error.where["role"]) == ("wrong-input", example.roles[0])

    @where(
        lambda example: example.number == 0 and "cuda" in example.method.devices,
        needs=lambda _: ("torch",),
    )
    def test_a_missing_gpu_is_refused(self, example: Example) -> None:
        import torch

        assert example.method.queue_for({"device": "cuda"}) == "gpu"
        if torch.cuda.is_available():
            pytest.skip("there is a GPU")
        with pytest.raises(UsageError) as caught:
            example.fit(example.data(), device="cuda")
        assert (caught.value.code, caught.value.where) == ("no-gpu", {"parameter": "device"})


TOO_FEW = {"wrong-shape", "too-few-points", "too-few-tasks"}


def refusal(example: Example, data: Data) -> UsageError:
    """The refusal of a fit on these inputs."""
    with pytest.raises(UsageError) as caught:
        example.fit(data)
    return caught.value
