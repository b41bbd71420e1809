"""The digest made by torch: against its definition, the CPU's digest, and by the merges it gives.

Every test runs on torch's CPU device, and on a GPU too where there is one. The fused kernel runs on
the GPU, else in Triton's interpreter where Triton is installed.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models import registry
from models.errors import Cancelled, UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.methods.logits.merging import block_lists, engine, pass_gpu, row_digest
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.loops.bounds import TAIL_ERROR, WEIGHT_ERROR
from models.methods.logits.merging.reference import assign, merge
from models.methods.logits.merging.row_digest import Digest
from models.running.progress import silent
from models.tree.build import from_merges
from tests.pairwise_kit import pairwise

pytestmark = pytest.mark.needs("torch")

METHOD = registry.method("l2h")
AGGREGATIONS = ("mean-sum", "sum", "mean", "size")
KINDS = ("logits", "log_probs", "probs")
STORED = ("float32", "float64", "float16", "bfloat16", "int16", ">f4", "fortran")
TEMPERATURES = (1.0, 0.3, 1e-3, 1e3)
DEVICES = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)

Array = np.ndarray


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Several threads would only wait for one another over blocks this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def matrix_of(
    values: Array, how: str = "float32", kind: str = "logits", t: float = 1.0
) -> LogitMatrix:
    """The values as a file might hold them."""
    if how == "bfloat16":
        bits = torch.from_numpy(values).bfloat16().view(torch.uint16).numpy()
        return LogitMatrix(ArrayRows(bits, bfloat16=True), kind, t)
    if how == "fortran":
        return LogitMatrix(ArrayRows(np.asfortranarray(values)), kind, t)
    return LogitMatrix(ArrayRows(values.astype(how)), kind, t)


def of_kind(logits: Array, kind: str) -> Array:
    """Log-probabilities, those below -9 as -inf in every other row, or probabilities of logits."""
    if kind == "logits":
        return logits
    log = logits - logits.max(axis=1, keepdims=True)
    log[::2][log[::2] < -9.0] = -np.inf
    log -= np.log(np.exp(log).sum(axis=1, keepdims=True))
    return log if kind == "log_probs" else np.exp(log)


def logits_of(n: int, k: int, seed: int = 0) -> Array:
    """Rows of a fair classifier, and some that tie, that are far from 0 or saturated, or are 0 of
    either sign."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, k)) * 3.0
    x[np.arange(n), rng.integers(0, k, n)] += 5.0
    x[::5] = np.rint(x[::5])
    x[1::7] += 1000.0
    x[2::11, -1] += 90.0
    x[3::13] = rng.choice([0.0, -0.0], x[3::13].shape)
    return x


def assert_is_digest(matrix: LogitMatrix, digest: Digest) -> None:
    """Lists exactly as defined, numbers within the stated bounds of float64."""
    n, k = matrix.shape
    x = matrix.block(0, n).astype(np.float64)
    order = np.lexsort((np.broadcast_to(np.arange(k), x.shape), -x), axis=1)
    m = min(row_digest.LISTED, k - 1)
    assert digest.label.tolist() == order[:, 0].tolist()
    assert digest.listed.tolist() == order[:, 1 : 1 + m].tolist()
    ordered = np.take_along_axis(x, order, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.nan_to_num(np.exp((ordered[:, 1:] - ordered[:, 1:2]) * matrix.scale), nan=0.0)
        sure = 1.0 / np.exp((ordered - ordered[:, :1]) * matrix.scale).sum(axis=1)
    weight, tail = e[:, :m], e[:, m:].sum(axis=1)
    tiny = 2e-38
    assert (np.abs(digest.weight - weight) <= WEIGHT_ERROR * weight + tiny).all()
    assert (np.abs(digest.tail - tail) <= TAIL_ERROR * tail + k * tiny).all()
    assert digest.size.tolist() == np.bincount(order[:, 0], minlength=k).tolist()
    confidence = np.bincount(order[:, 0], sure, k)
    assert (np.abs(digest.confidence - confidence) <= digest.slack + 1e-12 * confidence).all()
    assert (digest.slack <= 2 * TAIL_ERROR * confidence).all()


def scanned(matrix: LogitMatrix, on: Any = "cpu", threads: int = 1) -> Digest:
    return pass_gpu.scan(matrix, 0, matrix.shape[0], on, silent, threads)


@pytest.mark.parametrize("on", DEVICES)
@pytest.mark.parametrize(
    ("kind", "how", "temperature"),
    [
        *pairwise(KINDS, [how for how in STORED if how != "int16"], TEMPERATURES),
        *[("logits", "int16", temperature) for temperature in TEMPERATURES],
    ],
)
def test_the_digest_is_as_defined(how: str, kind: str, temperature: float, on: Any) -> None:
    matrix = matrix_of(of_kind(logits_of(90, 70), kind), how, kind, temperature)
    digest = scanned(matrix, on)
    assert_is_digest(matrix, digest)
    expected = row_digest.scan(matrix, 0, 90, 1, silent).arrays()
    for name, array in digest.arrays().items():
        assert array.dtype == expected[name].dtype, name
        assert array.shape == expected[name].shape, name
        if name in ("label", "listed", "size"):
            assert (array == expected[name]).all(), name


@pytest.mark.parametrize("on", DEVICES)
@pytest.mark.parametrize("k", [2, 3, 8, 9, 10, 11, 35, 36, 37, 127, 129, 1000, 1001, 5000])
def test_any_number_of_classes(k: int, on: Any) -> None:
    matrix = matrix_of(logits_of(60, k, k))
    assert_is_digest(matrix, scanned(matrix, on))


@pytest.mark.parametrize("on", DEVICES)
def test_more_classes_than_16_bits_count(on: Any) -> None:
    matrix = matrix_of(logits_of(3, 70_000))
    digest = scanned(matrix, on)
    assert digest.listed.dtype == np.int32
    assert_is_digest(matrix, digest)


HARD = {
    "all equal": np.zeros((4, 30)),
    "zeros of either sign": np.where(np.arange(60).reshape(2, 30) % 3, 0.0, -0.0),
    "1e30 and -1e30": np.random.default_rng(0).choice([1e30, -1e30], (20, 40)),
    "ends of float32": np.random.default_rng(1).choice([3.4e38, -3.4e38, 0.0], (20, 40)),
    "denormal": np.random.default_rng(2).integers(0, 5, (20, 40)) * 1e-45,
    "one-hot": np.eye(25) * 1e4,
    "two values": np.random.default_rng(3).integers(0, 2, (50, 200)).astype(float),
    "ties across ranges": np.repeat(np.arange(100.0), 11)[::-1][None, :] * np.ones((3, 1)),
    "the last classes": np.arange(1000.0)[None, :] * np.ones((2, 1)),
    "steep": np.random.default_rng(4).uniform(-200, 0, (30, 60)),
}


@pytest.mark.parametrize("on", DEVICES)
@pytest.mark.parametrize("how", ["float32", "float64"])
@pytest.mark.parametrize("name", HARD)
def test_hard_rows(name: str, how: str, on: Any) -> None:
    matrix = matrix_of(HARD[name], how)
    assert_is_digest(matrix, scanned(matrix, on))


CELLS = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, 1e-45, 1e30, -1e30, 3e38, -3e38])


@st.composite
def odd_logits(draw: st.DrawFn) -> Array:
    """Few rows, many ties, classes without points, saturated rows, doubled rows."""
    k = draw(st.integers(2, 40))
    cell = st.one_of(CELLS, st.floats(-4, 4, width=16))
    rows = draw(st.lists(st.lists(cell, min_size=k, max_size=k), min_size=1, max_size=7))
    again = draw(st.lists(st.sampled_from(rows), max_size=3))
    return np.array(rows + again)


@settings(max_examples=60)
@given(odd_logits(), st.sampled_from(STORED[:4]), st.sampled_from([1.0, 0.3, 1e3]))
def test_drawn_rows(logits: Array, how: str, temperature: float) -> None:
    most = 6e4 if how == "float16" else 3e38
    matrix = matrix_of(np.clip(logits, -most, most), how, t=temperature)
    assert_is_digest(matrix, scanned(matrix))


@settings(max_examples=60)
@given(odd_logits(), st.sampled_from(STORED[:2]), st.sampled_from(AGGREGATIONS))
def test_the_merges_are_those_of_the_definition(logits: Array, how: str, aggregation: str) -> None:
    assert_same_merges(logits.astype(how), aggregation, "cpu")


@pytest.mark.parametrize("on", DEVICES)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_larger_merges_are_those_of_the_definition(aggregation: str, on: Any) -> None:
    logits = logits_of(2000, 60).astype(np.float32)
    assert_same_merges(logits, aggregation, on)


def assert_same_merges(logits: Array, aggregation: str, on: Any) -> None:
    matrix = LogitMatrix(ArrayRows(logits))
    at = assign(matrix)
    expected = merge(matrix, at, aggregation)
    k = logits.shape[1]
    names = [str(c) for c in range(k)]
    tree = from_merges(
        expected.left, expected.right, np.arange(1, k), names=names, leaf_of_point=at.label
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            engine,
            "scan",
            lambda s, a, b, threads, progress: pass_gpu.scan(s, a, b, on, progress, threads),
        )
        tree_on_device = METHOD.fit(
            Data({"logits": logits}), METHOD.Params(aggregation=aggregation)
        ).tree
    assert tree_on_device.parent.tolist() == tree.parent.tolist()
    assert tree_on_device.height.tolist() == tree.height.tolist()
    assert tree_on_device.leaf_of_point.tolist() == tree.leaf_of_point.tolist()


@pytest.mark.parametrize("on", DEVICES)
@pytest.mark.parametrize("rows_at_once", [1, 7, 100])
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_nothing(
    threads: int, rows_at_once: int, on: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = matrix_of(logits_of(100, 30))
    whole = scanned(matrix, on)
    monkeypatch.setattr(pass_gpu, "block_rows", lambda *_: rows_at_once)
    monkeypatch.setattr(row_digest, "SEGMENT_BYTES", 3 * 30 * 4)
    shares: list[float] = []
    digest = pass_gpu.scan(matrix, 13, 100, on, lambda share, *_: shares.append(share), threads)
    for name in ("label", "listed", "weight", "tail"):
        assert (digest.arrays()[name] == whole.arrays()[name][13:]).all(), name
    assert digest.size.tolist() == np.bincount(whole.label[13:], minlength=30).tolist()
    before = pass_gpu.scan(matrix, 0, 13, on, silent)
    assert digest.confidence == pytest.approx(whole.confidence - before.confidence, abs=1e-12)
    assert len(shares) == -(-87 // min(rows_at_once, 87))
    assert shares == sorted(shares)
    assert shares[0] == 0.0


@pytest.mark.parametrize("on", DEVICES)
@pytest.mark.parametrize("rows_at_once", [4, 1000])
@pytest.mark.parametrize(
    ("kind", "temperature", "odd", "says"),
    [
        ("logits", 1.0, np.nan, "NaN at row 17, column 3"),
        ("logits", 1.0, np.inf, "infinite at row 17, column 3"),
        ("logits", 2.0, np.inf, "infinite at row 17, column 3"),
        ("log_probs", 1.0, np.nan, "Row 17 .* column 3 is NaN"),
        ("log_probs", 1.0, np.inf, "Row 17 .* sum to inf"),
        ("log_probs", 3.0, 0.5, "Row 17 .* sum to"),
        ("log_probs", 1.0, 0.5, "Row 17 .* sum to"),
        ("probs", 1.0, -0.25, "Row 17 .* column 3 is negative"),
        ("probs", 3.0, 0.5, "Row 17 .* sum to"),
        ("probs", 1.0, 0.5, "Row 17 .* sum to"),
    ],
)
def test_the_first_odd_row_is_named(
    kind: str,
    temperature: float,
    odd: float,
    says: str,
    rows_at_once: int,
    on: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pass_gpu, "block_rows", lambda *_: rows_at_once)
    values = of_kind(logits_of(40, 20), kind)
    values[17, 3] = odd
    values[21, 0] = np.nan
    matrix = matrix_of(values, "float64" if kind == "probs" else "float32", kind, temperature)
    with pytest.raises(UsageError, match=says):
        scanned(matrix, on)


@pytest.mark.parametrize("on", DEVICES)
@pytest.mark.parametrize("how", ["float16", "float32", "float64"])
def test_masked_classes_have_no_probability(how: str, on: Any) -> None:
    values = logits_of(40, 20)
    values[::2, 4:17] = -np.inf
    values[::3, 1:] = -np.inf
    assert_is_digest(matrix_of(values, how), scanned(matrix_of(values, how), on))
    values[17] = -np.inf
    with pytest.raises(UsageError, match=r"Row 17 .* is -inf throughout"):
        scanned(matrix_of(values, how), on)


@pytest.mark.parametrize("on", DEVICES)
def test_rows_of_one_probable_class_are_probabilities(on: Any) -> None:
    values = np.full((3, 20), -np.inf)
    values[:, 4] = 0.0
    matrix = matrix_of(values, kind="log_probs")
    digest = scanned(matrix, on)
    assert_is_digest(matrix, digest)
    assert digest.confidence[4] == 3.0


@pytest.mark.parametrize("on", DEVICES)
def test_a_cancelled_scan_ends(on: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_gpu, "block_rows", lambda *_: 10)

    def cancel(share: float, stage: str, message: str = "") -> None:
        if share > 0.4:
            raise Cancelled

    with pytest.raises(Cancelled):
        pass_gpu.scan(matrix_of(logits_of(100, 30)), 0, 100, on, cancel, 2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_cuda_is_refused() -> None:
    with pytest.raises(UsageError, match="no GPU") as caught:
        scanned(matrix_of(logits_of(5, 4)), "cuda")
    assert (caught.value.code, caught.value.where) == ("no-gpu", {"parameter": "device"})


@pytest.mark.parametrize("on", DEVICES)
def test_real_logits(on: Any, real_data: Callable[[str], Path]) -> None:
    logits = np.load(real_data("tinyimagenet_efflite0_logits.npy"), mmap_mode="r")[:2000]
    matrix = LogitMatrix(ArrayRows(logits))
    assert_is_digest(matrix, scanned(matrix, on))


# The fused kernel.


@pytest.fixture(scope="module")
def fused() -> ModuleType:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"
    return importlib.import_module("models.methods.logits.merging.triton_gpu")


def assert_same_lists(fused: ModuleType, matrix: LogitMatrix, m: int = row_digest.LISTED) -> None:
    """The kernel's lists equal `block_lists.listed`, its numbers are within their bounds."""
    n, k = matrix.shape
    x = torch.from_numpy(np.ascontiguousarray(matrix.rows.read(0, n)))
    x = x.view(torch.bfloat16) if matrix.rows.bfloat16 else x
    options = min(m, k - 1), matrix.scale, *pass_gpu.bounds(matrix)
    expected = block_lists.listed(x, *options)
    on = "cuda" if torch.cuda.is_available() else "cpu"
    assert fused.takes(x)
    with np.errstate(all="ignore"):
        actual = fused.listed(x.to(on), *options)
    actual, expected = (
        {name: values.cpu().double().numpy() for name, values in lists._asdict().items()}
        for lists in (actual, expected)
    )
    fine = expected["odd"] == 0
    assert (actual["odd"] == expected["odd"]).all()
    assert (actual["classes"][fine] == expected["classes"][fine]).all()
    for name, error in (("weight", WEIGHT_ERROR), ("tail", 2 * TAIL_ERROR)):
        off = np.abs(actual[name] - expected[name])[fine]
        assert (off <= error * expected[name][fine] + k * 2e-38).all(), name
    off = np.abs(actual["sure"] - expected["sure"])[fine]
    assert (off <= 1.01 * (actual["slack"] + expected["slack"])[fine] + 1e-12).all()


@pytest.mark.parametrize("temperature", [1.0, 0.3, 1e3])
@pytest.mark.parametrize("how", ["float32", "float16", "bfloat16"])
def test_the_kernel_lists_as_the_passes_do(how: str, temperature: float, fused: ModuleType) -> None:
    assert_same_lists(fused, matrix_of(logits_of(8, 70), how, t=temperature))
    log_probs = of_kind(logits_of(5, 70), "log_probs")
    log_probs[3, 5] = 0.5
    assert_same_lists(fused, matrix_of(log_probs, how, "log_probs", temperature))


@pytest.mark.parametrize("k", [2, 3, 8, 9, 10, 16, 17, 129, 1000, 1500, 1 << 14])
def test_the_kernel_takes_any_number_of_classes(k: int, fused: ModuleType) -> None:
    assert_same_lists(fused, matrix_of(logits_of(4, k, k)))


@pytest.mark.parametrize("name", HARD)
def test_the_kernel_takes_hard_rows(name: str, fused: ModuleType) -> None:
    assert_same_lists(fused, matrix_of(HARD[name][:4]))


@pytest.mark.parametrize("odd", [np.nan, -np.nan, np.inf, -np.inf])
def test_the_kernel_tells_odd_rows(odd: float, fused: ModuleType) -> None:
    values = logits_of(4, 40)
    values[1, 39] = values[3, 0] = odd
    assert_same_lists(fused, matrix_of(values))


def test_the_kernel_leaves_the_rest_to_the_passes(fused: ModuleType) -> None:
    assert not fused.takes(torch.zeros(2, 5, dtype=torch.float64))
    assert not fused.takes(torch.zeros(2, fused.MOST + 1))


def test_a_kernel_that_lists_otherwise_is_not_used() -> None:
    x = torch.randn(100, 30, generator=torch.Generator().manual_seed(0))

    def same(*args: Any) -> block_lists.BlockLists:
        return block_lists.listed(*args)

    def wrong(*args: Any) -> block_lists.BlockLists:
        lists = block_lists.listed(*args)
        return lists._replace(tail=lists.tail * 1.001)

    assert pass_gpu._agrees(same, x)
    with pytest.warns(UserWarning, match="not used"):
        assert not pass_gpu._agrees(wrong, x)


@pytest.mark.parametrize(
    "error", [RuntimeError("Failed to find C compiler."), OSError(30, "Read-only file system")]
)
def test_a_kernel_that_cannot_be_built_is_not_used(error: Exception) -> None:
    x = torch.randn(10, 7, generator=torch.Generator().manual_seed(0))
    n_calls = 0

    def broken(*args: Any) -> block_lists.BlockLists:
        nonlocal n_calls
        n_calls += 1
        raise error

    with pytest.warns(UserWarning, match=f"cannot be built here.*{type(error).__name__}"):
        assert not pass_gpu._agrees(broken, x)
    assert not pass_gpu._agrees(broken, x)
    assert n_calls == 1
