"""How trees look in a notebook."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from umbel_client.core.connection import Connection
from umbel_client.core.facts import TreeFacts
from umbel_client.core.messages import Settings
from umbel_client.quoting import shown

NOTEBOOK_PX = 480


def title(facts: TreeFacts) -> str:
    """The tree in one line."""
    name = "" if facts.name is None else f"{shown(facts.name)}, "
    return (
        f"{name}{facts.method}: {facts.n_leaves:,} leaves, {facts.n_points:,} points ({facts.id})"
    )


def drawn(settings: Settings, tree_id: str) -> str:
    """The picture for a notebook, which shows an object without awaiting anything."""
    connection = Connection(settings)
    try:
        return connection.raw(f"/v1/trees/{tree_id}.svg", {"px": NOTEBOOK_PX}).decode()
    finally:
        connection.close()


def tree_html(facts: TreeFacts, page: str, svg: str | None, why: str = "") -> str:
    """The picture, the sizes and a link to the page. why : the reason for a missing picture.

    The picture is a separate image, so that nothing in it reaches into the notebook.
    """
    picture = f"<p>{escape(why)}</p>"
    if svg is not None:
        data = b64encode(svg.encode()).decode()
        picture = f'<img src="data:image/svg+xml;base64,{data}" width="{NOTEBOOK_PX}" alt="tree">'
    warnings = "".join(f"<li>{escape(sentence)}</li>" for sentence in facts.warnings)
    return (
        f"<div><p><b>{escape(facts.method)}</b>"
        f"{'' if facts.name is None else ' ' + escape(facts.name)}: {facts.n_leaves:,} leaves, "
        f"{facts.n_points:,} points. "
        f'<a href="{escape(page)}" target="_blank" rel="noopener">Open the page</a></p>'
        f"{picture}{f'<ul>{warnings}</ul>' if warnings else ''}</div>"
    )


def table_html(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """A table as HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(row.get(name, '')))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
