"""What several operations have in common, written once in the document's components.

`share` is the one place: parameters, headers, problems and their examples, webhooks' requests, and
members of schemas that are long and come again become `$ref`. What occurs once stays in place; what
differs under one name gets a second name, which begins with the first that has it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from typing import Any

_PROBLEM = "application/problem+json"
_MOST_CODES = 3
"""Kinds of problems that the name of a shared response lists; with more it is named by its status
and its first operation."""

_MEMBER = 100
"""Characters of a member's schema from which it is shared."""

_ANY = (
    "unauthenticated",
    "forbidden",
    "not-found",
    "invalid-request",
    "too-many-requests",
    "headers-too-large",
    "unavailable",
)
"""Kinds of problems that are no operation's own: `default` has them. Any query may have a parameter
that is refused (422), and any id may be nobody's (404)."""

_OF_BODIES = ("malformed", "too-large", "unsupported-format", "quota-exceeded", "full")
"""The same of operations that take a body: what is wrong with its bytes, or has no room."""

_OF_FORMS = ("not-acceptable",)
"""The same of operations with several forms."""

_PROBES = "health"
"""The tag of what answers whether the service is up, and to whom."""

_PAGE = "Page_"
"""What the schemas of lists begin with."""

_EMPTY_PAGE = "LastPage"
"""The example of all lists whose things have an example elsewhere."""

_UPDATE = "Update"
"""How operations begin that answer with a thing that another operation shows."""

_SIMPLE = ("string", "number", "integer", "boolean", "array")

_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}

_NAMES = {"204": "Done", "304": "NotModified"}
"""What shared responses without a body are called."""

_WORK_ENDED = "job_ended"
"""The callback of all that makes a job."""

Slot = tuple[dict[str, Any], str, str, str]
"""Where a part stands: what holds it and under which key; its name, and what makes that unique."""


def share(document: dict[str, Any]) -> None:
    """Write once what repeats. Costs one pass over the document for each sort of part."""
    components = document["components"]
    operations = sorted(_operations(document), key=lambda entry: entry[0])
    _join_problems(operations)
    _join_types(document)
    _put_examples_into_schemas(operations)
    _share_examples(components, operations)
    _share_body_examples(components, operations)
    received = _share_webhooks(document, operations)
    _leave_out_titles(components["schemas"])
    _share(components, "headers", _headers(operations))
    _share(components, "responses", _responses(operations))
    _share(components, "requestBodies", _requests(operations))
    _share_parameters(components, [*operations, *received])
    _share(components, "schemas", _members(components["schemas"]), at_least=_MEMBER)
    _put_back_examples(document)
    _join_lines(document)
    document["components"] = dict(sorted(components.items()))
    for part in document["components"].values():
        entries = sorted(part.items())
        part.clear()
        part.update(entries)


def pascal(text: str) -> str:
    """A name of components: `not-found` is `NotFound`."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    return "".join(word[:1].upper() + word[1:] for word in words)


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in document["paths"].values():
        for operation in path.values():
            yield pascal(operation["operationId"]), operation


def _share(
    components: dict[str, Any], section: str, slots: Iterable[Slot], at_least: int = 0
) -> None:
    """Move what fills several slots alike into a section. at_least : characters from which."""
    found = list(slots)
    texts = [json.dumps(holder[key], sort_keys=True) for holder, key, _, _ in found]
    counts = Counter(texts)
    own = components.setdefault(section, {})
    names = {json.dumps(part, sort_keys=True): name for name, part in own.items()}
    # Generators name a type by its title, where it has one.
    taken = {*own, *(part["title"] for part in own.values() if "title" in part)}
    # The most frequent of one name has it.
    order = sorted(range(len(found)), key=lambda at: (-counts[texts[at]], at))
    for at in order:
        holder, key, name, whose = found[at]
        text = texts[at]
        if len(text) < at_least or "$ref" in holder[key]:
            continue
        if text not in names:
            if counts[text] < 2:
                continue
            free = _free(name, whose, taken)
            taken.add(free)
            names[text] = free
            own[free] = holder[key]
        holder[key] = {"$ref": f"#/components/{section}/{names[text]}"}


def _join_problems(operations: list[tuple[str, dict[str, Any]]]) -> None:
    """What any request may be answered is one response, `default`, in place of one a status.

    `default` has all that a request of its sort may be answered, also where the operation has
    another response for one of these statuses, so that few responses differ. Probes, which have no
    id, body or query, keep theirs.
    """
    problems = _problems(operations)
    for _, operation in operations:
        responses = operation["responses"]
        usual = {*_ANY, *_OF_FORMS, *(_OF_BODIES if "requestBody" in operation else ())}
        joined: set[str] = set()
        for status in list(responses):
            codes = set(_examples(responses[status]))
            if codes and codes <= usual:
                joined |= codes
                content = responses.pop(status)["content"][_PROBLEM]
        if not joined:
            continue
        sure = joined if operation["tags"] == [_PROBES] else {*_ANY} - {"unavailable"} | joined
        kinds = [code for code in _ANY if code in sure]
        description = "What any request may be answered."
        if "requestBody" in operation:
            kinds += _OF_BODIES
            description = "What any request with a body may be answered."
        kinds += joined & {*_OF_FORMS}
        examples = {code: problems[code] for code in kinds}
        responses["default"] = {
            "description": description,
            "content": {_PROBLEM: {**content, "examples": examples}},
        }


def _problems(operations: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The example of each kind of problem."""
    return {
        code: example
        for _, operation in operations
        for response in operation["responses"].values()
        for code, example in _examples(response).items()
    }


def _examples(response: dict[str, Any]) -> dict[str, Any]:
    """The examples of a problem, by its kind."""
    examples: dict[str, Any] = response.get("content", {}).get(_PROBLEM, {}).get("examples", {})
    return examples


def _put_examples_into_schemas(operations: list[tuple[str, dict[str, Any]]]) -> None:
    """A parameter's example stands in its schema: types made of the document have it once there,
    not with every operation that has the parameter."""
    for _, operation in operations:
        for parameter in operation.get("parameters", ()):
            if "example" in parameter:
                parameter["schema"] = {
                    **parameter["schema"],
                    "examples": [parameter.pop("example")],
                }


def _objects(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All objects of the document, each before the objects in it."""
    waiting: list[Any] = [document]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            yield part
            waiting += part.values()


def _join_types(document: dict[str, Any]) -> None:
    """A number, text, truth or list that may be null has two types, in place of two schemas; a
    bound that is whole is an integer."""
    for part in _objects(document):
        kind, *others = part.get("anyOf") or [{}]
        if (
            others == [{"type": "null"}]
            and kind.get("type") in _SIMPLE
            and not (kind.keys() & part.keys() or {"enum", "const"} & kind.keys())
        ):
            del part["anyOf"]
            part |= {**kind, "type": [kind["type"], "null"]}
        for bound in _BOUNDS & part.keys():
            if isinstance(part[bound], float) and part[bound].is_integer():
                part[bound] = int(part[bound])


def _put_back_examples(document: dict[str, Any]) -> None:
    """An example that one body has stands in it. As one of `examples`, which types made of the
    document leave out; an `example` would be a comment of each that has the body."""
    shared = document["components"]["examples"]
    held: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for part in _objects(document):
        if not isinstance(examples := part.get("examples"), dict):
            continue
        for own, example in examples.items():
            if isinstance(example, dict) and "$ref" in example:
                held.setdefault(example["$ref"].rpartition("/")[2], []).append((examples, own))
    for name, places in held.items():
        if len(places) == 1:
            ((examples, own),) = places
            examples[own] = shared.pop(name)


_LINE = re.compile(r"(?<!\n)\n(?![\n\s*|-])")
"""The end of a line inside a paragraph."""


def _join_lines(document: dict[str, Any]) -> None:
    """A paragraph of a description is one line: types made of the document begin each line anew."""
    for part in _objects(document):
        if isinstance(description := part.get("description"), str):
            part["description"] = _LINE.sub(" ", description)


def _share_examples(
    components: dict[str, Any], operations: list[tuple[str, dict[str, Any]]]
) -> None:
    """The example of a kind of problem is the same everywhere."""
    shared = components.setdefault("examples", {})
    for _, operation in operations:
        for response in operation["responses"].values():
            examples = _examples(response)
            for code, example in examples.items():
                shared[pascal(code)] = example
                examples[code] = {"$ref": f"#/components/examples/{pascal(code)}"}


def _share_body_examples(
    components: dict[str, Any], operations: list[tuple[str, dict[str, Any]]]
) -> None:
    """An example of a body is among the components alone, not also in its schema."""
    shared = components["examples"]
    names: dict[str, str] = {}
    alone = {json.dumps(media.get("example"), sort_keys=True) for _, media in _bodies(operations)}
    for whose, content in _bodies(operations):
        schema = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        own = components["schemas"].get(schema, {}).get("examples")
        if "example" not in content:
            continue
        example = content.pop("example")
        if schema.startswith(_PAGE) and _has_all(alone, example["items"]):
            example, schema = {**example, "items": []}, _EMPTY_PAGE
        text = json.dumps(example, sort_keys=True)
        if whose.startswith(_UPDATE) and schema in shared:
            name = schema
        else:
            name = names.setdefault(text, _free(schema or whose, whose, shared))
            shared[name] = {"value": example}
        content["examples"] = {"example": {"$ref": f"#/components/examples/{name}"}}
        if own == [example]:
            del components["schemas"][schema]["examples"]
    _leave_out_examples(components)


def _leave_out_examples(components: dict[str, Any]) -> None:
    """A part's example that the example of a whole body has in it is not also in its schema."""
    whole = json.dumps(components["examples"], sort_keys=True)
    for schema in components["schemas"].values():
        examples = schema.get("examples", ())
        if examples and all(json.dumps(each, sort_keys=True) in whole for each in examples):
            del schema["examples"]


def _bodies(
    operations: list[tuple[str, dict[str, Any]]],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The contents of requests and responses, each with the name of its operation."""
    for whose, operation in operations:
        for body in (operation.get("requestBody", {}), *operation["responses"].values()):
            for content in body.get("content", {}).values():
                yield whose, content


def _has_all(texts: Container[str], items: Iterable[Any]) -> bool:
    return all(json.dumps(item, sort_keys=True) in texts for item in items)


def _free(name: str, whose: str, taken: Container[str]) -> str:
    """A name that is not taken: the first, or one with what it belongs to before it."""
    names = (name, f"{whose}{name}", *(f"{whose}{name}{n}" for n in range(2, 100)))
    return next(each for each in names if each not in taken)


def _share_webhooks(
    document: dict[str, Any], operations: list[tuple[str, dict[str, Any]]]
) -> list[tuple[str, dict[str, Any]]]:
    """The request that a webhook receives is the same for all work. What outlives its operation, as
    the webhook of an alias, stands under `webhooks`. Gives these requests, by name."""
    requests: dict[str, dict[str, Any]] = {}
    for _, operation in operations:
        for name, callback in list(operation.get("callbacks", {}).items()):
            for address, received in callback.items():
                received["post"]["operationId"] = name
                requests[pascal(name)] = received["post"]
                if name == _WORK_ENDED:
                    items = document["components"].setdefault("pathItems", {})
                    items[pascal(name)] = received
                    callback[address] = {"$ref": f"#/components/pathItems/{pascal(name)}"}
                else:
                    document.setdefault("webhooks", {})[name] = received
                    operation.pop("callbacks", None)
    return list(requests.items())


def _headers(operations: list[tuple[str, dict[str, Any]]]) -> Iterator[Slot]:
    for whose, operation in operations:
        for response in operation["responses"].values():
            for name in (headers := response.get("headers", {})):
                yield headers, name, pascal(name), whose


def _responses(operations: list[tuple[str, dict[str, Any]]]) -> Iterator[Slot]:
    for whose, operation in operations:
        for status, response in (responses := operation["responses"]).items():
            codes = list(_examples(response))
            if status == "default":
                yield responses, status, _any_problem(codes), whose
            elif 0 < len(codes) <= _MOST_CODES:
                yield responses, status, "Or".join(map(pascal, codes)), whose
            elif codes:
                yield responses, status, f"Problem{status}", whose
            elif status in _NAMES:
                yield responses, status, _NAMES[status], whose


def _requests(operations: list[tuple[str, dict[str, Any]]]) -> Iterator[Slot]:
    for whose, operation in operations:
        if "requestBody" in operation:
            (*_, content) = operation["requestBody"]["content"].values()
            schema = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
            yield operation, "requestBody", schema or f"{whose}Body", whose


def _any_problem(codes: Container[str]) -> str:
    """The name of a `default`, by what it is for."""
    ends = {
        "OfBody": "malformed" in codes,
        "OfForm": "not-acceptable" in codes,
        "ButUnavailable": "unavailable" not in codes,
    }
    return "".join(["AnyProblem", *(end for end, has in ends.items() if has)])


def _share_parameters(
    components: dict[str, Any], operations: list[tuple[str, dict[str, Any]]]
) -> None:
    held: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    slots: list[Slot] = []
    for whose, operation in operations:
        holders = [{"it": parameter} for parameter in operation.get("parameters", ())]
        held.append((operation, holders))
        slots += [(holder, "it", pascal(holder["it"]["name"]), whose) for holder in holders]
    _share(components, "parameters", slots)
    for operation, holders in held:
        if holders:
            operation["parameters"] = [holder["it"] for holder in holders]


def _members(schemas: dict[str, Any]) -> Iterator[Slot]:
    for whose in sorted(schemas):
        for properties in _properties(schemas[whose]):
            for member in properties:
                yield properties, member, pascal(member), whose


def _properties(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The members of a schema, and of its parts (`allOf`)."""
    for part in (schema, *schema.get("allOf", ())):
        yield part.get("properties", {})


def _leave_out_titles(schemas: dict[str, Any]) -> None:
    """A title that only repeats the name of a schema or a member says nothing."""
    for own, schema in schemas.items():
        if pascal(schema.get("title", "")) == pascal(own):
            del schema["title"]
        for properties in _properties(schema):
            for name, member in properties.items():
                title = member.get("title")
                if isinstance(title, str) and title.replace(" ", "_").lower() == name.lower():
                    del member["title"]
