"""The OpenAPI document: generated from the routes, tidied, kept in `openapi/openapi.json`.

`text` is the document as it is committed. The service serves the committed one, which a test keeps
equal to the routes: reading it takes a fortieth of the time that making it takes. `page` shows it
at `/docs` as one plain HTML page that loads no other files, so nothing comes from another host.
"""

from __future__ import annotations

import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, get_args

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel

from app.contract import method_schemas, operations
from app.http import problems

VERSION = "1"
DESCRIPTION = """Hierarchies as a service: logits, features or counts in; trees, evaluations, \
predictions and pictures out.

Upload a `dataset`, run a method on it as a `job`, read the resulting `tree`. Every error is a \
problem of RFC 9457. Lists are paged. A POST with an `Idempotency-Key` can be repeated safely.
"""
TAGS = [
    {"name": "methods", "description": "The methods that can be run."},
    {"name": "datasets", "description": "Uploaded arrays and tables."},
    {"name": "jobs", "description": "Runs of methods."},
    {"name": "trees", "description": "Results: hierarchies, and partitions as trees of depth one."},
    {"name": "evaluations", "description": "Metrics of a tree."},
    {"name": "comparisons", "description": "Several methods on the same inputs, in one table."},
    {"name": "models", "description": "Fitted models, as files."},
    {"name": "predictions", "description": "New rows placed in a tree."},
    {"name": "health", "description": "Whether the service is up."},
]
_JSON = "application/json"

PATH = Path(__file__).parent.parent / "openapi" / "openapi.json"

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { border-bottom: 1px solid; margin-top: 3rem } h3 { margin: 2rem 0 0 }
code, pre { font: 14px/1.4 ui-monospace, monospace } pre { overflow: auto; padding: .5rem;
border: 1px solid } table { border-collapse: collapse } td { padding: .1rem 1rem .1rem 0;
vertical-align: top }
:root { color-scheme: light dark }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"


def install(app: FastAPI, root_path: str = "") -> None:
    """Make `app.openapi` return the document: the committed one, else, where the package was
    installed without it, one made from the routes.
    """

    @cache
    def document() -> dict[str, Any]:
        if not PATH.is_file():
            return _document_of(app, root_path)
        committed: dict[str, Any] = json.loads(PATH.read_bytes())
        return {**committed, "servers": _servers(root_path)}

    app.openapi = document  # type: ignore[method-assign]


def text(app: FastAPI) -> str:
    """The document of `app` in its committed form, made from the routes."""
    document = _document_of(app, root_path="")
    for part in (document["paths"], document["components"]["schemas"]):
        entries = sorted(part.items())
        part.clear()
        part.update(entries)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _servers(root_path: str) -> list[dict[str, str]]:
    return [{"url": root_path or "/"}]


def _document_of(app: FastAPI, root_path: str) -> dict[str, Any]:
    document = get_openapi(
        title="Umbel",
        version=VERSION,
        description=DESCRIPTION,
        routes=app.routes,
        tags=TAGS,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        servers=_servers(root_path),
    )
    problems.add_schema(document)
    _restore_examples(document, app)
    for path in document["paths"].values():
        for operation in path.values():
            operations.tidy(operation)
    operations.split_forms(document)
    _restore_schema_examples(document)
    method_schemas.add(document)
    schemas = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    _keep_used_tags(document)
    return document


def _restore_examples(document: dict[str, Any], app: FastAPI) -> None:
    """Restore each response's example as written, since FastAPI drops every null in it.

    The example is that of the route, else that of the response's model.
    """
    for route in iter_route_contexts(app.routes):
        if not getattr(route, "include_in_schema", False):
            continue
        for method in route.methods or ():
            responses = document["paths"][route.path_format][method.lower()]["responses"]
            _put(responses, route.status_code or 200, _JSON, _examples_of(route.response_model))
            for status, response in route.responses.items():
                _put(responses, status, _JSON, _examples_of(response.get("model")))
                for media, content in response.get("content", {}).items():
                    _put(responses, status, media, content)


def _restore_schema_examples(document: dict[str, Any]) -> None:
    """Restore the examples of schemas, in which FastAPI drops every null, too."""
    schemas = document["components"]["schemas"]
    models = list(BaseModel.__subclasses__())
    while models:
        model = models.pop()
        models += model.__subclasses__()
        extra = model.model_config.get("json_schema_extra")
        schema = schemas.get(model.__name__, {})
        if isinstance(extra, dict) and "examples" in extra and "examples" in schema:
            schema["examples"] = extra["examples"]


def _put(responses: dict[str, Any], status: int | str, media: str, source: dict[str, Any]) -> None:
    examples = {key: source[key] for key in ("example", "examples") if key in source}
    content = responses.get(str(status), {}).get("content", {}).get(media)
    if examples and content is not None:
        for key in ("example", "examples"):  # Never both.
            content.pop(key, None)
        content.update(examples)


def _examples_of(model: Any) -> dict[str, Any]:
    """The first example in the configuration of a model, as a response's `example`; of a union
    that of its first model.
    """
    model = next(iter(get_args(model)), model)
    extra = getattr(model, "model_config", {}).get("json_schema_extra")
    examples = extra.get("examples") if isinstance(extra, dict) else None
    return {"example": examples[0]} if examples else {}


def _keep_used_tags(document: dict[str, Any]) -> None:
    used = {
        tag
        for path in document["paths"].values()
        for operation in path.values()
        for tag in operation.get("tags", ())
    }
    document["tags"] = [tag for tag in document["tags"] if tag["name"] in used]


def page(document: dict[str, Any]) -> str:
    """The HTML page of an OpenAPI document."""
    info = document["info"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>{escape(info['title'])} API</title><style>{STYLE}</style>",
        f"<h1>{escape(info['title'])} API, version {escape(info['version'])}</h1>",
        *(f"<p>{escape(part)}</p>" for part in info["description"].strip().split("\n\n")),
        "<p>For programs: <a href='openapi.json'>openapi.json</a>.</p>",
    ]
    for tag in document["tags"]:
        parts.append(f"<h2>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>")
        for path, entries in document["paths"].items():
            for method, operation in entries.items():
                if tag["name"] in operation["tags"]:
                    parts.extend(_operation(method.upper(), path, operation))
    return "\n".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    parts = [
        f"<h3 id='{escape(operation['operationId'])}'><code>{method} {escape(path)}</code></h3>",
        f"<p><b>{escape(operation['summary'])}.</b> {escape(operation.get('description', ''))}</p>",
    ]
    rows = [
        (parameter["name"], f"{parameter['in']}: {parameter.get('description', '')}")
        for parameter in operation.get("parameters", [])
    ]
    if rows:
        parts.append(_table("Parameters", rows))
    if "requestBody" in operation:
        parts.append(_contents("Body", operation["requestBody"]["content"]))
    rows = [
        (status, response.get("description", ""))
        for status, response in operation["responses"].items()
    ]
    parts.append(_table("Responses", rows))
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            parts.append(_contents(f"Example of {status}", response.get("content", {})))
    return parts


def _table(title: str, rows: list[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><td><code>{escape(left)}</code><td>{escape(right)}" for left, right in rows
    )
    return f"<p>{title}</p><table>{cells}</table>"


def _contents(title: str, contents: dict[str, Any]) -> str:
    parts = [f"<p>{title}: {escape(', '.join(contents))}</p>"] if contents else []
    for content in contents.values():
        example = content.get("example")
        if example is not None:
            shown = example if isinstance(example, str) else json.dumps(example, indent=1)
            parts.append(f"<pre>{escape(shown)}</pre>")
            break
    return "".join(parts)
