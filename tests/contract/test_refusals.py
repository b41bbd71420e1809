"""Inputs that every method refuses: the error names what is wrong, and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.method import Method
from tests.contract.contract_kit import (
    METHODS,
    N_POINTS,
    RUNS,
    SQUARE,
    by_point,
    every_method,
    every_run,
    example,
    fit,
    fitted_example,
    spoil,
    ways,
)

PREDICTING = [run for run in RUNS if run.values[0].predicts]
ON_A_GPU = [method for method in METHODS if "device" in method.Params.model_fields]
TOO_FEW = {"wrong-shape", "too-few-points", "too-few-tasks"}


def refusal(method: Method[Any], data: Data) -> UsageError:
    with pytest.raises(UsageError) as caught:
        fit(method, data)
    return caught.value


@every_run
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named(
    method: Method[Any], roles: tuple[str, ...], bad: float
) -> None:
    for role in roles:
        data = example(method, roles)
        place = spoil(data.values[role], bad)
        if place is None:
            continue
        with pytest.raises(UsageError) as caught:
            fit(method, data)
        assert caught.value.code == "not-finite"
        assert caught.value.where == {"role": role, **place}
        assert ", ".join(f"{what} {at}" for what, at in place.items()) in caught.value.detail


@every_method
def test_unknown_and_missing_roles_are_refused(method: Method[Any]) -> None:
    data = example(method, ways(method)[0])
    with pytest.raises(UsageError) as caught:
        fit(method, Data({**data.values, "no_such_role": np.zeros((N_POINTS, 2))}))
    assert caught.value.where == {"role": "no_such_role"}
    with pytest.raises(UsageError) as caught:
        fit(method, Data({}))
    assert caught.value.where["role"] in method.inputs


@every_method
def test_a_wrong_number_of_names_is_refused(method: Method[Any]) -> None:
    if "names" not in method.inputs:
        return
    data = example(method, ways(method)[0])
    with pytest.raises(UsageError) as caught:
        fit(method, Data({**data.values, "names": ["a"]}))
    assert caught.value.where == {"role": "names"}


@every_run
def test_no_rows_are_refused(method: Method[Any], roles: tuple[str, ...]) -> None:
    data = example(method, roles)
    empty = {role: value[:0] if by_point(value) else value for role, value in data.values.items()}
    error = refusal(method, Data(empty))
    assert error.code in TOO_FEW
    assert error.where.get("role", roles[0]) in roles


@every_run
def test_no_columns_are_refused(method: Method[Any], roles: tuple[str, ...]) -> None:
    data = example(method, roles)
    role = roles[0]
    error = refusal(method, Data({**data.values, role: np.empty((N_POINTS, 0))}))
    assert error.code in TOO_FEW
    assert error.where.get("role", role) == role


@every_run
def test_inputs_of_different_length_are_refused(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    data = example(method, roles)
    for role in (name for name in roles[1:] if by_point(data.values[name])):
        error = refusal(method, Data({**data.values, role: data.values[role][:-1]}))
        assert error.code == "wrong-shape"


@pytest.mark.parametrize("size", [1e160, 1e308], ids=["squares overflow", "sums overflow"])
@every_run
def test_values_that_overflow_are_refused_or_do_no_harm(
    method: Method[Any], roles: tuple[str, ...], size: float
) -> None:
    data = example(method, roles)
    role = roles[0]
    values = data.values[role] / np.abs(data.values[role]).max() * size
    refused = None
    try:
        fitted = fit(method, Data({**data.values, role: values}))
    except UsageError as error:
        refused = error
    if refused is not None:
        assert refused.where.get("role", role) == role
    else:
        assert np.isfinite(fitted.tree.height).all()
        assert all(np.isfinite(value) for value in fitted.metrics.values())


@pytest.mark.parametrize(("method", "roles"), PREDICTING)
def test_new_rows_of_another_width_are_refused(method: Method[Any], roles: tuple[str, ...]) -> None:
    data = example(method, roles)
    fitted = fitted_example(method, roles)
    role = roles[0]
    for values in (data.values[role][:, :-1], np.hstack([data.values[role]] * 2)):
        others = {name: value for name, value in data.values.items() if name != role}
        with pytest.raises(UsageError) as caught:
            method.predict(fitted.model, fitted.tree, Data({**others, role: values}))
        assert caught.value.code == "wrong-shape"
        assert caught.value.where["role"] == role
        assert f"{values.shape[1]} columns" in caught.value.detail


@pytest.mark.parametrize(("method", "roles"), PREDICTING)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_new_rows_that_are_not_finite_are_refused(
    method: Method[Any], roles: tuple[str, ...], bad: float
) -> None:
    data = example(method, roles)
    fitted = fitted_example(method, roles)
    role = roles[0]
    data.values[role][7, 1] = bad
    with pytest.raises(UsageError) as caught:  # `_predict` must refuse them: `_check` is for fits
        method.predict(fitted.model, fitted.tree, data)
    assert (caught.value.code, caught.value.where) == (
        "not-finite",
        {"role": role, "row": 7, "column": 1},
    )


@every_run
def test_inputs_too_large_for_memory_are_refused_with_the_estimate(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    n_rows = 100_000
    role = roles[0]
    shape = (n_rows, n_rows) if role in SQUARE else (n_rows, 64)
    shapes = {name: shape if name == role else (n_rows,) for name in roles}
    with pytest.raises(UsageError) as caught:  # give the method `_memory`
        method.check_size(shapes, method.Params(**method.example), 1 << 16)
    assert caught.value.code == "too-large"
    assert repr(method.id) in caught.value.detail
    assert "GiB" in caught.value.detail


@every_method
def test_sizes_that_are_not_known_yet_are_not_refused(method: Method[Any]) -> None:
    params = method.Params(**method.example)
    method.check_size({}, params, 1 << 20)
    for role in method.inputs:
        method.check_size({role: (7,)}, params, 1 << 40)  # refused once it is read


@every_run
def test_a_column_in_place_of_a_matrix_is_refused(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    data = example(method, roles)
    error = refusal(method, Data({**data.values, roles[0]: np.ones(N_POINTS)}))
    assert (error.code, error.where["role"]) == ("wrong-input", roles[0])


@pytest.mark.needs("torch")
@pytest.mark.parametrize("method", ON_A_GPU, ids=lambda method: method.id)
def test_a_missing_gpu_is_refused(method: Method[Any]) -> None:
    import torch

    assert method.queue_for({"device": "cuda"}) == "gpu"
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(UsageError) as caught:
        fit(method, example(method, ways(method)[0]), device="cuda")
    assert (caught.value.code, caught.value.where) == ("no-gpu", {"parameter": "device"})
