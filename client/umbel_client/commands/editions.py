"""What `umbel edit` and `umbel history` do."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from umbel_client.commands import outputs
from umbel_client.commands.outputs import put, say
from umbel_client.commands.values import node_of, nodes_of
from umbel_client.commands.work import service
from umbel_client.edition import Edition
from umbel_client.errors import InputError
from umbel_client.quoting import shown


def edit(arguments: Namespace) -> None:
    """`umbel edit`."""
    operations = [_operation(name, text) for name, text in arguments.operations]
    begins = arguments.target.startswith(("tr_", "@"))
    if not begins and not arguments.target.startswith("ed_"):
        raise InputError(
            "target", f"{shown(arguments.target)} is neither ed_... nor tr_... nor an alias."
        )
    if not begins and arguments.source is not None:
        raise InputError("--from", "it is of a new edition: umbel edit tr_... --from ed_....")
    if begins and arguments.revision is not None:
        raise InputError("--revision", "a new edition has none yet.")
    if not begins and arguments.title is None and not operations:
        raise InputError("edit", "give at least one operation.")
    with service(arguments, kept=True) as umbel:
        if begins:
            edition = umbel.tree(arguments.target).edit(arguments.title, source=arguments.source)
        else:
            edition = umbel.edition(arguments.target)
            _require_revision(edition, arguments.revision)
        new: Sequence[int] = ()
        try:
            if operations:
                new = edition.apply(*operations)
        except BaseException:
            # What was begun for the edit alone does not stay.
            if begins:
                edition.delete()
            raise
        if not begins and arguments.title is not None:
            edition.title(arguments.title or None)
        put(dict(edition.state.body), arguments.json, edition.id)
        nodes = f", new nodes {', '.join(map(str, new))}" if new else ""
        say(f"revision {edition.revision}{nodes}", arguments.quiet)


def _require_revision(edition: Edition, wanted: int | None) -> None:
    """Raises InputError where the edition is at another revision than wanted. A change between this
    and the service refuses the edit, since it gets the revision that was read here."""
    if wanted is not None and wanted != edition.revision:
        raise InputError(
            "--revision",
            f"{edition.id} is at revision {edition.revision}, not {wanted}; "
            f"`umbel history {edition.id}` lists its changes.",
        )


def _operation(name: str, text: Any) -> dict[str, Any]:
    """An operation of `POST /v1/editions/{id}/changes`. Raises InputError for other nodes than
    numbers."""
    option = f"--{name}"
    if name in ("undo", "redo"):
        return {"op": name}
    nodes, separator, rest = text.partition("=")
    value = rest if separator else None
    match name:
        case "rename":
            return {"op": name, "node": node_of(option, nodes), "name": value or None}
        case "note":
            return {"op": name, "node": node_of(option, nodes), "text": value or None}
        case "colour":
            return {"op": name, "node": node_of(option, nodes), "colour": value or None}
        case "reorder":
            if value is None:
                raise InputError(option, f"{shown(text)} is not NODE=NODE,....")
            children = nodes_of(option, value)
            return {"op": name, "node": node_of(option, nodes), "children": children}
        case "merge":
            return {"op": name, "nodes": nodes_of(option, nodes), "name": value or None}
    return {"op": name, "node": node_of(option, text)}


def history(arguments: Namespace) -> None:
    """`umbel history`."""
    with service(arguments, kept=True) as umbel:
        changes = umbel.edition(arguments.edition).history()
        put(changes, arguments.json, outputs.shown(changes) if changes else "No changes.")
