"""Bodies of JSON that would hold up others: very many values, or long lists in any place."""

from __future__ import annotations

import asyncio
import errno
import json
import mmap
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.requests import Request

from app.http import bodies, late
from app.http.late import LateRoute
from app.http.problems import Refused
from app.main import ROUTERS
from models import parameters
from models.parameters import Exact
from tests.app.conftest import Api, Working, problem_of
from tests.app.tree_kit import fit
from workers.formats import strict_json
from workers.formats.strict_json import MOST_FIELDS, Bound, NotStrict, require_few

N = 150_000
TREE = f"tr_{'0' * 26}"
MODEL = f"md_{'0' * 26}"
WRONG = [0] * N
NAMES = {f"a{number}": 1 for number in range(N)}
FEATURES = {"features": [[1.0], [2.0]]}

MANY: list[tuple[str, dict[str, Any]]] = [
    (f"/v1/trees/{TREE}/evaluations", {"labels": [0], "metrics": WRONG}),
    (f"/v1/trees/{TREE}/predictions", {"inputs": NAMES}),
    (f"/v1/models/{MODEL}/evaluations", {"labels": [0], "inputs": FEATURES, "by": WRONG}),
    ("/v1/comparisons", {"inputs": FEATURES, "runs": [{"method": "hac"}], "metrics": WRONG}),
    ("/v1/comparisons", {"inputs": FEATURES, "runs": [{"method": "hac", **NAMES}]}),
    ("/v1/jobs", {"method": "hac", "inputs": NAMES}),
    ("/v1/jobs", {"method": "hac", "inputs": FEATURES, **NAMES}),
    ("/v1/jobs", {"method": "hac", "inputs": FEATURES, "params": {"linkage": WRONG}}),
    ("/v1/consensus", {"trees": WRONG}),
    (f"/v1/trees/{TREE}/labels", {"statements": [{"known": {"rows": ["a"] * N}}]}),
    (f"/v1/uploads/up_{'0' * 26}/complete", {"parts": WRONG}),
]


@pytest.mark.parametrize(("path", "body"), MANY, ids=[path for path, _ in MANY])
def test_very_many_wrong_values_are_refused_quickly(
    api: Api, path: str, body: dict[str, Any]
) -> None:
    """The answer would say of each wrong value what is accepted: 1.2 s for 0.5 MB."""
    content = json.dumps(body)
    assert len(content) > bodies.INLINE_BYTES
    answer = api.client.request(
        "POST",
        path,
        content=content,
        headers={"Content-Type": "application/json"},
    )
    problem_of(answer, 422, "invalid-request")
    assert len(answer.content) < 1000


@pytest.mark.parametrize("where", [(), ("reference",)])
def test_an_object_of_many_fields_is_refused_before_they_are_looked_at(
    where: tuple[str, ...],
) -> None:
    """4,500 unknown fields took 28 ms of the event loop, 64 KB."""
    for n_fields in (MOST_FIELDS, MOST_FIELDS + 1):
        value: Any = {f"a{number}": 1 for number in range(n_fields)}
        for name in where:
            value = {name: value}
        if n_fields <= MOST_FIELDS:
            require_few(value, Bound())
            continue
        with pytest.raises(NotStrict, match=f"an object of {n_fields} fields"):
            require_few(value, Bound())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"method": "a", "method": "b"}', "'method'"),
        ('{"a": {"b": [[1], {"\\u0063": 1, "c": 2}]}}', "'c'"),
        ('[{"a:{": 1}, {"a:{": 1, "a:{": 1}]', "'a:{'"),
        ('{"": 1, "": 2}', "''"),
    ],
)
def test_a_name_twice_in_an_object_is_refused(text: str, name: str) -> None:
    """Each parser takes another of the values."""
    for padded in (text, text + " " * (strict_json.SHORT_BYTES + 1)):
        with pytest.raises(NotStrict, match=f"has {name} twice") as refused:
            strict_json.parse_json(padded.encode())
        assert refused.value.code == "invalid-request"


@given(
    st.recursive(
        st.none() | st.integers(0, 9) | st.text(st.sampled_from('a"\\:{},')),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.sampled_from('a"\\:{}')), inner),
    )
)
def test_names_that_differ_are_no_repetition(value: Any) -> None:
    for indent in (None, 1):
        assert strict_json.parse_json(json.dumps(value, indent=indent).encode()) == value


def test_values_are_counted_besides_the_lists_of_inputs() -> None:
    few = Bound(20)
    long = [[0] * 10] * 10
    for body in (
        {"inputs": {"features": long, "names": ["a"] * 100}, "labels": [0] * 100},
        {"features": long, "distances": long, "similarity": long, "hierarchy": ["a/b"] * 100},
        {"params": {"sizes": [0] * 15}},
        [0] * 20,
        "text" * 1000,
    ):
        require_few(body, few)
    for body in (
        {"params": {"sizes": [0] * 20}},
        {"labels": {"a": [0] * 20}},
        {"inputs": {"features": {"a": [0] * 20}}},
        {"other": long},
        {str(number): 0 for number in range(21)},
        [[0] * 10] * 2,
    ):
        with pytest.raises(NotStrict, match="more than 20 values besides the lists"):
            require_few(body, few)
    require_few({"rows": [0] * 1000}, Bound(20, numbers=False))
    for wrong in (True, 0.5, "a", None, [0]):
        with pytest.raises(NotStrict):
            require_few({"rows": [wrong] * 1000}, Bound(20, numbers=False))


@pytest.fixture
def parsed_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The lengths of what this process parses as JSON."""
    lengths: list[int] = []

    def parse(body: bytes) -> Any:
        lengths.append(len(body))
        return parse_json(body)

    parse_json = strict_json.parse_json
    monkeypatch.setattr(strict_json, "parse_json", parse)
    monkeypatch.setattr("workers.child.json_body.parse_json", parse)
    return lengths


def test_long_labels_beside_the_inputs_stay_out_of_this_process(
    working: Working, parsed_here: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = fit(working, "l2h", {"logits": [[4.0, 1.0, 0.0], [0.5, 3.0, 2.0], [0.0, 2.0, 3.5]]})
    at = f"/v1/trees/{tree['id']}/evaluations"
    labels = ["rose", "cat" * (bodies.APART_BYTES // 3), "rose"]
    long, headers = json.dumps({"labels": labels}), {"Prefer": "wait=60"}
    assert len(long) > bodies.APART_BYTES
    apart = working.client.post(at, content=long, headers=headers)
    assert max(parsed_here) < 1000
    parsed_here.clear()
    monkeypatch.setattr(bodies, "APART_BYTES", 1 << 30)
    here = working.client.post(at, content=long, headers=headers)
    assert len(long) in parsed_here
    assert apart.status_code == here.status_code == 200, (apart.text, here.text)
    assert apart.json()["metrics"] == here.json()["metrics"]


@pytest.mark.parametrize("n_pieces", [0, 1, 4, 5, 19])
def test_a_long_body_lies_in_a_file_without_a_name(
    n_pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BATCH_BYTES", 4)
    pieces = [bytes([65 + number]) for number in range(n_pieces)]

    def received(limit: int, folder: Path) -> bytes:
        waiting = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        waiting.append({"type": "http.request", "body": b"", "more_body": False})

        async def receive() -> dict[str, Any]:
            return waiting.pop(0)

        async def read() -> bytes:
            request = Request({"type": "http", "method": "POST", "headers": []}, receive)
            view = await bodies.read_mapped(request, limit, "An uploaded tree", folder)
            assert list(tmp_path.rglob("*")) == ([folder] if folder.exists() else [])
            assert isinstance(view.obj, mmap.mmap) == (n_pieces > 4)
            assert sha256(view).digest() == sha256(b"".join(pieces)).digest()
            return bytes(view)

        return asyncio.run(read())

    assert received(n_pieces, tmp_path / "scratch") == b"".join(pieces)
    if n_pieces:
        with pytest.raises(Refused) as refused:
            received(n_pieces - 1, tmp_path / "scratch")
        assert refused.value.status_code == 413
    if n_pieces > 4:

        def full(file: Any, batch: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(bodies, "_add", full)
        with pytest.raises(Refused) as refused:
            received(n_pieces, tmp_path / "scratch")
        assert refused.value.status_code == 507


def _models_of_bodies() -> list[type[BaseModel]]:
    bodies = []
    for route in (route for router in ROUTERS for route in router.routes):
        if isinstance(route, LateRoute):
            route.build()
            if route.body_field is not None:
                bodies.append(route.body_field.field_info.annotation)
    return late._models(bodies)


def test_no_number_of_a_body_comes_from_a_truth_value_or_a_text() -> None:
    taken = []
    for model in _models_of_bodies():
        if issubclass(model, Exact) or model.model_config.get("strict"):
            continue
        for name, field in model.model_fields.items():
            kinds = parameters._kinds(field.annotation)
            if not kinds & {int, float}:
                continue
            adapter = TypeAdapter[object](Annotated[field.annotation, None, *field.metadata])
            for one in ("1", True):
                for value in (one, *([one] * n for n in (1, 2, 3))):
                    with suppress(ValidationError):
                        adapter.validate_python(value)
                        taken += [] if type(one) in kinds else [(model.__name__, name, value)]
    assert taken == []
