"""Schemas of requests that run a method, one for each method of the catalogue.

`{"method": "kmeans", "params": {...}}` takes other params for each method. In the document such a
request is `oneOf` a schema for each method, chosen by `method`: what the request has whatever the
method (`NewJobFields`), and the method with its params (`KmeansStep`); `KmeansParams` and so on are
the params with their bounds, defaults and descriptions.
"""

from __future__ import annotations

import re
from typing import Any

from app.openapi.bases import join_params
from app.openapi.enum_names import name_values
from models.method import Method
from models.registry import built_in, plugins

_SCHEMAS = "#/components/schemas/"
_REQUESTS = {"NewJob": "Job", "NewStep": "Step", "RunBody": "Run"}
"""The requests, and how a method's own requests are called after its name."""

_DATASET = "ds_01kamjx5w0n5zr4v8cqe2t7h3f"
"""What examples have for the id of a user's dataset."""

_IN_FULL = " Parameters are described in full by `GET /v1/methods/{method_id}`."
"""The document has what tells them apart; the pages of methods have all, too."""

_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z'`])")
"""Between two sentences; no abbreviation stands before a capital."""

_KEPT = ("Default", "None", "Null", "Without", "'")
"""How sentences begin that say what a value means, or what is done without one."""

_LONG = 150
"""Characters of a member's schema above which it is written once, under a name."""

_NAMES = {"inputs": "Inputs"}
"""What members are called that requests have which run no method, too."""

_OF_METHOD = ("method", "params")
"""The members of a request that differ from method to method: a method's `Step` has them."""


def name_of(method_id: str) -> str:
    """The name of a method in the names of its schemas: `rr-lr` is `RrLr`."""
    return "".join(part.capitalize() for part in method_id.split("-"))


def add(document: dict[str, Any]) -> None:
    """Put the params of every built-in method, and the requests with them, into an OpenAPI
    document."""
    schemas = document["components"]["schemas"]
    for request in _REQUESTS:
        whole, jobs = schemas[request], request == "NewJob"
        _put_fields(schemas, request, whole)
        schemas[request] = {
            "title": whole["title"],
            "description": whole["description"] + _IN_FULL,
            "oneOf": [],
            **({"discriminator": {"propertyName": "method", "mapping": {}}} if jobs else {}),
            **({"examples": whole["examples"]} if "examples" in whole else {}),
        }
        for method in built_in().values():
            _put_request(schemas, request, method, name_of(method.id))
    _job_body(document)["examples"] = {}
    for method in built_in().values():
        _put_params(document, method, name_of(method.id), "")
    join_params(schemas, {f"{name_of(each.id)}Params": each.Params for each in built_in().values()})


def extend(document: dict[str, Any]) -> None:
    """Put the methods of plug-ins into a document that has the others; their schemas begin with
    `Plugin`, as no other does."""
    schemas = document["components"]["schemas"]
    for plugin in plugins():
        if plugin.method is None:
            continue
        name = f"Plugin{name_of(plugin.method.id)}"
        for request in _REQUESTS:
            _put_request(schemas, request, plugin.method, name)
        _put_params(document, plugin.method, name, name)


def _put_params(document: dict[str, Any], method: Method[Any], name: str, inner: str) -> None:
    """The params of a method, and an example of a job; `inner` begins the names of the schemas
    inside the params' schema."""
    schemas = document["components"]["schemas"]
    params = method.Params.model_json_schema(ref_template=f"{_SCHEMAS}{inner}{{model}}")
    name_values(params)
    parts = params.pop("$defs", {})
    for part in (params, *parts.values()):
        for member in part.get("properties", {}).values():
            if "description" in member:
                member["description"] = brief(member["description"])
    schemas.update({inner + model: own for model, own in parts.items()})
    schemas[f"{name}Params"] = {
        **params,
        "title": f"{name}Params",
        "description": f"Parameters of `{method.id}`: {method.title}.",
    }
    _job_body(document)["examples"][method.id] = _example(method)


def brief(description: str) -> str:
    """The first sentence, and those that say what values stand for."""
    first, *others = _SENTENCE.split(description)
    return " ".join([first, *(other for other in others if other.startswith(_KEPT))])


def _put_request(schemas: dict[str, Any], request: str, method: Method[Any], name: str) -> None:
    """The request for one method, and the choice of it: the method's step, and with it what the
    request has whatever the method."""
    title = f"{name}{_REQUESTS[request]}"
    fields = f"{request}Fields"
    if fields in schemas:
        parts = [{"$ref": _SCHEMAS + part} for part in (fields, f"{name}{_REQUESTS['NewStep']}")]
        # Closed here, since a part of `allOf` cannot be.
        schemas[title] = {"title": title, "allOf": parts, "unevaluatedProperties": False}
    else:
        schemas[title] = {
            "type": "object",
            "title": title,
            "properties": {
                "method": {"type": "string", "const": method.id},
                "params": {"$ref": f"{_SCHEMAS}{name}Params"},
            },
            "required": ["method"],
        }
    schemas[request]["oneOf"].append({"$ref": _SCHEMAS + title})
    if "discriminator" in schemas[request]:
        schemas[request]["discriminator"]["mapping"][method.id] = _SCHEMAS + title


_SHOWN = 3
"""Parameters in the example of a method."""


def _job_body(document: dict[str, Any]) -> dict[str, Any]:
    content = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]
    body: dict[str, Any] = content["application/json"]
    return body


def _example(method: Method[Any]) -> dict[str, Any]:
    """A job of a method with its first parameters at their defaults, which the schema has of all,
    and the inputs that it needs."""
    params = method.Params().model_dump(mode="json")
    needed = [role for role, entry in method.inputs.items() if entry.required]
    return {
        "value": {
            "method": method.id,
            "inputs": dict.fromkeys(needed or list(method.inputs)[:1], _DATASET),
            "params": dict(list(params.items())[:_SHOWN]),
        },
    }


def _put_fields(schemas: dict[str, Any], request: str, whole: dict[str, Any]) -> None:
    """What a request has whatever the method, as one schema; its long members have names."""
    # A request that extends another has its own members in the last part.
    *bases, own = whole.get("allOf", [whole])
    members = {}
    for member, schema in own["properties"].items():
        if member in _OF_METHOD:
            continue
        members[member] = schema
        if len(str(schema)) > _LONG:
            name = _NAMES.get(member) or f"{request}{name_of(member.replace('_', '-'))}"
            schemas[name] = {**schema, "title": name}
            members[member] = {"$ref": _SCHEMAS + name}
    if not members:
        return
    title = f"{request}Fields"
    required = [member for member in own["required"] if member not in _OF_METHOD]
    part = {
        "type": "object",
        "properties": members,
        **({"required": required} if required else {}),
    }
    schemas[title] = {
        "title": title,
        "description": f"{whole['description']} What is the same for all methods.",
        **({"allOf": [*bases, part]} if bases else part),
    }
