"""The operations of the OpenAPI document, made exact."""

from __future__ import annotations

from typing import Any

from app.http import problems

KEY_OR_NONE: list[dict[str, list[str]]] = [{"key": []}, {}]
"""What operations need: a key; a service without keys needs none."""


def tidy(operation: dict[str, Any]) -> None:
    """Remove what does not hold of an operation, and say which key it needs."""
    for status, response in operation["responses"].items():
        if response["description"] == "Successful Response":
            response["description"] = "Done."
        for media in response.get("content", {}).values():
            # OpenAPI 3.2's; a 3.1 document may not have it.
            media.pop("itemSchema", None)
            if str(media.get("schema", {}).get("title", "")).startswith("Response "):
                del media["schema"]["title"]
        if status.startswith(("4", "5")):
            response.setdefault("content", {}).pop("application/json", None)
        if status == "422" and not response["content"]:
            response.update(problems.responses("invalid-request")[422])
        if status == "204":
            response.pop("content", None)
    if "security" in operation:
        # As the document says for all operations.
        del operation["security"]
    else:
        operation["security"] = []
    for callback in operation.get("callbacks", {}).values():
        for path in callback.values():
            for call in path.values():
                for parameter in call.get("parameters", []):
                    parameter["name"] = header_name(parameter["name"])
                # The receiver checks the signature; the service has no key of it.
                call["security"] = []
    if "parameters" in operation:
        # OpenAPI ignores it: the media types of the response say what there is.
        operation["parameters"] = [
            each for each in operation["parameters"] if each["name"].lower() != "accept"
        ]
    for parameter in operation.get("parameters", []):
        if not parameter.get("required"):
            # What OpenAPI takes it for.
            parameter.pop("required", None)
        if parameter["in"] == "header":
            parameter["name"] = header_name(parameter["name"])
        schema = parameter.get("schema", {})
        _leave_out_null(schema)
        # They repeat the parameter's own.
        for member in ("title", "description"):
            schema.pop(member, None)
        if "examples" in parameter.get("schema", {}) and "example" not in parameter:
            parameter["example"] = parameter["schema"].pop("examples")[0]


def header_name(name: str) -> str:
    """The name of a header in its usual letters, `If-None-Match`; case means nothing to HTTP."""
    return "-".join(part.capitalize() for part in name.split("-"))


def _leave_out_null(schema: dict[str, Any]) -> None:
    """A parameter of a query, path or header is there or not; it is never null."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    if not kinds or len(kinds) == len(schema["anyOf"]):
        return
    if len(kinds) > 1:
        schema["anyOf"] = kinds
        return
    del schema["anyOf"]
    schema.update({key: value for key, value in kinds[0].items() if key not in schema})
