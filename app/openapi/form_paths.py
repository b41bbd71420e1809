"""The forms of a resource in the OpenAPI document.

`app.http.forms.mount` serves each form by its suffix and by `Accept`. In the document the plain
path is the JSON alone, so that a generated client has its type; `{form}` in a second path stands
for all other suffixes, as text or bytes. One operation for both would give generated clients one
type for all forms (`docs/style.md`). `.json`, and other forms by `Accept`, are served as well and
not documented twice: the description of the document says so, and what media type a suffix has.
"""

from __future__ import annotations

from typing import Any

from app.http.forms import DRAWN, FORMS

_JSON = "application/json"
_END = ".{form}"

_ALL = """
The forms of a resource: JSON at the plain path, or what `Accept` prefers there; any form by its \
suffix, `.{{form}}`: {}.
"""


def write_once(document: dict[str, Any]) -> None:
    """Make the operations of every resource with forms say what each of them gives, and the
    description of the document what all forms share."""
    paths = document["paths"]
    media_types: dict[str, str] = {}
    for path, operations in paths.items():
        operation = operations.get("get", {})
        forms: dict[str, str] = operation.pop(FORMS, {})
        drawn: list[str] = operation.pop(DRAWN, [])
        if not forms:
            continue
        media_types |= forms
        if path.endswith(_END):
            plain = path.removesuffix(_END)
            _keep_others(operation, forms, drawn, plain if plain in paths else None)
        else:
            _keep_json(operation, drawn)
    listed = ", ".join(f"`{suffix}` ({media})" for suffix, media in media_types.items())
    if listed:
        document["info"]["description"] += _ALL.format(listed)


def _keep_json(operation: dict[str, Any], drawn: list[str]) -> None:
    content = operation["responses"]["200"]["content"]
    operation["responses"]["200"]["content"] = {_JSON: content[_JSON]}
    operation["parameters"] = [
        each
        for each in operation.get("parameters", ())
        if each["in"] != "query" or each["name"] not in drawn
    ]


def _keep_others(
    operation: dict[str, Any], forms: dict[str, str], drawn: list[str], plain: str | None
) -> None:
    """plain : the path of the JSON; None where there is none."""
    others = {suffix: media for suffix, media in forms.items() if plain is None or media != _JSON}
    content = operation["responses"]["200"]["content"]
    # A generator that reads one media type finds text first.
    medias = sorted(dict.fromkeys(others.values()), key=lambda media: not media.startswith("text/"))
    operation["responses"]["200"]["content"] = {media: content[media] for media in medias}
    for media in medias:
        if media.startswith("text/"):
            content[media]["schema"] = {"type": "string"}
    for parameter in operation["parameters"]:
        if parameter["in"] == "path" and parameter["name"] == "form":
            parameter["schema"] = {"type": "string", "enum": list(others)}
            parameter["description"] = "The form, by its suffix."
            parameter.pop("example", None)
        if parameter["in"] == "query" and parameter["name"] in drawn:
            _say_default(parameter)
    operation["summary"] = operation["summary"].replace(", by suffix", ", in another form")
    if plain is not None:
        name = operation["operationId"].removesuffix("_as")
        operation["description"] = f"What `{name}` reads, in another form."


def _say_default(parameter: dict[str, Any]) -> None:
    """Name the default of a parameter in its description alone: generated clients send one that
    stands in the schema, and forms that are not pictures refuse it."""
    default = parameter["schema"].pop("default", None)
    if default is not None:
        shown = str(default).lower() if isinstance(default, bool) else default
        parameter["description"] += f" Default: {shown}."
