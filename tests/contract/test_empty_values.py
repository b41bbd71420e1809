"""Empty values of features: every method refuses one that the step 'missing' did not fill."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import EmptyValue
from models.inputs.data import FILLED_BY, Data
from tests.contract.contract_kit import House
from umbel.testing.examples import Example
from umbel.testing.suite import Suite, where

ROW, COLUMN = 41, 1
PLACE = {"role": "features", "row": ROW, "column": COLUMN}


def with_one(values: Any) -> Any:
    if isinstance(values, tuple):
        return (*values[:-1], with_one(values[-1]))
    if isinstance(values, sp.csr_array):
        return sp.csr_array(with_one(values.toarray()))
    matrix = np.array(values, dtype=np.float64)
    matrix[ROW, COLUMN] = np.nan
    return matrix


class TestEmptyValues(House, Suite):
    """A NaN in features of a fit and of a prediction."""

    @where(lambda example: "features" in example.roles)
    def test_a_fit_names_the_place_and_the_step(self, example: Example) -> None:
        values = dict(example.data().values)
        with pytest.raises(EmptyValue) as caught:
            example.fit(Data({**values, "features": with_one(values["features"])}))
        assert caught.value.where == PLACE
        assert caught.value.detail.endswith(FILLED_BY)

    @where(lambda example: "features" in example.roles and example.method.predicts)
    def test_a_prediction_does_so_too(self, example: Example) -> None:
        values = dict(example.data().values)
        fitted = example.fitted
        assert fitted.model is not None
        new = Data({**values, "features": with_one(values["features"])})
        with pytest.raises(EmptyValue) as caught:
            example.method.predict(fitted.model, fitted.tree, new)
        assert caught.value.where == PLACE
        assert caught.value.detail.endswith(FILLED_BY)
