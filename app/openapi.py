"""The OpenAPI document: generated from the routes, cleaned up, kept in `openapi/openapi.json`.

`/docs`: the document as one plain page. It loads nothing, so nothing comes from another host.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts

from app.http import problems
from app.settings import Settings

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { border-bottom: 1px solid; margin-top: 3rem } h3 { margin: 2rem 0 0 }
code, pre { font: 14px/1.4 ui-monospace, monospace } pre { overflow: auto; padding: .5rem;
border: 1px solid } table { border-collapse: collapse } td { padding: .1rem 1rem .1rem 0;
vertical-align: top }
:root { color-scheme: light dark }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"


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
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
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
    parts.append(_table("Answers", rows))
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


VERSION = "1"
DESCRIPTION = """Hierarchies as a service: logits, features or counts in; trees, evaluations, \
predictions and pictures out.

Upload a `dataset`, run a method on it as a `job`, read the `tree` it makes. Every error is a \
problem of RFC 9457. Lists come in pages. A POST with an `Idempotency-Key` may be repeated safely.
"""
TAGS = [
    {"name": "methods", "description": "What can be run."},
    {"name": "datasets", "description": "Arrays and tables that were uploaded."},
    {"name": "jobs", "description": "Runs of methods."},
    {"name": "trees", "description": "Results: hierarchies, and partitions as trees of depth one."},
    {"name": "evaluations", "description": "How good a tree is."},
    {"name": "comparisons", "description": "Several methods on the same inputs, in one table."},
    {"name": "models", "description": "What was fitted, as files."},
    {"name": "predictions", "description": "New rows placed in a tree."},
    {"name": "health", "description": "Is it up."},
]
PATH = Path(__file__).parent.parent / "openapi" / "openapi.json"


def install(app: FastAPI, root_path: str = "") -> None:
    """Let `app` serve the cleaned-up document."""
    made: dict[str, Any] = {}

    def serve() -> dict[str, Any]:
        if not made:
            made.update(_document_of(app, root_path))
        return made

    app.openapi = serve  # type: ignore[method-assign]


def document() -> dict[str, Any]:
    """The document of the service as it is; nothing is connected to."""
    from app.main import create_app

    plain = Settings(root_path="", api_keys=(), api_keys_file=None, cors_origins=())
    return create_app(plain).openapi()


def text() -> str:
    """The document as it is committed."""
    return json.dumps(document(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def write(path: Path = PATH) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(), "utf-8")


def _document_of(app: FastAPI, root_path: str) -> dict[str, Any]:
    found = get_openapi(
        title="Umbel",
        version=VERSION,
        description=DESCRIPTION,
        routes=app.routes,
        tags=TAGS,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        servers=[{"url": root_path or "/"}],
    )
    problems.add_schema(found)
    _restore_examples(found, app)
    for path in found["paths"].values():
        for operation in path.values():
            _clean(operation)
    schemas = found["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    _name_tags(found)
    return found


def _restore_examples(found: dict[str, Any], app: FastAPI) -> None:
    """Put examples as they were written beside each answer: FastAPI drops every null in them.

    An example is the one that the route gives, else that of the model it answers with.
    """
    for route in iter_route_contexts(app.routes):
        if not getattr(route, "include_in_schema", False):
            continue
        for method in route.methods or ():
            answers = found["paths"][route.path_format][method.lower()]["responses"]
            _put(answers, route.status_code or 200, _JSON, _examples_of(route.response_model))
            for status, answer in route.responses.items():
                _put(answers, status, _JSON, _examples_of(answer.get("model")))
                for media, content in answer.get("content", {}).items():
                    _put(answers, status, media, content)


_JSON = "application/json"


def _put(answers: dict[str, Any], status: int | str, media: str, given: dict[str, Any]) -> None:
    kept = {key: given[key] for key in ("example", "examples") if key in given}
    place = answers.get(str(status), {}).get("content", {}).get(media)
    if kept and place is not None:
        for key in ("example", "examples"):  # Never both.
            place.pop(key, None)
        place.update(kept)


def _examples_of(model: Any) -> dict[str, Any]:
    """The first example in the configuration of a model, as an answer's `example`."""
    extra = getattr(model, "model_config", {}).get("json_schema_extra")
    examples = extra.get("examples") if isinstance(extra, dict) else None
    return {"example": examples[0]} if examples else {}


def _clean(operation: dict[str, Any]) -> None:
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
    for parameter in operation.get("parameters", []):
        if "examples" in parameter.get("schema", {}) and "example" not in parameter:
            parameter["example"] = parameter["schema"].pop("examples")[0]


def _name_tags(found: dict[str, Any]) -> None:
    used = {
        tag
        for path in found["paths"].values()
        for operation in path.values()
        for tag in operation.get("tags", ())
    }
    found["tags"] = [tag for tag in found["tags"] if tag["name"] in used]
