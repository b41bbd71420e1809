"""The document is valid, complete, and equal to the committed one."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest
from openapi_spec_validator import validate

from app import openapi
from app.main import documented_app
from tests.app.conftest import Api


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return documented_app().openapi()


def operations(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_the_committed_document_is_up_to_date() -> None:
    assert openapi.PATH.read_text("utf-8") == openapi.text(documented_app()), "run `umbel openapi`"


def test_every_operation_is_complete(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in operations(document)]
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
                "example" in content or "examples" in content
                for answer in good
                for content in answer["content"].values()
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


def test_a_job_has_these_fields(document: dict[str, Any]) -> None:
    job = document["components"]["schemas"]["NewJob"]
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
    }


def test_the_webhook_is_documented(document: dict[str, Any]) -> None:
    callbacks = document["paths"]["/v1/jobs"]["post"]["callbacks"]
    post = callbacks["job_ended"]["{$request.body#/webhook}"]["post"]
    assert post["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/EndedBody"
    }
    ended = document["components"]["schemas"]["EndedBody"]
    assert ended["properties"]["data"]["$ref"] == "#/components/schemas/JobBody"
    assert {parameter["name"] for parameter in post["parameters"]} == {
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
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


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "action")]


def test_the_reference_page_loads_nothing_else(api: Api, document: dict[str, Any]) -> None:
    answer = api.client.get("/docs")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    links = Links()
    links.feed(answer.text)
    assert links.found == ["openapi.json"]
    assert not links.tags & {"script", "img", "link", "iframe"}
    for _, operation in operations(document):
        assert f"id='{operation['operationId']}'" in answer.text
    assert api.client.get("/redoc").status_code == 404


def test_importing_the_app_is_light() -> None:
    code = (
        "import sys, app.main; app.main.create_app().openapi(); "
        "print([m for m in ('torch', 'sklearn', 'pyarrow', 'numba') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=openapi.PATH.parent.parent,
    )
    assert done.stdout.strip() == "[]"
