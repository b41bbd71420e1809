"""The document is valid, complete, and equal to the committed one."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import validate

from app.http.picture_queries import PictureQuery, SizedPictureQuery
from app.main import documented_app
from app.openapi import document as openapi
from app.openapi.method_schemas import brief, name_of
from app.resources.trees.forms import FORMS
from models.registry import methods
from tests.app.conftest import Api
from tests.document_kit import followed, joined, made, spelled_out


@pytest.fixture(scope="module")
def text() -> str:
    return made()


@pytest.fixture(scope="module")
def document(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return document


def operations(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, methods in spelled_out(document)["paths"].items()
        for method, operation in methods.items()
    ]


def test_generated_clients_send_no_form_what_it_refuses(document: dict[str, Any]) -> None:
    """They send what has a default; that of pictures' parameters is no form's but a picture's."""
    of_pictures = {*SizedPictureQuery.of_pictures, *PictureQuery.of_pictures}
    by_suffix = [
        followed(document, each["get"])
        for path, each in document["paths"].items()
        if path.endswith(".{form}")
    ]
    drawn = [
        parameter
        for operation in by_suffix
        if any(not media.startswith("image/") for media in operation["responses"]["200"]["content"])
        for parameter in operation["parameters"]
        if parameter["name"] in of_pictures
    ]
    assert len(drawn) > 20
    assert not [each["name"] for each in drawn if "default" in each["schema"]]


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_the_committed_document_is_up_to_date(text: str) -> None:
    assert openapi.PATH.read_text("utf-8") == text, "run `umbel openapi`"


def test_without_the_committed_document_the_service_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what writes the committed one."""
    monkeypatch.setattr(openapi, "PATH", tmp_path / "none.json")
    made: dict[str, Any] = {"paths": {}, "components": {"schemas": {}}}
    monkeypatch.setattr(openapi, "_document_of", lambda *_, **__: copy.deepcopy(made))
    monkeypatch.setattr(openapi.method_schemas, "extend", lambda _: None)
    app = documented_app()
    assert app.openapi() == made == json.loads(openapi.text(app))


def test_every_operation_is_complete(document: dict[str, Any]) -> None:
    names = [
        operation["operationId"]
        for methods in document["paths"].values()
        for operation in methods.values()
    ]
    assert len(set(names)) == len(names)
    for where, operation in operations(document):
        assert operation["summary"], where
        assert operation["description"], where
        assert operation["tags"], where
        answers = operation["responses"]
        good = [answer for status, answer in answers.items() if status.startswith("2")]
        assert good, where
        for status, answer in answers.items():
            for media, content in answer.get("content", {}).items():
                problem = status.startswith(("4", "5"))
                assert (media == "application/problem+json") == problem, (where, status)
                if problem:
                    assert content["examples"], (where, status)
        if "204" not in answers:
            assert any(
                "example" in content
                or "examples" in content
                or content["schema"].get("format") == "binary"
                or media.startswith("image/")
                for answer in good
                for media, content in answer["content"].items()
            ), where
        if "requestBody" in operation:
            assert "example" in json.dumps(operation["requestBody"]) or "$ref" in json.dumps(
                operation["requestBody"]
            ), where
        if "/v1/" in where:
            assert "401" in answers, where
            assert "403" in answers, where
            # Only the catalogue and the version need neither Redis nor the store.
            alone = "/v1/methods" in where or "/v1/version" in where
            assert ("503" in answers) != alone, where
            assert "507" in answers or "/cancel" in where or not where.startswith("post"), where


def test_no_parameter_is_null(document: dict[str, Any]) -> None:
    parameters = [
        (name, parameter["schema"])
        for name, operation in operations(document)
        for parameter in operation.get("parameters", [])
    ]
    assert parameters
    assert [name for name, schema in parameters if '"null"' in json.dumps(schema)] == []


def test_operations_with_a_condition_say_that_it_may_not_hold(document: dict[str, Any]) -> None:
    conditional = {
        name: operation
        for name, operation in operations(document)
        if any(each["name"].lower() == "if-match" for each in operation.get("parameters", []))
    }
    assert conditional
    assert [name for name, each in conditional.items() if "412" not in each["responses"]] == []


def test_a_job_of_each_method_has_these_fields(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    mapping = schemas["NewJob"]["discriminator"]["mapping"]
    assert list(mapping) == list(methods())
    assert [each["$ref"] for each in schemas["NewJob"]["oneOf"]] == list(mapping.values())
    for method_id, reference in mapping.items():
        job = joined(document, {"$ref": reference})
        assert job["properties"]["method"]["const"] == method_id
        assert set(job["required"]) == {"method", "inputs"}
        assert job["unevaluatedProperties"] is False
        assert set(job["properties"]) == {
            "method",
            "inputs",
            "params",
            "preprocess",
            "then",
            "support",
            "name_by",
            "name",
            "webhook",
            "expires_at",
            "description",
            "tags",
            "attempts",
            "backoff",
            "retry_on",
        }


def test_each_method_has_an_example_with_its_first_parameters(document: dict[str, Any]) -> None:
    content = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
    assert list(content["examples"]) == list(methods())
    for method_id, method in methods().items():
        example = content["examples"][method_id]["value"]
        assert example["method"] == method_id
        defaults = method.Params().model_dump(mode="json")
        assert example["params"] == {name: defaults[name] for name in list(defaults)[:3]}
        required = {role for role, entry in method.inputs.items() if entry.required}
        assert required <= set(example["inputs"]) <= set(method.inputs)
        assert example["inputs"]


@pytest.mark.parametrize(
    ("request_name", "rest"), [("NewJob", {"inputs": {}}), ("NewStep", {}), ("RunBody", {})]
)
def test_the_params_of_a_request_are_those_of_its_method(
    document: dict[str, Any], request_name: str, rest: dict[str, Any]
) -> None:
    schema = {
        "$ref": f"#/components/schemas/{request_name}",
        "components": document["components"],
    }
    validator = jsonschema_rs.Draft202012Validator(schema)
    for method_id, method in methods().items():
        defaults = method.Params().model_dump(mode="json")
        for params in (dict(method.example), defaults):
            assert validator.is_valid({"method": method_id, "params": params, **rest}), method_id
        assert validator.is_valid({"method": method_id, **rest})
        wrong = {"method": method_id, "params": {"no_such": 1}, **rest}
        assert not validator.is_valid(wrong), method_id
    assert not validator.is_valid({"method": "no-such", **rest})


def test_parameters_are_described_in_short() -> None:
    assert brief("Edges of a row. It needs `knn`. Default: all.") == "Edges of a row. Default: all."
    assert brief("Score of a group. 'sum': their sum. See Ward (1963).") == (
        "Score of a group. 'sum': their sum."
    )
    assert brief("By et al. 2018, i.e. shares") == "By et al. 2018, i.e. shares"


def test_methods_of_a_family_extend_what_they_share(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    extending = 0
    for method_id, method in methods().items():
        name = f"{name_of(method_id)}Params"
        extending += "allOf" in schemas[name]
        members = joined(document, schemas[name])["properties"]
        assert set(members) == set(method.Params.model_fields), method_id
    assert extending > 20
    assert set(schemas["ClassifierParams"]["properties"]) > {"calibrate", "cut_off"}


def test_no_two_schemas_are_equal(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    texts = [json.dumps({**schema, "title": ""}, sort_keys=True) for schema in schemas.values()]
    assert len(texts) == len(set(texts))


def test_few_responses_say_what_any_request_may_be_answered(document: dict[str, Any]) -> None:
    defaults = {
        method["responses"]["default"]["$ref"].rpartition("/")[2]
        for path, operations in document["paths"].items()
        for method in operations.values()
        if path.startswith("/v1/")
    }
    ends = ("", "ButUnavailable", "OfBody", "OfBodyOfForm", "OfForm")
    assert defaults == {f"AnyProblem{end}" for end in ends}


def test_lists_of_a_tree_are_documented_once(document: dict[str, Any]) -> None:
    for noun in ("attachments", "heatmaps", "maps"):
        assert "get" not in document["paths"][f"/v1/trees/{{tree_id}}/{noun}"]
        listed = followed(document, document["paths"][f"/v1/{noun}"]["get"])
        assert "tree" in {parameter["name"] for parameter in listed["parameters"]}


def test_bounds_are_words_of_json_schema(document: dict[str, Any]) -> None:
    """A bound of a parameter that may be null is otherwise shown under pydantic's word for it."""
    words = set(re.findall(r'"(ge|gt|le|lt|max_length|min_length)":', json.dumps(document)))
    assert not words


def test_bounds_of_arrays_are_of_their_items(document: dict[str, Any]) -> None:
    left: list[Any] = [document]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if part.get("type") == "array":
                assert not part.keys() & {"minLength", "maxLength"}, part
            if isinstance(kinds := part.get("type"), list) and "array" in kinds:
                # Without them a generator leaves out what has it.
                assert part.keys() & {"items", "prefixItems"}, part
            left += part.values()
        elif isinstance(part, list):
            left += part


def test_no_two_schemas_have_one_title(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    # Generators name their types by the title, else by the schema's own name.
    names = [schema.get("title", name) for name, schema in schemas.items()]
    assert sorted(names) == sorted(set(names))


def test_a_tree_is_one_path_with_its_json_and_one_with_all_other_forms(
    document: dict[str, Any],
) -> None:
    paths = spelled_out(document)["paths"]
    for form in FORMS:
        operation = paths[f"/v1/trees/{{tree_id}}.{form.suffix}"]["get"]
        assert list(operation["responses"]["200"]["content"]) == [form.media]
        names = {entry["name"] for entry in operation["parameters"]}
        assert ("palette" in names) == (form.suffix != "json")
        assert {"root", "depth"} <= names
    ends = {path.partition(".")[2] for path in document["paths"] if "." in path}
    assert ends == {"{form}"}
    assert "x-umbel" not in json.dumps(document)


def test_text_comes_first_and_is_text(document: dict[str, Any]) -> None:
    """A generator that knows one media type of a response takes the first that it knows."""
    paths = [path for path in document["paths"] if path.endswith(".{form}")]
    assert len(paths) > 20
    for path in paths:
        content = document["paths"][path]["get"]["responses"]["200"]["content"]
        is_text = [media.startswith("text/") for media in content]
        assert is_text == sorted(is_text, reverse=True), path
        for media, entry in content.items():
            if media.startswith("text/"):
                assert entry["schema"] == {"type": "string"}, path


def test_what_repeats_is_written_once(document: dict[str, Any]) -> None:
    every = [each for path in document["paths"].values() for each in path.values()]
    for part in ("responses", "parameters"):
        own = [
            json.dumps(entry)
            for operation in every
            for entry in _entries(operation.get(part, ()))
            if "$ref" not in entry
        ]
        assert len(own) == len(set(own)), part


def _entries(part: Any) -> list[Any]:
    """The problems of an operation, or its parameters."""
    if isinstance(part, dict):
        return [entry for status, entry in part.items() if status.startswith(("4", "5"))]
    return list(part)


def test_the_document_stays_readable(document: dict[str, Any]) -> None:
    """What a reader and a generator have to take in."""
    n_operations = sum(len(path) for path in document["paths"].values())
    assert n_operations <= 163
    assert len(json.dumps(document)) <= 603_000


def test_every_operation_says_whether_it_needs_a_key(document: dict[str, Any]) -> None:
    for where, operation in operations(document):
        is_open = where in ("GET /livez", "GET /readyz", "GET /v1/version")
        assert operation["security"] == ([] if is_open else [{"key": []}, {}]), where


def test_the_first_form_of_an_upload_is_binary(document: dict[str, Any]) -> None:
    content = document["paths"]["/v1/datasets"]["post"]["requestBody"]["content"]
    media, entry = next(iter(content.items()))
    assert media == "application/octet-stream"
    assert entry["schema"] == {"type": "string", "format": "binary"}


def test_the_webhook_is_documented(document: dict[str, Any]) -> None:
    callbacks = spelled_out(document)["paths"]["/v1/jobs"]["post"]["callbacks"]
    post = callbacks["job_ended"]["{$request.body#/webhook}"]["post"]
    assert post["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/EndedBody"
    }
    ended = document["components"]["schemas"]["EndedBody"]
    assert ended["properties"]["data"]["$ref"] == "#/components/schemas/JobBody"
    assert {parameter["name"] for parameter in post["parameters"]} == {
        "Webhook-Id",
        "Webhook-Timestamp",
        "Webhook-Signature",
    }
    assert set(post["responses"]) == {"204", "410", "default"}


def test_examples_follow_their_schemas(document: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    for where, operation in operations(document):
        contents = [("body", operation.get("requestBody", {}).get("content", {}))]
        contents += [(s, answer.get("content", {})) for s, answer in operation["responses"].items()]
        for part, content in contents:
            for media, entry in content.items():
                if "json" not in media:
                    continue
                schema = {**entry["schema"], "components": document["components"]}
                examples = [entry["example"]] if "example" in entry else []
                examples += [example["value"] for example in entry.get("examples", {}).values()]
                for example in examples:
                    errors = list(Draft202012Validator(schema).iter_errors(example))
                    assert not errors, (where, part, errors[0].message)


def test_the_document_is_served(api: Api, document: dict[str, Any]) -> None:
    assert api.client.get("/openapi.json").json() == document


METHODS = ("models.methods.logits.l2h", "models.methods.partitions.kmeans")
HEAVY = ("torch", "sklearn", "pyarrow", "numba", "celery", "scipy.optimize", "httpcore", "h11")


def imported_by(*steps: str, of: tuple[str, ...]) -> list[list[str]]:
    """Which of these modules and packages are loaded after each step of a fresh process."""
    shown = f"print(json.dumps([name for name in {of!r} if name in sys.modules]))"
    code = "\n".join(["import json, sys", *(f"{step}; {shown}" for step in steps)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=openapi.PATH.parent.parent,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_start_of_the_app_is_light_and_loads_no_method() -> None:
    """A method that is requested is loaded alone."""
    started, documented, known = imported_by(
        "import app.main; api = app.main.create_app()",
        "api.openapi()",
        "from models.registry import known; known('l2h')",
        of=(*METHODS, *HEAVY),
    )
    assert started == []
    assert not {*documented} & {"torch", "sklearn", "pyarrow", "numba", "celery"}
    assert {*known} & {*METHODS} == {METHODS[0]}


def test_few_routes_and_models_are_built_at_the_start() -> None:
    """The others when they are first used: they would take half of the time until it is ready."""
    built = """
import json, app.main
from app.http.late import LateModel, LateRoute
routes = [each for router in app.main.ROUTERS for each in router.routes]
models = LateModel.__subclasses__()
for model in models:
    models += model.__subclasses__()
counts = [
    sum("dependant" in vars(route) for route in routes if isinstance(route, LateRoute)),
    sum(model.__pydantic_complete__ for model in models),
    len(models),
]
print(json.dumps(counts))
"""
    done = subprocess.run(
        [sys.executable, "-c", built],
        capture_output=True,
        check=True,
        cwd=openapi.PATH.parent.parent,
    )
    routes, complete, models = json.loads(done.stdout)
    assert routes == 5
    assert complete < models / 5


def test_importing_serve_is_light() -> None:
    """It keeps the processes; those that load for long are started before it has loaded itself."""
    heavy = ("pydantic", "redis", "fastapi", "numpy", "celery")
    early, whole = imported_by("import app.cli, app.http.early", "import app.serve", of=heavy)
    assert early == []
    assert {*whole} == {"pydantic", "redis"}


def test_the_document_is_written_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    packed, plain = ({"Accept-Encoding": coding} for coding in ("gzip", "identity"))
    document = api.client.get("/openapi.json", headers=packed).json()
    assert api.client.get("/openapi.json", headers=plain).json() == document

    def written(*_: object, **__: object) -> None:
        raise AssertionError("the document is written anew")

    monkeypatch.setattr(json, "dumps", written)
    for headers in (packed, plain):
        assert api.client.get("/openapi.json", headers=headers).json() == document
