"""Schemas that extend one: what every request for work may have, what every job of a name says, a
tree with its nodes beside a tree without them.

In the document such a schema is `allOf` the one that it extends and its other members. A member
that one of them describes in other words stays with each of them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel

_SCHEMAS = "#/components/schemas/"

_BASES = {
    "NewWork": "What every request for work may have.",
    "NamedJobBody": "What the state of every job says that has its own list and address.",
    "Page": "What a page of every list says.",
}
"""Models whose fields many others inherit, and what the document says of them. They are found by
name, since the rooms that define them import this one."""

_LEAST = 200
"""Characters that a schema shares with one of the document from which it extends it."""


def join(document: dict[str, Any]) -> None:
    """Write the members that models inherit from a base once."""
    schemas = document["components"]["schemas"]
    models = _models()
    _join_documented(schemas, models)
    for model in models:
        if model.__name__ in _BASES:
            _join(schemas, model)


def _models() -> list[type[BaseModel]]:
    """All models of the API."""
    found = []
    waiting = list(BaseModel.__subclasses__())
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        if model.__module__.startswith("app."):
            found.append(model)
    return found


def _join_documented(schemas: dict[str, Any], models: list[type[BaseModel]]) -> None:
    """Make schemas extend the nearest other one of the document that their model inherits from."""
    pairs = {}
    for model in models:
        own = _name(model)
        above = [_name(each) for each in model.__mro__[1:] if issubclass(each, BaseModel)]
        base = next((name for name in above if name in schemas), None)
        if own in schemas and base is not None and _extends(schemas[own], schemas[base]):
            pairs[own] = base
    members = {name: schemas[name]["properties"] for name in pairs.values()}
    required = {name: schemas[name].get("required", []) for name in pairs.values()}
    for own, base in pairs.items():
        _extend(schemas[own], base, members[base], required[base])


def _extends(schema: dict[str, Any], base: dict[str, Any]) -> bool:
    """Whether a schema has all that another one has, and enough of it."""
    if "properties" not in base or "additionalProperties" in base:
        return False
    own, shared = schema.get("properties", {}), base["properties"]
    return (
        len(json.dumps(shared)) >= _LEAST
        and all(own.get(name) == member for name, member in shared.items())
        and set(base.get("required", ())) <= set(schema.get("required", ()))
    )


def _join(schemas: dict[str, Any], base: type[BaseModel]) -> None:
    extended = [schemas[name] for name in sorted(_below(base)) if name in schemas]
    if len(extended) < 2:
        return
    shared = {}
    for name in base.model_fields:
        members = [schema["properties"].get(name, {}) for schema in extended]
        usual = max(members, key=members.count)
        if all(_bare(member) == _bare(usual) for member in members):
            shared[name] = usual
    required = [
        name for name in shared if all(name in other.get("required", ()) for other in extended)
    ]
    name = base.__name__
    schemas[name] = {
        "type": "object",
        "title": name.removesuffix("Body"),
        "description": _BASES[name],
        "properties": shared,
        **({"required": required} if required else {}),
    }
    for schema in extended:
        _extend(schema, name, shared, required)


def _extend(schema: dict[str, Any], base: str, shared: dict[str, Any], required: list[str]) -> None:
    """Make a schema `allOf` a base and the members that are not shared."""
    own = schema.pop("properties")
    part: dict[str, Any] = {
        "type": schema.pop("type"),
        "properties": {key: own[key] for key in own if own[key] != shared.get(key)},
    }
    left = [each for each in schema.pop("required", ()) if each not in required]
    if left:
        part["required"] = left
    # Two parts: a generator takes `allOf` one schema for that schema.
    schema["allOf"] = [{"$ref": _SCHEMAS + base}, part]
    # A closed schema would refuse the members of the other; what is left is closed together.
    if schema.get("additionalProperties") is False:
        del schema["additionalProperties"]
        schema["unevaluatedProperties"] = False


def _bare(member: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in member.items() if key != "description"}


def _name(model: type[BaseModel]) -> str:
    """What the schema of a model is called: `Page[JobBody]` is `Page_JobBody_`."""
    return re.sub(r"[^\w.-]", "_", model.__name__)


def _below(base: type[BaseModel]) -> set[str]:
    """The names of the schemas of the models that extend one."""
    found: set[str] = set()
    waiting = [base]
    while waiting:
        below = waiting.pop().__subclasses__()
        found |= {_name(model) for model in below}
        waiting += below
    return found
