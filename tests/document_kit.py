"""The OpenAPI document: as the routes give it, and without references, each operation whole, each
form by itself."""

from __future__ import annotations

import copy
import functools
import re
from typing import Any

_KEPT = "#/components/schemas/"


@functools.cache
def made() -> str:
    """The document as the routes give it, made once, since that takes three seconds; the service
    serves the committed one."""
    # Tests of whole services need not import the API.
    from app.main import documented_app
    from app.openapi import document as openapi

    return openapi.text(documented_app())


def spelled_out(document: dict[str, Any]) -> dict[str, Any]:
    """A copy in which references among paths and components, but those to schemas, are followed,
    `default` is one response for each status that it may have, and a path with `{form}` is one path
    for each form, of the media type that its suffix has; `.json`, which is served as the plain path
    is, is one of them."""
    paths: dict[str, Any] = {}
    # The media type of each suffix, as the description of the document lists them.
    medias = dict(re.findall(r"`(\S+)` \((\S+/\S+)\)", document["info"]["description"]))
    for path, operations in document["paths"].items():
        whole = followed(document, operations)
        for operation in whole.values():
            _spell_out_default(operation["responses"])
            operation["security"] = operation.get("security", document["security"])
        form = _form_of(whole.get("get", {}))
        if form is None:
            paths[path] = whole
            continue
        content = whole["get"]["responses"]["200"]["content"]
        assert set(content) == {medias[suffix] for suffix in form["schema"]["enum"]}
        for suffix in form["schema"]["enum"]:
            media = medias[suffix]
            single = copy.deepcopy(whole)
            single["get"]["parameters"].remove(form)
            response = single["get"]["responses"]["200"]
            response["content"] = {media: response["content"][media]}
            paths[path.replace("{form}", suffix)] = single
        if (plain := path.removesuffix(".{form}")) in document["paths"]:
            get = followed(document, document["paths"][plain]["get"])
            _spell_out_default(get["responses"])
            get["security"] = get.get("security", document["security"])
            paths[f"{plain}.json"] = {"get": get}
    return {**document, "paths": paths}


def followed(document: dict[str, Any], part: Any) -> Any:
    """A part with what its references refer to; those to schemas stay."""
    if isinstance(part, list):
        return [followed(document, each) for each in part]
    if not isinstance(part, dict):
        return part
    reference = part.get("$ref")
    if isinstance(reference, str) and not reference.startswith(_KEPT):
        _, section, name = reference.removeprefix("#/").split("/")
        return followed(document, document["components"][section][name])
    return {key: followed(document, value) for key, value in part.items()}


def with_statuses(document: dict[str, Any]) -> dict[str, Any]:
    """A copy in which `default` is one response for each status that it may have."""
    whole = copy.deepcopy(document)
    for path in whole["paths"].values():
        for operation in path.values():
            operation["responses"] = followed(document, operation["responses"])
            _spell_out_default(operation["responses"])
    return whole


def joined(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of an object with the members of its `allOf` in it; references to it followed."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_KEPT)
        return joined(document, document["components"]["schemas"][name])
    properties = dict(schema.get("properties", {}))
    required = list(schema.get("required", ()))
    for part in schema.get("allOf", ()):
        whole = joined(document, part)
        properties |= whole["properties"]
        required += whole["required"]
    return {**schema, "properties": properties, "required": required}


def _spell_out_default(responses: dict[str, Any]) -> None:
    if "default" not in responses:
        return
    default = responses.pop("default")
    ((media, content),) = default["content"].items()
    declared = {*responses}
    for code, example in content["examples"].items():
        status = str(example["value"]["status"])
        if status in declared:
            continue
        own = {media: {**content, "examples": {code: example}}}
        joined = responses.setdefault(status, {**default, "content": own})
        joined["content"][media]["examples"][code] = example


def _form_of(operation: dict[str, Any]) -> dict[str, Any] | None:
    parameters: list[dict[str, Any]] = operation.get("parameters", [])
    found = [each for each in parameters if (each["in"], each["name"]) == ("path", "form")]
    return found[0] if found else None
