"""The operations of the OpenAPI document, made exact.

A route by suffix (`/v1/trees/{tree_id}.{suffix}`) serves several forms. In the document each form
is a separate path with one media type, so that a generated client knows text from bytes.
"""

from __future__ import annotations

import copy
from typing import Any

from app.http.forms import BY_SUFFIX

_NAMES = {"nwk": "newick", "nex": "nexus", "linkage.npy": "linkage", "hclust.json": "hclust"}
"""What a form is called in the id of its operation, where its suffix does not say it."""
_TITLES = {
    "newick": "Newick",
    "nexus": "Nexus",
    "linkage": "a SciPy linkage",
    "hclust": "R's hclust",
}
_SUFFIX = "{suffix}"


def split_forms(document: dict[str, Any]) -> None:
    """Put one path for each form in the place of every path by suffix."""
    paths: dict[str, Any] = {}
    for path, operations in document["paths"].items():
        forms = operations.get("get", {}).pop(BY_SUFFIX, None)
        if forms is None:
            paths[path] = operations
            continue
        for suffix, media in forms.items():
            paths[path.replace(_SUFFIX, suffix)] = {
                "get": _of_form(operations["get"], suffix, media)
            }
    document["paths"] = paths


def _of_form(operation: dict[str, Any], suffix: str, media: str) -> dict[str, Any]:
    single = copy.deepcopy(operation)
    name = _NAMES.get(suffix, suffix)
    single["operationId"] = f"{single['operationId'].removesuffix('_as')}_{name}"
    form = _TITLES.get(name, name.upper() if suffix != "arrow" else "Arrow")
    single["summary"] = f"{single['summary'].removesuffix(', by suffix')}, as {form}"
    single["parameters"] = [entry for entry in single["parameters"] if entry["name"] != "suffix"]
    content = single["responses"]["200"]["content"]
    single["responses"]["200"]["content"] = {media: content[media]}
    return single


def tidy(operation: dict[str, Any]) -> None:
    """Remove what does not hold of an operation, and say which key it needs."""
    for status, response in operation["responses"].items():
        for media in response.get("content", {}).values():
            # OpenAPI 3.2's; a 3.1 document may not have it.
            media.pop("itemSchema", None)
        if status.startswith(("4", "5")):
            response.setdefault("content", {}).pop("application/json", None)
        if status == "204":
            response.pop("content", None)
    if "security" in operation:
        # A service without keys needs none.
        operation["security"].append({})
    else:
        operation["security"] = []
    for callback in operation.get("callbacks", {}).values():
        for path in callback.values():
            for call in path.values():
                # The receiver checks the signature; the service has no key of it.
                call["security"] = []
    for parameter in operation.get("parameters", []):
        _leave_out_null(parameter.get("schema", {}))
        if "examples" in parameter.get("schema", {}) and "example" not in parameter:
            parameter["example"] = parameter["schema"].pop("examples")[0]


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
