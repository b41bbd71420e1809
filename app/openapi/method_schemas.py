"""Schemas of requests that run a method, one for each method of the catalogue.

`{"method": "kmeans", "params": {...}}` takes other params for each method. In the document such a
request is `oneOf` a schema for each method, chosen by `method`; `KmeansParams` and so on are the
params with their bounds, defaults and descriptions.
"""

from __future__ import annotations

from typing import Any

from models.method import Method
from models.registry import methods

_SCHEMAS = "#/components/schemas/"
_REQUESTS = {"NewJob": "Job", "NewStep": "Step", "RunBody": "Run"}
"""The requests, and how those of one method are called after its name."""

_DATASET = "ds_01kamjx5w0n5zr4v8cqe2t7h3f"
"""What examples have for the id of a user's dataset."""

_LONG = 150
"""Characters of a member's schema above which it is written once, under a name."""


def name_of(method_id: str) -> str:
    """The name of a method in the names of its schemas: `rr-lr` is `RrLr`."""
    return "".join(part.capitalize() for part in method_id.split("-"))


def add(document: dict[str, Any]) -> None:
    """Put the params of every method, and the requests with them, into an OpenAPI document."""
    schemas = document["components"]["schemas"]
    summaries = {}
    for method_id, method in methods().items():
        params = method.Params.model_json_schema(ref_template=_SCHEMAS + "{model}")
        schemas.update(params.pop("$defs", {}))
        name = name_of(method_id)
        summaries[method_id] = f"{method.title}."
        schemas[f"{name}Params"] = {
            **params,
            "title": f"{name}Params",
            "description": f"Parameters of `{method_id}`: {method.title}.",
        }
    for request, kind in _REQUESTS.items():
        whole = _with_named_members(schemas, request)
        mapping = {}
        for method_id in methods():
            name = f"{name_of(method_id)}{kind}"
            schemas[name] = _of_method(whole, name, method_id, summaries[method_id])
            mapping[method_id] = _SCHEMAS + name
        schemas[request] = {
            "title": whole["title"],
            "description": whole["description"],
            "oneOf": [{"$ref": reference} for reference in mapping.values()],
            "discriminator": {"propertyName": "method", "mapping": mapping},
            **({"examples": whole["examples"]} if "examples" in whole else {}),
        }
    body = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
    body["examples"] = {method_id: _example(method) for method_id, method in methods().items()}


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


def _of_method(
    whole: dict[str, Any], name: str, method_id: str, description: str
) -> dict[str, Any]:
    """The request for one method."""
    return {
        "type": "object",
        "title": name,
        "description": description,
        "properties": {
            **whole["properties"],
            "method": {"type": "string", "const": method_id},
            "params": {"$ref": f"{_SCHEMAS}{name_of(method_id)}Params"},
        },
        "required": whole["required"],
        "additionalProperties": False,
    }
