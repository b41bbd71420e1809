"""The body of a request that another process has parsed is the one that it would have been here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from models.errors import UsageError
from workers.child.json_body import LONG_BYTES, body_apart
from workers.formats.inline import LongList, shapes_of_list
from workers.formats.strict_json import Bound, NotStrict, parse_json

N = LONG_BYTES // 4
IDS = [f"ds_{number:026d}" for number in range(3000)]


def test_long_lists_come_back_as_they_were_sent() -> None:
    inputs: dict[str, Any] = {
        "features": [[number, 0.1 * number, -1e-300] for number in range(N)],
        "labels": [["a", "ü\ud7ff"], None, [], *["b"] * N],
        "hierarchy": ["animal/dog", "animal/cat"] * N,
        "names": ["short"],
        "logits": IDS,
        "documents": "ds_1",
        "top_classes": [[1, 2], [3]] * N,
        "nonsense": [1234567] * N,
    }
    body = {"method": "hac", "inputs": inputs, "params": {"large": 1 << 200, "list": [0] * N}}
    value = body_apart(json.dumps(body).encode(), Bound(100_000))
    assert {name: part for name, part in value.items() if name != "inputs"} == {
        name: part for name, part in body.items() if name != "inputs"
    }
    assert list(value["inputs"]) == list(inputs)
    apart = {role: given for role, given in value["inputs"].items() if isinstance(given, LongList)}
    assert set(apart) == {"features", "labels", "hierarchy", "top_classes", "nonsense"}
    for role, given in value["inputs"].items():
        if role not in apart:
            assert given == inputs[role]
            continue
        assert parse_json(given.json) == inputs[role]
        if role in ("top_classes", "nonsense"):
            with pytest.raises(UsageError) as here:
                shapes_of_list(role, inputs[role])
            with pytest.raises(UsageError) as there:
                given.checked()
            assert vars(there.value) == vars(here.value)
        else:
            assert given.checked() == shapes_of_list(role, inputs[role])
    assert apart["labels"].checked() == {"labels": (N + 3,)}


def test_long_lists_of_samples() -> None:
    rows = [[number, 0.5] for number in range(N)]
    body = {
        "reference": {"inputs": {"logits": rows}, "labels": ["a"] * N},
        "batch": {"inputs": {"logits": [[1, 2]]}, "labels": "ds_1"},
        "level": 0.1,
    }
    value = body_apart(json.dumps(body).encode())
    assert (value["batch"], value["level"]) == (body["batch"], 0.1)
    reference = value["reference"]
    assert parse_json(reference["inputs"]["logits"].json) == rows
    assert reference["labels"].checked() == {"labels": (N,)}
    with pytest.raises(NotStrict, match="more than 10000 values"):
        body_apart(json.dumps({**body, "batch": {"other": [0] * 10_000}}).encode())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"inputs": {"features": [[1], [1e999]]}}', "invalid-request"),
        (b'{"inputs": [[1], [', "malformed"),
    ],
)
def test_a_refused_body_is_refused_in_the_same_words(body: bytes, code: str) -> None:
    with pytest.raises(NotStrict) as here:
        parse_json(body)
    with pytest.raises(NotStrict) as apart:
        body_apart(body)
    assert (apart.value.code, apart.value.detail) == (here.value.code, here.value.detail)
    assert apart.value.code == code


def test_a_body_without_an_object_of_inputs() -> None:
    assert body_apart(b'{"inputs": [[1]]}') == {"inputs": [[1]]}
