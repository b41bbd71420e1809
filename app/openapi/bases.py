"""Schemas that extend one: what every request for work may have, what every job of a name says.

In the document such a schema is `allOf` the one that it extends and its other members. A member
that one of them describes in other words stays with each of them.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_SCHEMAS = "#/components/schemas/"

_BASES = {
    "NewWork": "What every request for work may have.",
    "NamedJobBody": "What the state of every job says that has its own list and address.",
}
"""Models whose fields many others inherit, and what the document says of them. They are found by
name, since the rooms that define them import this one."""


def join(document: dict[str, Any]) -> None:
    """Write the members that models inherit from a base once."""
    schemas = document["components"]["schemas"]
    models = list(BaseModel.__subclasses__())
    while models:
        model = models.pop()
        models += model.__subclasses__()
        if model.__name__ in _BASES and model.__module__.startswith("app."):
            _join(schemas, model)


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
        own = schema.pop("properties")
        part: dict[str, Any] = {
            "type": schema.pop("type"),
            "properties": {key: own[key] for key in own if own[key] != shared.get(key)},
        }
        left = [each for each in schema.pop("required", ()) if each not in required]
        if left:
            part["required"] = left
        # Two parts: a generator takes `allOf` one schema for that schema.
        schema["allOf"] = [{"$ref": _SCHEMAS + name}, part]
        # A closed schema would refuse the members of the other; what is left is closed together.
        if schema.get("additionalProperties") is False:
            del schema["additionalProperties"]
            schema["unevaluatedProperties"] = False


def _bare(member: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in member.items() if key != "description"}


def _below(base: type[BaseModel]) -> set[str]:
    """The names of the models that extend one."""
    found: set[str] = set()
    waiting = [base]
    while waiting:
        below = waiting.pop().__subclasses__()
        found |= {model.__name__ for model in below}
        waiting += below
    return found
