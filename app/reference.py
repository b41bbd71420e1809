"""`/docs`: the document as one plain page. It loads nothing, so nothing comes from another host."""

from __future__ import annotations

import json
from html import escape
from typing import Any

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
