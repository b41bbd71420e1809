"""What no method takes, whatever it computes: each refusal names what is wrong, and where.

And what every long fit owes: one that is lost goes on from its checkpoint to the same end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models import registry
from models.data import Data
from models.errors import UsageError
from models.method import Checkpoint, Fitted, Method
from tests.contract.examples import N_POINTS, SQUARE, assert_same, example, ways

METHODS = list(registry.methods().values())
RUNS = [
    pytest.param(method, roles, id=f"{method.id}-{'+'.join(roles)}")
    for method in METHODS
    for roles in ways(method)
]
PREDICTING = [run for run in RUNS if run.values[0].predicts]
RESUMING = [run for run in RUNS if run.values[0].resumes]
ON_A_GPU = [method for method in METHODS if "device" in method.Params.model_fields]


TOO_FEW = {"wrong-shape", "too-few-points", "too-few-tasks"}


def fit(method: Method[Any], data: Data, **params: Any) -> Fitted:
    return method.fit(data, method.Params(**{**method.example, **params}))


def refusal(method: Method[Any], data: Data) -> UsageError:
    with pytest.raises(UsageError) as caught:
        fit(method, data)
    return caught.value


def matrix_role(roles: tuple[str, ...]) -> str:
    return roles[0]


@pytest.mark.parametrize(("method", "roles"), RUNS)
def test_no_rows_are_refused(method: Method[Any], roles: tuple[str, ...]) -> None:
    data = example(method, roles)
    empty = {role: value[:0] for role, value in data.values.items()}
    error = refusal(method, Data(empty))
    assert error.code in TOO_FEW
    assert error.where.get("role", roles[0]) in roles


@pytest.mark.parametrize(("method", "roles"), RUNS)
def test_no_columns_are_refused(method: Method[Any], roles: tuple[str, ...]) -> None:
    data = example(method, roles)
    role = matrix_role(roles)
    error = refusal(method, Data({**data.values, role: np.empty((N_POINTS, 0))}))
    assert error.code in TOO_FEW
    assert error.where.get("role", role) == role


@pytest.mark.parametrize(("method", "roles"), RUNS)
def test_rows_of_different_number_are_refused(method: Method[Any], roles: tuple[str, ...]) -> None:
    data = example(method, roles)
    for role in roles[1:]:
        error = refusal(method, Data({**data.values, role: data.values[role][:-1]}))
        assert error.code == "wrong-shape"


@pytest.mark.parametrize("size", [1e160, 1e308], ids=["squares overflow", "sums overflow"])
@pytest.mark.parametrize(("method", "roles"), RUNS)
def test_values_that_overflow_are_refused_or_do_no_harm(
    method: Method[Any], roles: tuple[str, ...], size: float
) -> None:
    data = example(method, roles)
    role = matrix_role(roles)
    values = data.values[role] / np.abs(data.values[role]).max() * size
    try:
        fitted = fit(method, Data({**data.values, role: values}))
    except UsageError as error:
        assert error.where.get("role", role) == role
    else:
        assert np.isfinite(fitted.tree.height).all()
        assert all(np.isfinite(value) for value in fitted.metrics.values())


@pytest.mark.parametrize(("method", "roles"), PREDICTING)
def test_new_rows_of_another_width_are_refused(method: Method[Any], roles: tuple[str, ...]) -> None:
    data = example(method, roles)
    fitted = fit(method, data)
    role = matrix_role(roles)
    for values in (data.values[role][:, :-1], np.hstack([data.values[role]] * 2)):
        new = {given: value for given, value in data.values.items() if given != role}
        with pytest.raises(UsageError) as caught:
            method.predict(fitted.model, fitted.tree, Data({**new, role: values}))
        assert caught.value.code == "wrong-shape"
        assert caught.value.where["role"] == role


@pytest.mark.parametrize(("method", "roles"), PREDICTING)
def test_new_rows_that_are_not_finite_are_refused(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    data = example(method, roles)
    fitted = fit(method, data)
    role = matrix_role(roles)
    data.values[role][7, 1] = np.nan
    with pytest.raises(UsageError) as caught:
        method.predict(fitted.model, fitted.tree, data)
    assert (caught.value.code, caught.value.where) == (
        "not-finite",
        {"role": role, "row": 7, "column": 1},
    )


@pytest.mark.parametrize(("method", "roles"), RUNS)
def test_what_would_not_fit_is_refused_with_its_estimate(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    n_rows = 100_000
    role = matrix_role(roles)
    shape = (n_rows, n_rows) if role in SQUARE else (n_rows, 64)
    shapes = {given: shape if given == role else (n_rows,) for given in roles}
    with pytest.raises(UsageError) as caught:
        method.check_size(shapes, method.Params(**method.example), 1 << 16)
    assert caught.value.code == "too-large"
    assert repr(method.id) in caught.value.detail


@pytest.mark.parametrize("method", ON_A_GPU, ids=lambda method: method.id)
def test_a_gpu_that_is_not_there_is_refused(method: Method[Any]) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(UsageError) as caught:
        fit(method, example(method, ways(method)[0]), device="cuda")
    assert (caught.value.code, caught.value.where) == ("no-gpu", {"parameter": "device"})


class Lost(BaseException):
    """The worker of a fit is lost."""


class Kept(Checkpoint):
    """Keeps what a fit saves; the worker is lost once it has saved `n_saves` times."""

    def __init__(self, state: Any = None, n_saves: int | None = None) -> None:
        self.state, self.n_saves, self.saved = state, n_saves, 0

    def load(self) -> Any:
        return self.state

    def save(self, state: Any) -> None:
        self.state = {name: np.array(array) for name, array in state.items()}
        self.saved += 1
        if self.saved == self.n_saves:
            raise Lost


@pytest.mark.parametrize(("method", "roles"), RESUMING)
def test_a_lost_fit_goes_on_and_ends_as_it_would_have(
    method: Method[Any], roles: tuple[str, ...]
) -> None:
    params = method.Params(**method.example)
    whole = Kept()
    expected = method.fit(example(method, roles), params, checkpoint=whole)
    assert whole.saved, "nothing was kept"
    for n_saves in sorted({1, (whole.saved + 1) // 2, whole.saved}):
        lost = Kept(n_saves=n_saves)
        with pytest.raises(Lost):
            method.fit(example(method, roles), params, checkpoint=lost)
        again = Kept(lost.state)
        assert_same(method.fit(example(method, roles), params, checkpoint=again), expected)
        assert again.saved <= whole.saved - n_saves + 1, "it began anew"
