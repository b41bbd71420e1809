"""What breaks clients is found, what does not is not, and nothing that is released is broken."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from scripts.contract import CURRENT, RELEASED, bare, breaks, version

Change = Callable[[dict[str, Any]], object]

_TREE: dict[str, Any] = {
    "type": "object",
    "required": ["id", "children"],
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string", "description": "A member that is called title."},
        "kind": {"enum": ["hierarchy", "partition"]},
        "height": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        # A schema that has itself as a part.
        "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
    },
}
_RUN: dict[str, Any] = {
    "type": "object",
    "required": ["method"],
    "additionalProperties": False,
    "properties": {
        "method": {"const": "hac"},
        "k": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "linkage": {"enum": ["single", "ward"]},
        "name": {"type": ["string", "null"]},
    },
}
DOCUMENT: dict[str, Any] = {
    "paths": {
        "/trees/{id}": {
            "get": {
                "operationId": "get_tree",
                "security": [{"key": []}, {}],
                "parameters": [
                    {"$ref": "#/components/parameters/Id"},
                    {"name": "depth", "in": "query", "schema": {"type": "integer"}},
                ],
                "responses": {
                    "200": {
                        "headers": {"ETag": {"schema": {"type": "string"}}},
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Tree"}},
                            "text/csv": {"schema": {"type": "string"}},
                        },
                    },
                    "404": {"content": {}},
                },
            }
        },
        "/jobs": {
            "post": {
                "operationId": "create_job",
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {
                                "oneOf": [
                                    {"$ref": "#/components/schemas/Run"},
                                    {
                                        "type": "object",
                                        "properties": {
                                            "method": {"const": "l2h"},
                                            "k": {"type": "string"},
                                        },
                                    },
                                ]
                            }
                        }
                    }
                },
                "responses": {"202": {"content": {}}},
            }
        },
    },
    "components": {
        "parameters": {
            "Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        },
        "schemas": {"Tree": _TREE, "Run": _RUN},
    },
}


def get(document: dict[str, Any]) -> Any:
    return document["paths"]["/trees/{id}"]["get"]


def post(document: dict[str, Any]) -> Any:
    return document["paths"]["/jobs"]["post"]


def tree(document: dict[str, Any]) -> Any:
    return document["components"]["schemas"]["Tree"]


def run(document: dict[str, Any]) -> Any:
    return document["components"]["schemas"]["Run"]


def in_parts(document: dict[str, Any]) -> None:
    """The run, with the same members in two parts, of which one is elsewhere."""
    whole = run(document)
    properties = whole["properties"]
    method = {"type": "object", "properties": {"method": properties.pop("method")}}
    document["components"]["schemas"]["Method"] = {**method, "required": ["method"]}
    document["components"]["schemas"]["Run"] = {
        "unevaluatedProperties": False,
        "allOf": [
            {"$ref": "#/components/schemas/Method"},
            {"type": "object", "properties": properties},
        ],
    }


def run_of_parts(document: dict[str, Any]) -> Any:
    in_parts(document)
    return run(document)["allOf"][1]["properties"]


def k_elsewhere(document: dict[str, Any]) -> Any:
    """The run, with a reference to its `k`."""
    properties = run(document)["properties"]
    document["components"]["schemas"]["K"] = properties["k"]
    properties["k"] = {"$ref": "#/components/schemas/K"}
    return document["components"]["schemas"]["K"]


BREAKS: dict[str, tuple[Change, str]] = {
    "path": (lambda d: d["paths"].pop("/jobs"), "POST /jobs: it is gone"),
    "method": (lambda d: d["paths"]["/trees/{id}"].pop("get"), "it is gone"),
    "operation id": (lambda d: get(d).update(operationId="tree"), "its id get_tree is now tree"),
    "key": (lambda d: get(d).update(security=[{"key": []}]), "it needs a key"),
    "key for all": (
        lambda d: (d.update(security=[{"key": []}]), get(d).pop("security")),
        "it needs a key",
    ),
    "parameter gone": (lambda d: get(d)["parameters"].pop(), "query parameter 'depth' is gone"),
    "parameter required": (
        lambda d: get(d)["parameters"][1].update(required=True),
        "query parameter 'depth' is required",
    ),
    "parameter new": (
        lambda d: get(d)["parameters"].append(
            {"name": "x", "in": "query", "required": True, "schema": {}}
        ),
        "query parameter 'x' is new and required",
    ),
    "parameter's type": (
        lambda d: get(d)["parameters"][1].update(schema={"type": "boolean"}),
        "query parameter 'depth' no longer takes integer",
    ),
    "parameter written otherwise": (
        lambda d: get(d)["parameters"][1].update(explode=False),
        "query parameter 'depth' is written in another way (explode)",
    ),
    "status gone": (lambda d: post(d)["responses"].pop("202"), "it no longer answers 202"),
    "status new": (
        lambda d: post(d)["responses"].update({"201": {"content": {}}}),
        "it answers 201",
    ),
    "header gone": (
        lambda d: get(d)["responses"]["200"].pop("headers"),
        "the header etag of 200 is gone",
    ),
    "form gone": (
        lambda d: get(d)["responses"]["200"]["content"].pop("text/csv"),
        "200 is not answered as text/csv",
    ),
    "body required": (
        lambda d: post(d)["requestBody"].update(required=True),
        "the body is required",
    ),
    "body gone": (lambda d: post(d).pop("requestBody"), "it takes no body"),
    "body's form": (
        lambda d: post(d)["requestBody"].update(content={"text/csv": {}}),
        "the body is not taken as application/json",
    ),
    "alternative gone": (
        lambda d: post(d)["requestBody"]["content"]["application/json"]["schema"]["oneOf"].pop(),
        "the body no longer takes object",
    ),
    "member answered no more": (
        lambda d: tree(d)["properties"].pop("title"),
        "the answer 200/title is gone",
    ),
    "member answered at times": (
        lambda d: tree(d)["required"].remove("children"),
        "the answer 200/children may be missing",
    ),
    "value answered newly": (
        lambda d: tree(d)["properties"]["kind"]["enum"].append("forest"),
        'the answer 200/kind may be "forest"',
    ),
    "null answered newly": (
        lambda d: tree(d)["properties"]["id"].update(type=["string", "null"]),
        "the answer 200/id may be null",
    ),
    "number answered for an integer": (
        lambda d: tree(d)["properties"]["id"].update(type="integer"),
        "the answer 200/id may be integer",
    ),
    "deep in itself": (
        lambda d: tree(d)["properties"]["children"].update(items={"type": "string"}),
        "the answer 200/children/* may be string",
    ),
    "value taken no more": (
        lambda d: run(d)["properties"]["linkage"]["enum"].remove("ward"),
        'the body/linkage no longer takes "ward"',
    ),
    "null taken no more": (
        lambda d: run(d)["properties"]["name"].update(type="string"),
        "the body/name no longer takes null",
    ),
    "member taken no more": (
        lambda d: run(d)["properties"].pop("name"),
        "the body/name is gone",
    ),
    "member required": (lambda d: run(d)["required"].append("k"), "the body/k is required"),
    "bound raised": (
        lambda d: run(d)["properties"]["k"].update(minimum=2),
        "the body/k has another minimum: 2, not 1",
    ),
    "bound new": (
        lambda d: run(d)["properties"]["name"].update(maxLength=3),
        "the body/name has another maxLength: 3, not none",
    ),
    "member of a part taken no more": (
        lambda d: run_of_parts(d).pop("name"),
        "the body/name is gone",
    ),
    "value of a part taken no more": (
        lambda d: run_of_parts(d)["linkage"]["enum"].remove("ward"),
        'the body/linkage no longer takes "ward"',
    ),
    "default": (
        lambda d: run(d)["properties"]["k"].update(default=3),
        "the body/k has another default: 3, not 2",
    ),
    "default elsewhere": (
        lambda d: k_elsewhere(d).update(default=3),
        "the body/k has another default: 3, not 2",
    ),
    "pattern": (
        lambda d: run(d)["properties"]["name"].update(pattern="a"),
        "the body/name has another pattern",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_planted_break_is_found(name: str) -> None:
    change, what = BREAKS[name]
    new = copy.deepcopy(DOCUMENT)
    change(new)
    found = list(map(str, breaks(DOCUMENT, new)))
    assert any(each.endswith(what) for each in found), found


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["paths"].update({"/new": {"get": {"operationId": "new", "responses": {}}}}),
        lambda d: get(d)["parameters"].append({"name": "x", "in": "query", "schema": {}}),
        lambda d: get(d)["parameters"].reverse(),
        lambda d: get(d)["parameters"][1].update(schema={"type": "number"}),
        lambda d: get(d)["responses"]["200"]["content"].update({"text/plain": {}}),
        lambda d: get(d)["responses"].update({"429": {"content": {}}}),
        lambda d: get(d)["responses"].pop("404"),
        lambda d: tree(d)["properties"].update(size={"type": "integer"}),
        lambda d: tree(d)["properties"].update(height={"type": "number"}),
        lambda d: tree(d)["required"].append("kind"),
        lambda d: run(d)["properties"].update(seed={"type": "integer"}),
        lambda d: run(d)["properties"]["name"].update(items={}),
        lambda d: run(d)["properties"]["k"].update(minimum=0, maximum=10),
        lambda d: run(d)["properties"]["linkage"]["enum"].append("average"),
        lambda d: run(d).update(required=[]),
        lambda d: tree(d).update(description="Other words.", examples=[{}]),
        lambda d: tree(d)["properties"].update(height={"type": ["number", "null"]}),
        lambda d: in_parts(d),
        lambda d: k_elsewhere(d),
    ],
)
def test_what_takes_or_answers_more_breaks_nothing(change: Change) -> None:
    new = copy.deepcopy(DOCUMENT)
    change(new)
    assert new != DOCUMENT
    assert breaks(DOCUMENT, new) == []


def test_words_count_for_nothing_but_members_may_be_called_like_them() -> None:
    kept = bare(DOCUMENT)
    assert "title" in kept["components"]["schemas"]["Tree"]["properties"]
    assert "called title" not in json.dumps(kept)
    assert breaks(DOCUMENT, kept) == []
    assert breaks(kept, DOCUMENT) == []


def test_nothing_released_is_broken() -> None:
    """Until the first release, `released.json` is that of the candidate: a break on purpose writes
    it anew, so that the change shows it."""
    released = json.loads(RELEASED.read_text("utf-8"))
    found = breaks(released, json.loads(CURRENT.read_text("utf-8")))
    candidate = re.search(r"rc\d+$", released["info"]["version"])
    assert not candidate or re.search(r"rc\d+$", version()), "run `make released` at the release"
    hint = "before the first release: `make released`" if candidate else "it is a major version"
    assert not found, "\n".join([hint, *map(str, found)])


def test_the_document_itself_is_compared() -> None:
    planted = "/v1/trees/{tree_id}/levels"
    old = json.loads(RELEASED.read_text("utf-8"))
    new = copy.deepcopy(old)
    del new["paths"][planted]["get"]
    del new["components"]["schemas"]["HacParams"]["properties"]["linkage"]
    found = list(map(str, breaks(old, new)))
    assert f"GET {planted}: it is gone" in found
    assert any(each.startswith("POST /v1/jobs: the body/params/linkage is gone") for each in found)
    assert breaks(old, old) == []
