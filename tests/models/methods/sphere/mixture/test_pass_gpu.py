"""Passes by torch against passes by the processor."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from models.errors import UsageError
from models.inputs.data import Data
from models.methods.sphere.mixture import pass_gpu as module
from models.methods.sphere.mixture.pass_gpu import DevicePasses, passes, require
from models.methods.sphere.mixture.passes import Passes, Sums
from models.methods.sphere.mixture.rows import UnitRows
from models.registry import method
from models.running.progress import silent
from tests.models.methods.sphere.sphere_kit import FarRows, mixture
from tests.pairwise_kit import pairwise

pytestmark = pytest.mark.needs("torch")

N, D, K = 700, 9, 5
X = mixture((200, 300, 200), D, 10.0)[0]
RNG = np.random.default_rng(5)
WEIGHTS = RNG.normal(size=(K, D)) * 8
OFFSETS = RNG.normal(size=K) * 3 - 500
COUNTED = (RNG.random(N) < 0.8).astype(float)

GPU = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
)
KINDS = {
    "float64": X,
    "float32": X.astype(np.float32),
    "float16": X.astype(np.float16),
    "afar": FarRows(X.astype(np.float32)),
}


def unit_rows(values: object) -> UnitRows:
    return UnitRows.of(Data({"features": values}))


def expect(used: Passes, hard: bool, scale: float = 1.0) -> Sums:
    with used:
        return used.expect(WEIGHTS * scale, OFFSETS, COUNTED, silent, hard=hard)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STRETCH", 64)
    monkeypatch.setattr(module, "BLOCK_VALUES", 2 * 64 * D)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("place", ["cpu", GPU])
@pytest.mark.parametrize(
    ("kind", "hard", "scale", "room"),
    pairwise(list(KINDS), (False, True), (0.0, 1.0, 1e4), (0, None)),
)
def test_sums_are_those_of_the_processor(
    kind: str, hard: bool, scale: float, room: int | None, place: str
) -> None:
    rows = unit_rows(KINDS[kind])
    truth = expect(Passes(rows), hard, scale)
    result = expect(DevicePasses(rows, 1, place, room), hard, scale)
    # Above SINGLE_UP_TO single precision is given up.
    near = 1e-9 if kind == "float64" or scale == 1e4 else 2e-5
    assert result.size == pytest.approx(truth.size, rel=near, abs=near * N)
    assert result.total == pytest.approx(truth.total, rel=near, abs=near * N)
    assert result.evidence == pytest.approx(
        truth.evidence, rel=1e-7 if near > 1e-9 else 1e-12, abs=1e-8
    )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("place", ["cpu", GPU])
def test_the_same_numbers_each_time_wherever_rows_lie(place: str) -> None:
    rows = unit_rows(KINDS["float32"])
    result = [expect(DevicePasses(rows, 2, place, room), False) for room in (0, 0, None, None)]
    for sums in result[1:]:
        for name in ("size", "total", "evidence"):
            assert (getattr(sums, name) == getattr(result[0], name)).all()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("place", ["cpu", GPU])
def test_many_passes_and_other_rows(place: str) -> None:
    rows, part = unit_rows(X), unit_rows(X[:300])
    truth = Passes(part)
    seen: list[float] = []
    with DevicePasses(rows, 1, place) as used, truth:
        for hard in (True, False, True):
            used.expect(WEIGHTS, OFFSETS, COUNTED, lambda f, s, m="": seen.append(f), hard=hard)
        of_part = used.over(part).expect(WEIGHTS, OFFSETS, COUNTED[:300], silent)
        expected = truth.expect(WEIGHTS, OFFSETS, COUNTED[:300], silent)
    assert of_part.total == pytest.approx(expected.total, rel=1e-9)
    assert seen[:6] == sorted(seen[:6])
    assert seen[5] == 1.0


def test_one_cluster_and_the_first_of_equal_ones() -> None:
    with DevicePasses(unit_rows(X), 1, "cpu") as used:
        alone = used.expect(WEIGHTS[:1], OFFSETS[:1], np.ones(N), silent)
        equal = used.expect(np.zeros((3, D)), np.zeros(3), np.ones(N), silent, hard=True)
    assert alone.total[0] == pytest.approx(X.sum(axis=0))
    assert equal.size.tolist() == [N, 0, 0]


def test_without_a_gpu_passes_are_the_processors() -> None:
    assert type(passes(unit_rows(X), 1, "cpu")) is Passes


def test_sparse_rows_are_refused() -> None:
    require("cpu", unit_rows(sp.csr_array(X)))
    with pytest.raises(UsageError, match="'features' is sparse") as caught:
        require("cuda", unit_rows(sp.csr_array(X)))
    assert caught.value.where == {"parameter": "device"}


def test_a_device_that_is_too_small_is_a_users_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: DevicePasses, *args: object) -> Sums:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(DevicePasses, "_expect", full)
    with pytest.raises(UsageError, match="not enough memory for 5 clusters"):
        expect(DevicePasses(unit_rows(X), 1, "cpu"), False)


@pytest.mark.parametrize("name", ["vmf", "bvmf"])
def test_methods_with_a_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used = method(name)
    params = used.Params.model_validate({"n_clusters": 3, "n_init": 2, "device": "cuda"})
    assert used.queue_for({"device": "cuda"}) == "gpu"
    with pytest.raises(UsageError, match="is sparse"):
        used.fit(Data({"features": sp.csr_array(X)}), params)
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="there is no GPU"):
            used.fit(Data({"features": X}), params)
        monkeypatch.setattr(module.devices, "require", lambda device: None)
        monkeypatch.setattr(DevicePasses.__init__, "__defaults__", (1, "cpu", None))
    result = used.fit(Data({"features": X}), params)
    truth = used.fit(Data({"features": X}), params.model_copy(update={"device": "cpu"}))
    assert (result.tree.leaf_of_point == truth.tree.leaf_of_point).all()
    assert result.logits == pytest.approx(truth.logits, rel=1e-6, abs=1e-6)


def test_gibbs_sampling_knows_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.devices, "require", lambda device: None)
    used = method("bvmf")
    params = used.Params.model_validate({"inference": "gibbs", "device": "cuda"})
    with pytest.raises(UsageError, match="'inference' = 'gibbs' draws one row after another"):
        used.fit(Data({"features": X}), params)
