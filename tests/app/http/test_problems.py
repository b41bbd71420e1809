"""Every error is a problem, for any request."""

from __future__ import annotations

import codecs
import json
import logging
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts

from app.http.queries import names, refuse_unknown
from tests.app.conftest import Api, Start, new_job, problem_of
from tests.document_kit import followed
from workers.errors import StoreFull, StoreUnavailable

JSON = {"Content-Type": "application/json"}


def post(api: Api, content: bytes) -> object:
    return api.client.post("/v1/jobs", content=content, headers=JSON)


@pytest.mark.parametrize(
    "content",
    [b"{", b"nope", b"\xff", b"[" * 100_000, b'{"a":' * 50_000, b"{} x", b'"\\ud8"',
     b"[" * 300 + b"]" * 300, "{}".encode("utf-16"), codecs.BOM_UTF8, codecs.BOM_UTF8 * 2 + b"{}"],
)  # fmt: skip
def test_a_body_that_is_not_json_is_malformed(api: Api, content: bytes) -> None:
    problem_of(post(api, content), 400, "malformed")


@pytest.mark.parametrize("padding", [0, 100_000, 2_000_000], ids=["here", "thread", "process"])
def test_a_body_may_begin_with_a_byte_order_mark(api: Api, padding: int) -> None:
    content = codecs.BOM_UTF8 + json.dumps(new_job()).encode() + b" " * padding
    answer = post(api, content)
    assert answer.status_code == 202, answer.text  # type: ignore[attr-defined]


def test_a_byte_order_mark_is_accepted_wherever_json_is(api: Api) -> None:
    job = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    content = codecs.BOM_UTF8 + b'{"name": "marked"}'
    answer = api.client.patch(f"/v1/jobs/{job}", content=content, headers=JSON)
    assert answer.status_code == 200, answer.text
    assert answer.json()["name"] == "marked"


@pytest.mark.parametrize("mark", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize(
    ("encoding", "first"),
    [("UTF-16-LE", codecs.BOM_UTF16_LE), ("UTF-16-BE", codecs.BOM_UTF16_BE),
     ("UTF-32-LE", codecs.BOM_UTF32_LE), ("UTF-32-BE", codecs.BOM_UTF32_BE)],
)  # fmt: skip
def test_wide_encodings_are_named(api: Api, encoding: str, first: bytes, mark: bool) -> None:
    content = (first if mark else b"") + json.dumps(new_job()).encode(encoding)
    problem = problem_of(post(api, content), 400, "malformed")
    assert encoding[:6] in problem["detail"]
    assert "UTF-8" in problem["detail"]


@pytest.mark.parametrize("content", [b"\x00", b"{\x00}", b"\x00\x00\x00\x00"])
def test_zeros_in_a_body_do_no_harm(api: Api, content: bytes) -> None:
    problem_of(post(api, content), 400, "malformed")


@pytest.mark.parametrize(
    "value",
    ["NaN", "Infinity", "-Infinity", "1e400", "-1e999", "1" + "0" * 400 + ".0", "9" * 5000,
     '"\\ud800"', '"\\udc00"', "1" + "0" * 400],
)  # fmt: skip
@pytest.mark.parametrize("place", ["name", "params", "inputs", "key"])
def test_values_that_json_cannot_carry_are_422(api: Api, value: str, place: str) -> None:
    text = {
        "name": f'{{"method": "l2h", "inputs": {{"logits": [[1, 2]]}}, "name": {value}}}',
        "params": '{"method": "l2h", "inputs": {"logits": [[1, 2]]}, "params": '
        f'{{"aggregation": {value}}}}}',
        "inputs": f'{{"method": "l2h", "inputs": {{"logits": [[1, {value}]]}}}}',
        "key": f'{{"method": "l2h", "inputs": {{"logits": [[1, 2]]}}, "x": {value}}}',
    }[place]
    answer = post(api, text.encode())
    assert answer.status_code == 422, answer.text  # type: ignore[attr-defined]
    assert api.sent == []


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"1", b'"x"', b"{}", b'{"method": 1}'])
def test_bodies_of_another_shape(api: Api, content: bytes) -> None:
    problem_of(post(api, content), 422, "invalid-request")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"preprocess": [{"step": "standardise"}]},
            "preprocess.0: 'standardise' is no 'step'; accepted are 'words', ",
        ),
        ({"retry_on": ["worker lost"]}, "Input should be 'worker-lost', "),
        ({"params": {"agregation": "sum"}}, "params.agregation: There is no such field."),
    ],
)
def test_a_word_that_is_near_an_accepted_one(api: Api, fields: dict[str, Any], says: str) -> None:
    refused = problem_of(
        api.client.post("/v1/jobs", json=new_job(**fields)), 422, "invalid-request"
    )
    assert says in refused["detail"]
    meant = {"preprocess": "standardize", "retry_on": "worker-lost", "params": "aggregation"}
    assert f" Did you mean '{meant[next(iter(fields))]}'?" in refused["detail"]
    far = problem_of(
        api.client.post("/v1/jobs", json=new_job(retry_on=["zzz"])), 422, "invalid-request"
    )
    assert "mean" not in far["detail"]


def _fields(schemas: dict[str, Any], schema: dict[str, Any]) -> set[str]:
    """The fields of a body; where it has alternatives, of the first."""
    schema = schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
    parts = [*schema.get("allOf", ()), *schema.get("oneOf", ())[:1], *schema.get("anyOf", ())]
    return set(schema.get("properties", ())).union(*(_fields(schemas, part) for part in parts))


def test_a_misspelt_field_of_each_body_is_recognised(api: Api) -> None:
    document = api.client.get("/openapi.json").json()
    tried = 0
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            body = followed(document, operation.get("requestBody", {}))
            schema = body.get("content", {}).get("application/json", {}).get("schema", {})
            fields = _fields(document["components"]["schemas"], schema)
            if not fields:
                continue
            place = path
            for parameter in operation.get("parameters", []):
                parameter = followed(document, parameter)
                if parameter["in"] == "path":
                    example = parameter["schema"].get("examples", ["queue"])[0]
                    place = place.replace(f"{{{parameter['name']}}}", example)
            field = max(fields, key=len)
            answer = api.client.request(verb, place, json={field[:-1] + "q": 1})
            refused = problem_of(answer, 422, "invalid-request")
            assert refused["detail"].startswith(f"{field[:-1]}q: "), (path, refused)
            assert f"Did you mean {field!r}?" in refused["detail"], (path, refused)
            tried += 1
    assert tried >= 30


def test_a_misspelt_name_within_a_body_is_recognised(api: Api) -> None:
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"inputs": {"logit": [[1, 2]]}}, "logits", "wrong-input"),
        ({"preprocess": [{"step": "words", "max_word": 2}]}, "max_words", "invalid-request"),
        ({"then": {"method": "hac", "param": {}}}, "params", "invalid-request"),
    ]
    for fields, meant, code in wrong:
        answer = api.client.post("/v1/jobs", json=new_job(**fields))
        refused = problem_of(answer, 422, code)
        assert f"Did you mean {meant!r}?" in refused["detail"], refused


def test_a_body_of_another_type(api: Api) -> None:
    answer = api.client.post("/v1/jobs", content=b"{}", headers={"Content-Type": "text/plain"})
    problem_of(answer, 415, "unsupported-format")
    bare = api.client.build_request("POST", "/v1/jobs", content=b"{}")
    bare.headers.pop("content-type", None)
    problem_of(api.client.send(bare), 422, "invalid-request")


def test_a_large_body_is_refused(start: Start) -> None:
    api = start(max_json_bytes=1000)
    stated = post(api, b" " * 1001)
    assert problem_of(stated, 413, "too-large")["limit"] == 1000
    streamed = api.client.post("/v1/jobs", content=(b" " * 100 for _ in range(20)), headers=JSON)
    problem_of(streamed, 413, "too-large")


def test_unknown_paths_and_methods(api: Api) -> None:
    problem_of(api.client.get("/v1/nothing"), 404, "not-found")
    problem_of(api.client.get("/v1/nothing/"), 404, "not-found")
    for method in ("GET", "PATCH", "DELETE"):
        problem_of(api.client.request(method, "/v1/trees/.x"), 404, "not-found")
    wrong = api.client.put("/v1/jobs")
    body = problem_of(wrong, 405, "method-not-allowed")
    assert wrong.headers["allow"] == "GET, HEAD, POST"
    assert "PUT" in body["detail"]
    for path, methods in (
        ("/v1/drifts/dr_1", "DELETE, GET, HEAD"),
        ("/v1/drifts/dr_1.csv", "GET, HEAD"),
        ("/v1/heatmaps/hm_1.svg", "GET, HEAD"),
        ("/v1/trees/tr_1", "DELETE, GET, HEAD, PATCH"),
        ("/v1/trees/tr_1.linkage.npy", "GET, HEAD"),
    ):
        assert api.client.options(path).headers["allow"] == methods
    assert problem_of(api.client.get("/v1/methods/x"), 404, "not-found")


def test_an_internal_error_reveals_nothing(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(api.service.ledger, "get", fail)
    with caplog.at_level(logging.ERROR):
        answer = api.client.get("/v1/jobs/job_" + "0" * 26, headers={"X-Request-ID": "r-1"})
    body = problem_of(answer, 500, "internal")
    assert "secret" not in answer.text
    assert body["request_id"] == "r-1"
    assert "/secret/path" in caplog.text


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(StoreUnavailable("/secret"), 503, "unavailable"), (StoreFull("/secret"), 507, "full")],
)
def test_a_store_that_is_unreachable_or_full(
    api: Api, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, code: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(api.service.ledger, "submit", fail)
    answer = api.client.post("/v1/jobs", json=new_job())
    problem_of(answer, status, code)
    assert "secret" not in answer.text
    assert ("retry-after" in answer.headers) == (status == 503)


def test_head_is_get_without_the_content(api: Api) -> None:
    for path, status in (("/livez", 200), ("/v1/jobs", 200), ("/v1/methods/x", 404)):
        complete, bare = api.client.get(path), api.client.head(path)
        assert complete.status_code == bare.status_code == status
        assert bare.content == b""
        for name in ("content-type", "content-length"):
            assert bare.headers[name] == complete.headers[name]
    for path in (f"/v1/jobs/job_{0:026d}/cancel", f"/v1/jobs/job_{0:026d}/events"):
        wrong = api.client.head(path)
        assert wrong.status_code == 405
        assert "HEAD" not in wrong.headers["allow"]


def test_head_ignores_a_range(api: Api) -> None:
    content = b"x,y\n1,2\n"
    made = api.client.post("/v1/datasets", content=content, headers={"Content-Type": "text/csv"})
    path = f"/v1/datasets/{made.json()['id']}/content"
    part = api.client.get(path, headers={"Range": "bytes=0-2"})
    assert (part.status_code, part.content) == (206, b"x,y")
    bare = api.client.head(path, headers={"Range": "bytes=0-2"})
    assert (bare.status_code, bare.headers["content-length"]) == (200, "8")
    assert api.client.head(path, headers={"Range": "bytes=90-"}).status_code == 200


def test_a_malformed_id(api: Api) -> None:
    detail = problem_of(api.client.get(f"/v1/trees/tr_{0:026d}/nodes/-1"), 404, "not-found")
    assert "an id or a number in it" in detail["detail"]


def test_unknown_query_parameters_are_refused(api: Api) -> None:
    problem = problem_of(api.client.get("/v1/jobs?x=1&limt=5&x=2"), 422, "invalid-request")
    assert [entry["parameter"] for entry in problem["errors"]] == ["x", "limt"]
    assert problem["detail"].startswith("This path has no query parameter 'x'; it takes ")
    assert problem["errors"][1]["detail"].endswith("Did you mean 'limit'?")
    problem = problem_of(api.client.get("/v1/methods/l2h?limit=5"), 422, "invalid-request")
    assert problem["detail"] == "This path has no query parameter 'limit'; it takes none."
    # Parameters of a form that is not chosen are parameters of the path.
    assert api.client.get("/v1/jobs?limit=5&status=queued").status_code == 200


def test_every_documented_route_refuses_them_but_the_probes(api: Api) -> None:
    app = api.client.app
    assert isinstance(app, FastAPI)
    lenient = {
        route.path
        for route in app.routes
        if isinstance(route, APIRoute)
        and route.include_in_schema
        and refuse_unknown not in [entry.call for entry in route.dependant.dependencies]
    }
    assert lenient == {"/livez", "/readyz", "/metrics"}


def test_probes_and_links_to_the_page_may_have_any_query(api: Api) -> None:
    assert api.client.get("/livez?verbose").status_code == 200
    assert api.client.get("/?utm_source=mail").status_code == 200


def test_accepted_query_parameters_are_those_of_the_document(api: Api) -> None:
    app = api.client.app
    assert isinstance(app, FastAPI)
    paths = followed(document := app.openapi(), document["paths"])

    def documented(path: str, verb: str) -> set[str]:
        listed = paths[path][verb.lower()].get("parameters", ())
        return {entry["name"] for entry in listed if entry["in"] == "query"}

    n_parameters = 0
    for route in iter_route_contexts(app.routes):
        operations = paths.get(route.path_format, {})
        for verb in route.methods or ():
            if verb.lower() not in operations:
                continue
            expected = documented(route.path_format, verb)
            if verb == "GET" and (others := f"{route.path_format}.{{form}}") in paths:
                # The JSON has no parameters of pictures, which `Accept` may choose.
                assert expected <= documented(others, verb)
                expected = documented(others, verb)
            assert set(names(route.original_route)) == expected, route.path
            n_parameters += len(expected)
    assert n_parameters > 50


def test_a_path_with_a_slash_at_its_end_is_the_one_without(api: Api) -> None:
    def moved(method: str, path: str, **options: Any) -> str:
        answer = api.client.request(method, path, follow_redirects=False, **options)
        assert answer.status_code == 308, answer.text
        return str(answer.headers["location"])

    assert moved("GET", "/v1/jobs/?limit=1&tag=%C3%BC") == "/v1/jobs?limit=1&tag=%C3%BC"
    assert moved("DELETE", "/v1/trees/x%0d%0ay//") == "/v1/trees/x%0D%0Ay"
    # The method and the body are kept.
    made = api.client.post("/v1/jobs/", json=new_job())
    assert made.status_code == 202
    assert api.client.get("/v1/jobs/").json()["items"][0]["id"] == made.json()["id"]
    # Nowhere else, and never to another host.
    for path in ("//evil.example/", "/nothing/", "/v1//", "//v1/jobs/"):
        answer = api.client.get(f"http://127.0.0.1:8000{path}", follow_redirects=False)
        assert answer.status_code != 308
