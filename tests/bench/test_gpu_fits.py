"""Fits on the card: every method that has a device is measured, with parameters that it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench import gpu_fits
from bench.gpu_fits import FITS, Fit, run, without_a_row
from models.registry import method

pytestmark = pytest.mark.needs("torch")


def test_every_method_with_a_device_is_measured() -> None:
    assert without_a_row() == []


@pytest.mark.parametrize("fit", FITS, ids=lambda fit: fit.method)
def test_a_fit_takes_its_parameters(fit: Fit) -> None:
    assert method(fit.method).Params.model_validate({**fit.params, "device": "cuda"})
    assert fit.n_points["quick"] < fit.n_points["default"] < fit.n_points["full"]


def test_a_fit_is_timed() -> None:
    (vmf,) = (fit for fit in FITS if fit.method == "vmf")
    small = replace(vmf, params={**vmf.params, "n_clusters": 4})
    assert run(small, 200, "cpu") > 0
    assert gpu_fits.points(30, 5, unit=True).dtype.name == "float32"
