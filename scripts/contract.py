"""What a change of the OpenAPI document would break for clients of the last released one.

    python -m scripts.contract              what `openapi/openapi.json` breaks; status 1 if anything
    python -m scripts.contract release      write `openapi/released.json`, at a release

`breaks` compares two documents. What a client sends must still be taken with the same meaning:
paths, operations and their ids, parameters, bodies, their types, values, bounds and defaults. What
it reads must still be what it knows: statuses of success, media types, headers, members and their
types. More may be taken than before, and more members may be answered; `docs/compatibility.md` has
the rules in words. Descriptions and examples count for nothing, and `released.json` has none.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CURRENT = ROOT / "openapi" / "openapi.json"
RELEASED = ROOT / "openapi" / "released.json"

Direction = Literal["sent", "answered"]
Schema = Mapping[str, Any]

_WORDS = ("description", "summary", "example", "examples", "title")
"""Members of a document that only its readers use."""

_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_SAME = ("pattern", "format", "multipleOf", "uniqueItems", "contentEncoding")

_NOT_NULL = frozenset({*_LEAST, *_MOST, *_SAME, "items", "prefixItems", "properties", "required"})
"""What a schema says of values that are not null."""


class Break(NamedTuple):
    """where : the operation and the place in it. what : how it breaks a client."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def breaks(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Break]:
    """What breaks a client of `old` that meets `new`, in the order of the old paths."""
    return list(dict.fromkeys(_Comparison(old, new).all()))


def bare(part: Any, *, named: bool = False) -> Any:
    """A document without what only its readers use.

    named : whether the keys of `part` are names of members, which may be called `title`.
    """
    if isinstance(part, dict):
        return {
            key: bare(value, named=not named and key in ("properties", "schemas", "parameters"))
            for key, value in part.items()
            if named or key not in _WORDS
        }
    return [bare(value) for value in part] if isinstance(part, list) else part


class _Comparison:
    """Two documents, and what of their schemas was compared already."""

    def __init__(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        self.old, self.new = old, new
        self._compared: dict[tuple[str, str, Direction], list[tuple[str, str]]] = {}

    def all(self) -> Iterator[Break]:
        for path, item in self.old["paths"].items():
            for method, operation in item.items():
                where = f"{method.upper()} {path}"
                now = self.new["paths"].get(path, {}).get(method)
                if now is None:
                    yield Break(where, "it is gone")
                else:
                    yield from (Break(where, what) for what in self._operation(operation, now))

    def _operation(self, old: Schema, new: Schema) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"its id {old['operationId']} is now {new['operationId']}"
        if _open(self.old, old) and not _open(self.new, new):
            yield "it needs a key"
        yield from self._parameters(old, new)
        yield from self._body(old.get("requestBody"), new.get("requestBody"))
        yield from self._answers(old["responses"], new["responses"])

    def _parameters(self, old: Schema, new: Schema) -> Iterator[str]:
        before, after = self._by_place(self.old, old), self._by_place(self.new, new)
        for place, parameter in before.items():
            name = f"{place[0]} parameter {parameter['name']!r}"
            now = after.get(place)
            if now is None:
                yield f"{name} is gone"
                continue
            if now.get("required") and not parameter.get("required"):
                yield f"{name} is required"
            for style in ("style", "explode"):
                if parameter.get(style) != now.get(style):
                    yield f"{name} is written in another way ({style})"
            for at, what in self._schema(parameter["schema"], now["schema"], "sent"):
                yield f"{name}{at} {what}"
        for place in after.keys() - before.keys():
            if after[place].get("required"):
                yield f"{place[0]} parameter {after[place]['name']!r} is new and required"

    def _by_place(self, document: Schema, operation: Schema) -> dict[tuple[str, str], Schema]:
        every = [followed(document, each) for each in operation.get("parameters", ())]
        return {(each["in"], each["name"].lower()): each for each in every}

    def _body(self, old: Schema | None, new: Schema | None) -> Iterator[str]:
        before = followed(self.old, old or {})
        after = followed(self.new, new or {})
        if after.get("required") and not before.get("required"):
            yield "the body is required"
        if before and not after:
            yield "it takes no body"
            return
        for media, entry in before.get("content", {}).items():
            now = after["content"].get(media)
            if now is None:
                yield f"the body is not taken as {media}"
            elif "schema" in entry:
                for at, what in self._schema(entry["schema"], now.get("schema", {}), "sent"):
                    yield f"the body{at} {what}"

    def _answers(self, old: Schema, new: Schema) -> Iterator[str]:
        for status in new.keys() - old.keys():
            if status.startswith(("2", "3")):
                yield f"it answers {status}"
        for status, response in old.items():
            if not status.startswith(("2", "3")):
                continue
            if status not in new:
                yield f"it no longer answers {status}"
                continue
            before = followed(self.old, response)
            after = followed(self.new, new[status])
            gone = _lowered(before.get("headers", ())) - _lowered(after.get("headers", ()))
            yield from (f"the header {name} of {status} is gone" for name in sorted(gone))
            for media, entry in before.get("content", {}).items():
                now = after.get("content", {}).get(media)
                if now is None:
                    yield f"{status} is not answered as {media}"
                elif "schema" in entry:
                    pairs = self._schema(entry["schema"], now.get("schema", {}), "answered")
                    yield from (f"the answer {status}{at} {what}" for at, what in pairs)

    def _schema(self, old: Schema, new: Schema, direction: Direction) -> list[tuple[str, str]]:
        """What differs for the worse, each with its place below: `/params/linkage`.

        A pair that is compared already, or is being compared further up, gives what it gave.
        """
        key = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True), direction)
        if key not in self._compared:
            self._compared[key] = []
            self._compared[key] = list(self._differences(old, new, direction))
        return self._compared[key]

    def _differences(
        self, old: Schema, new: Schema, direction: Direction
    ) -> Iterator[tuple[str, str]]:
        before = list(_kinds(self.old, old))
        after = list(_kinds(self.new, new))
        if direction == "sent":
            # A default may stand beside a reference, or where it leads.
            was = {**followed(self.old, old), **old}
            now = {**followed(self.new, new), **new}
            if "default" in was and was["default"] != now.get("default"):
                yield "", f"has another default: {now.get('default')!r}, not {was['default']!r}"
            must, may, compared = before, after, partial(self._kind, direction=direction)
        else:
            must, may = after, before

            def compared(one: Schema, other: Schema) -> Iterator[tuple[str, str]]:
                yield from self._kind(other, one, direction=direction)

        for each in must:
            yield from self._among(each, may, compared, direction)

    def _among(
        self,
        each: Schema,
        others: list[Schema],
        compared: Callable[[Schema, Schema], Iterator[tuple[str, str]]],
        direction: Direction,
    ) -> Iterator[tuple[str, str]]:
        """What is wrong with the alternative that is nearest to one."""
        alike = [other for other in others if _alike(each, other, direction)]
        named = [other for other in alike if "$name" in each and other["$name"] == each["$name"]]
        found: list[list[tuple[str, str]]] = []
        for other in named or alike:
            found.append(list(compared(each, other)))
            if not found[-1]:
                return
        if not found:
            kind = each.get("type") or "anything"
            yield (
                "",
                f"{'takes' if direction == 'sent' else 'may be'} {kind}".replace(
                    "takes", "no longer takes"
                ),
            )
            return
        yield from min(found, key=len)

    def _kind(self, old: Schema, new: Schema, *, direction: Direction) -> Iterator[tuple[str, str]]:
        """Two schemas without alternatives."""
        yield from _values(old, new, direction)
        if direction == "sent":
            yield from _bounds(old, new)
        for name in _SAME:
            if old.get(name) != new.get(name) and (direction == "answered" or name in new):
                yield "", f"has another {name}"
        yield from self._members(old, new, direction)
        for part in ("items", "additionalProperties", "propertyNames"):
            one, other = old.get(part, True), new.get(part, True)
            place = {"items": "/*", "additionalProperties": "/*"}.get(part, "")
            if isinstance(one, dict) and isinstance(other, dict):
                for at, what in self._schema(one, other, direction):
                    yield f"{place}{at}", what
            elif part == "additionalProperties" and direction == "sent":
                if one is not False and other is False:
                    yield "", "takes no further members"
            elif direction == "sent" and isinstance(other, dict) and other:
                yield "", f"has bounds on its {part}"
        pairs = zip(old.get("prefixItems", ()), new.get("prefixItems", ()), strict=False)
        for number, (one, other) in enumerate(pairs):
            for at, what in self._schema(one, other, direction):
                yield f"/{number}{at}", what

    def _members(self, old: Schema, new: Schema, direction: Direction) -> Iterator[tuple[str, str]]:
        before, after = old.get("properties", {}), new.get("properties", {})
        required, now = set(old.get("required", ())), set(new.get("required", ()))
        for name, member in before.items():
            if name not in after:
                yield f"/{name}", "is gone"
                continue
            for at, what in self._schema(member, after[name], direction):
                yield f"/{name}{at}", what
        worse = now - required if direction == "sent" else required - now
        for name in sorted(worse):
            if direction == "sent":
                yield f"/{name}", "is required"
            elif name in after:
                yield f"/{name}", "may be missing"


def followed(document: Mapping[str, Any], part: Schema) -> Schema:
    """A part, or what its reference refers to."""
    seen = 0
    while "$ref" in part and seen < 20:
        _, *steps = part["$ref"].split("/")
        here: Any = document
        for step in steps:
            here = here[step.replace("~1", "/").replace("~0", "~")]
        part, seen = here, seen + 1
    return part


def _kinds(document: Mapping[str, Any], schema: Schema) -> Iterator[Schema]:
    """The alternatives of a schema, each of one type, with the name that it has as `$name`."""
    waiting = [(schema, "")]
    n_seen = 0
    while waiting:
        here, name = waiting.pop()
        n_seen += 1
        if n_seen > 10_000:
            raise ValueError("alternatives without end")
        if "$ref" in here:
            waiting.append((followed(document, here), here["$ref"]))
            continue
        if "allOf" in here:
            waiting.append((_joined(document, here), name))
            continue
        alternatives = here.get("anyOf") or here.get("oneOf")
        if alternatives:
            waiting += [(each, name) for each in reversed(alternatives)]
            continue
        types = here.get("type")
        if types is None and "const" in here:
            types = _type_of(here["const"])
        for each in types if isinstance(types, list) else [types]:
            own = here if each != "null" else {k: v for k, v in here.items() if k not in _NOT_NULL}
            yield {**own, "type": each, "$name": name}


def _joined(document: Mapping[str, Any], schema: Schema) -> Schema:
    """An object with the members of its parts (`allOf`) in it, and of theirs."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    waiting, n_seen = [schema], 0
    while waiting:
        part = followed(document, waiting.pop())
        n_seen += 1
        if n_seen > 1000:
            raise ValueError("parts without end")
        properties |= part.get("properties", {})
        required += part.get("required", ())
        waiting += reversed(part.get("allOf", ()))
    own = {key: value for key, value in schema.items() if key != "allOf"}
    if own.pop("unevaluatedProperties", None) is False:
        own["additionalProperties"] = False
    return {"type": "object", **own, "properties": properties, "required": required}


def _alike(one: Schema, other: Schema, direction: Direction) -> bool:
    """Whether a value of the first can be one of the second. direction : as in `_values`."""
    if one["type"] == other["type"] or other["type"] is None:
        # The alternatives of a union differ by a value that each has for itself.
        mine, theirs = _marks(one), _marks(other)
        return all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())
    return one["type"] == "integer" and other["type"] == "number" and direction in _DIRECTIONS


_DIRECTIONS = ("sent", "answered")


def _marks(schema: Schema) -> dict[str, Any]:
    members = schema.get("properties", {})
    return {name: json.dumps(each["const"]) for name, each in members.items() if "const" in each}


def _values(old: Schema, new: Schema, direction: Direction) -> Iterator[tuple[str, str]]:
    """Values that are no longer taken, or that are answered and were not known."""
    before, after = _listed(old), _listed(new)
    less, more = (before, after) if direction == "sent" else (after, before)
    if more is None:
        return
    if less is None:
        yield "", "takes only some values" if direction == "sent" else "may be any value"
        return
    for value in sorted(less - more):
        yield "", f"{'no longer takes' if direction == 'sent' else 'may be'} {value}"


def _listed(schema: Schema) -> set[str] | None:
    if "const" in schema:
        return {json.dumps(schema["const"])}
    return {json.dumps(value) for value in schema["enum"]} if "enum" in schema else None


def _bounds(old: Schema, new: Schema) -> Iterator[tuple[str, str]]:
    for names, worse in ((_LEAST, 1), (_MOST, -1)):
        for name in names:
            if name in new and (name not in old or (new[name] - old[name]) * worse > 0):
                yield "", f"has another {name}: {new[name]}, not {old.get(name, 'none')}"


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "null" if value is None else "object")


def _open(document: Schema, operation: Schema) -> bool:
    security = operation.get("security", document.get("security", []))
    return not security or {} in security


def _lowered(names: Any) -> set[str]:
    return {name.lower() for name in names}


def version() -> str:
    """The version of the project that is being worked on."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("step", nargs="?", choices=["compare", "release"], default="compare")
    current = json.loads(CURRENT.read_text("utf-8"))
    if parser.parse_args().step == "release":
        current["info"]["version"] = version()
        text = json.dumps(bare(current), indent=None, separators=(",", ":"), ensure_ascii=False)
        RELEASED.write_text(text + "\n", "utf-8")
        print(f"{RELEASED.name}: the contract of {version()}")
        return
    found = breaks(json.loads(RELEASED.read_text("utf-8")), current)
    print("\n".join(map(str, found)) or "nothing is broken")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
