"""safetensors: mapped arrays, bfloat16, and hostile headers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from tests.workers.formats.files_kit import refused, survives
from workers.formats import catalogue, safetensors

load = partial(catalogue.load, "safetensors")


def written(path: Path, header: Any, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(shape: list[Any], end: Any, begin: Any = 0, dtype: Any = "F32") -> dict[str, Any]:
    return {"x": {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}}


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
)
def test_dtypes_are_kept_and_mapped(dtype: str, tmp_path: Path) -> None:
    array = np.arange(6).reshape(3, 2).astype(dtype)
    save_file({"x": array}, tmp_path / "x", metadata={"by": "test"})
    facts = safetensors.inspect(tmp_path / "x", None)
    assert (facts.shape, facts.dtype) == ((3, 2), str(np.dtype(dtype)))
    value = load(tmp_path / "x", None, "features")
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.dtype(dtype)
    assert isinstance(value.base, np.memmap)
    assert not value.flags.writeable
    np.testing.assert_array_equal(value, array)


@pytest.mark.needs("torch")
def test_bfloat16_becomes_float32_exactly(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file as save_torch

    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    tensor = bits.view(torch.bfloat16).reshape(256, 256)
    save_torch({"logits": tensor}, tmp_path / "x")
    facts = safetensors.inspect(tmp_path / "x", None)
    assert (facts.shape, facts.dtype) == ((256, 256), "bfloat16")
    value = load(tmp_path / "x", "logits", "logits")
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.float32
    np.testing.assert_array_equal(value.view(np.uint32), tensor.float().numpy().view(np.uint32))


@pytest.mark.needs("torch")
def test_float8_is_refused(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file as save_torch

    save_torch({"x": torch.zeros(2, 2).to(torch.float8_e4m3fn)}, tmp_path / "x")
    assert refused(safetensors.inspect, tmp_path / "x", None).code == "unsupported-format"


def test_several_members_require_a_selection(tmp_path: Path) -> None:
    save_file({"a": np.zeros((2, 3)), "b": np.arange(4)}, tmp_path / "x")
    error = refused(safetensors.inspect, tmp_path / "x", None)
    assert error.code == "member-needed"
    assert "'a' (2, 3) float64" in error.detail
    assert refused(load, tmp_path / "x", "c", "features").code == "member-needed"
    assert load(tmp_path / "x", "b", "labels").tolist() == [0, 1, 2, 3]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("header", "data", "code"),
    [
        (entry([2, 2], 16), b"\0" * 15, "truncated"),
        (entry([2**62, 4], 2**64), b"\0" * 16, "truncated"),
        (entry([2**62, 4], 16), b"\0" * 16, "invalid-file"),
        (entry([2**32, 2**32], 0), b"", "invalid-file"),
        (entry([-2, 2], 16), b"\0" * 16, "invalid-file"),
        (entry([2.0, 2], 16), b"\0" * 16, "invalid-file"),
        (entry([2, 2], 16, -1), b"\0" * 16, "invalid-file"),
        (entry([2, 2], 0, 16), b"\0" * 16, "invalid-file"),
        (entry([2, 2], 17, 1), b"\0" * 17, "invalid-file"),
        (entry([2, 2], 16), b"\0" * 17, "invalid-file"),
        (entry([2, 2], 16, dtype=None), b"\0" * 16, "invalid-file"),
        (entry([2, 2], 16, dtype="F99"), b"\0" * 16, "unsupported-format"),
        (entry([True, 4], 16), b"\0" * 16, "invalid-file"),
        (entry([0, 4], 0), b"", "empty"),
        (entry([4, 0], 0), b"", "empty"),
        (entry([], 4), b"\0" * 4, "wrong-shape"),
        (entry([1] * 5, 4), b"\0" * 4, "wrong-shape"),
        ({"x": None}, b"", "invalid-file"),
        ({}, b"", "empty"),
        ([], b"", "invalid-file"),
        (b"{", b"", "invalid-file"),
        (b"\xff{}", b"", "invalid-file"),
        (b'{"a":' * 50_000, b"", "invalid-file"),
        ({**entry([2, 2], 16), "y": entry([2, 2], 16)["x"]}, b"\0" * 16, "invalid-file"),
    ],
)
def test_hostile_headers(header: Any, data: bytes, code: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x", header, data)
    assert refused(safetensors.inspect, path, None).code == code
    assert refused(load, path, None, "features").code == code


@pytest.mark.parametrize(
    ("claimed", "code"),
    [(2**64 - 1, "truncated"), (2**63, "truncated"), (1000, "truncated"), (2**25, "invalid-file")],
)
def test_the_length_of_the_header_is_checked(claimed: int, code: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.write(claimed.to_bytes(8, "little") + b"{}")
        if code == "invalid-file":
            file.truncate(2**26)
    assert refused(safetensors.inspect, path, None).code == code


def test_the_number_of_arrays_is_bounded(tmp_path: Path) -> None:
    save_file({f"x{at}": np.zeros(1) for at in range(1100)}, tmp_path / "x")
    assert refused(safetensors.inspect, tmp_path / "x", None).code == "too-large"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_mutated_files_raise_only_our_errors(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("st") / "x"
    save_file({"x": np.arange(6.0).reshape(3, 2)}, path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    survives(load, path, None, "features")
