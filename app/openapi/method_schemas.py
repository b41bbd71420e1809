"""Schemas of requests that run a method, one for each method of the catalogue.

`{"method": "kmeans", "params": {...}}` takes other params for each method. In the document such a
request is `oneOf` a schema for each method, chosen by `method`; `KmeansParams` and so on are the
params with their bounds, defaults and descriptions.
"""

from __future__ import annotations

from typing import Any

from app.openapi.enum_names import name_values
from models.method import Method
from models.registry import built_in, plugins

_SCHEMAS = "#/components/schemas/"
_REQUESTS = {"NewJob": "Job", "NewStep": "Step", "RunBody": "Run"}
"""The requests, and how a method's own requests are called after its name."""

_DATASET = "ds_01kamjx5w0n5zr4v8cqe2t7h3f"
"""What examples have for the id of a user's dataset."""

_LONG = 150
"""Characters of a member's schema above which it is written once, under a name."""


def name_of(method_id: str) -> str:
    """The name of a method in the names of its schemas: `rr-lr` is `RrLr`."""
    return "".join(part.capitalize() for part in method_id.split("-"))


def add(document: dict[str, Any]) -> None:
    """Put the params of every built-in method, and the requests with them, into an OpenAPI
    document."""
    schemas = document["components"]["schemas"]
    for request in _REQUESTS:
        whole = _with_named_members(schemas, request)
        schemas[request] = {
            "title": whole["title"],
            "description": whole["description"],
            "oneOf": [],
            "discriminator": {"propertyName": "method", "mapping": {}},
            **({"examples": whole["examples"]} if "examples" in whole else {}),
        }
        for method in built_in().values():
            _put_request(schemas, request, whole, method, name_of(method.id))
    _job_body(document)["examples"] = {}
    for method in built_in().values():
        _put_params(document, method, name_of(method.id), "")


def extend(document: dict[str, Any]) -> None:
    """Put the methods of plug-ins into a document that has the others; their schemas begin with
    `Plugin`, as no other does."""
    schemas = document["components"]["schemas"]
    for plugin in plugins():
        if plugin.method is None:
            continue
        name = f"Plugin{name_of(plugin.method.id)}"
        for request in _REQUESTS:
            of_any = schemas[request]["oneOf"][0]["$ref"].removeprefix(_SCHEMAS)
            _put_request(schemas, request, schemas[of_any], plugin.method, name)
        _put_params(document, plugin.method, name, name)


def _put_params(document: dict[str, Any], method: Method[Any], name: str, inner: str) -> None:
    """The params of a method, and an example of a job; `inner` begins the names of the schemas
    inside the params' schema."""
    schemas = document["components"]["schemas"]
    params = method.Params.model_json_schema(ref_template=f"{_SCHEMAS}{inner}{{model}}")
    name_values(params)
    schemas.update({inner + model: own for model, own in params.pop("$defs", {}).items()})
    schemas[f"{name}Params"] = {
        **params,
        "title": f"{name}Params",
        "description": f"Parameters of `{method.id}`: {method.title}.",
    }
    _job_body(document)["examples"][method.id] = _example(method)


def _put_request(
    schemas: dict[str, Any],
    request: str,
    whole: dict[str, Any],
    method: Method[Any],
    name: str,
) -> None:
    """The request for one method, and the choice of it. whole : the members of any method's."""
    title = f"{name}{_REQUESTS[request]}"
    schemas[title] = {
        "type": "object",
        "title": title,
        "description": f"{method.title}.",
        "properties": {
            **whole["properties"],
            "method": {"type": "string", "const": method.id},
            "params": {"$ref": f"{_SCHEMAS}{name}Params"},
        },
        "required": whole["required"],
        "additionalProperties": False,
    }
    schemas[request]["oneOf"].append({"$ref": _SCHEMAS + title})
    schemas[request]["discriminator"]["mapping"][method.id] = _SCHEMAS + title


def _job_body(document: dict[str, Any]) -> dict[str, Any]:
    content = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]
    body: dict[str, Any] = content["application/json"]
    return body


def _example(method: Method[Any]) -> dict[str, Any]:
    """A job of a method with every parameter at its default, and the inputs that it needs."""
    needed = [role for role, entry in method.inputs.items() if entry.required]
    return {
        "summary": f"{method.title}.",
        "value": {
            "method": method.id,
            "inputs": dict.fromkeys(needed or list(method.inputs)[:1], _DATASET),
            "params": method.Params().model_dump(mode="json"),
        },
    }


def _with_named_members(schemas: dict[str, Any], request: str) -> dict[str, Any]:
    """The request with its long members as schemas of their own, which its forms refer to."""
    whole = schemas[request]
    members = {}
    for member, schema in whole["properties"].items():
        members[member] = schema
        if member not in ("method", "params") and len(str(schema)) > _LONG:
            name = f"{request}{name_of(member.replace('_', '-'))}"
            schemas[name] = {**schema, "title": name}
            members[member] = {"$ref": _SCHEMAS + name}
    return {**whole, "properties": members}
