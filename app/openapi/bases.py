"""Schemas that extend one: what every request for work may have, what every job of a name says, a
tree with its nodes beside a tree without them, the parameters of a family of methods.

In the document such a schema is `allOf` the one that it extends and its other members. A member
that one of them describes in other words stays with each of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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
"""Characters that schemas share from which they extend one."""

_SECTION = "Params"
"""How the models end of parameters that methods share."""


def join(document: dict[str, Any]) -> None:
    """Write the members that models inherit from a base once."""
    schemas = document["components"]["schemas"]
    models = _models()
    _join_documented(schemas, models)
    for model in models:
        name = model.__name__
        if name in _BASES:
            extended = [schemas[each] for each in sorted(_below(model)) if each in schemas]
            _join(schemas, model, extended, _BASES[name])


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


def join_params(schemas: dict[str, Any], params: Mapping[str, type[BaseModel]]) -> None:
    """Write the parameters once that methods inherit from a section of a family, such as
    `ClassifierParams`. params : the models, by the names of their schemas."""
    sections: dict[type[BaseModel], list[str]] = {}
    for name, model in params.items():
        for base in model.__mro__[1:]:
            if issubclass(base, BaseModel) and base.__name__.endswith(_SECTION):
                sections.setdefault(base, []).append(name)
    # The most methods first; a schema extends one.
    for base in sorted(sections, key=lambda each: -len(sections[each])):
        free = [name for name in sections[base] if "allOf" not in schemas[name]]
        if base.__name__ != "Params" and base.__name__ not in schemas:
            about = "Parameters that several methods have."
            _join(schemas, base, [schemas[name] for name in free], about)


def _join(
    schemas: dict[str, Any],
    base: type[BaseModel],
    extended: list[dict[str, Any]],
    description: str,
) -> None:
    """Put a schema of what some schemas inherit from a model, if it saves anything."""
    shared: dict[str, Any] = {}
    for name in base.model_fields if extended else ():
        members = [schema["properties"].get(name, {}) for schema in extended]
        usual = max(members, key=members.count)
        if usual and all(_bare(member) == _bare(usual) for member in members):
            shared[name] = usual
    if len(extended) < 2 or len(json.dumps(shared)) < _LEAST:
        return
    required = [
        name for name in shared if all(name in other.get("required", ()) for other in extended)
    ]
    name = base.__name__
    schemas[name] = {
        "type": "object",
        "title": name.removesuffix("Body"),
        "description": description,
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
