"""What `umbel alias` does."""

from __future__ import annotations

from argparse import Namespace

from umbel_client.commands import outputs
from umbel_client.commands.outputs import put, say, warn
from umbel_client.commands.work import service
from umbel_client.errors import InputError

_LISTED = ("name", "tree", "moved_at", "by", "note")


def alias(arguments: Namespace) -> None:
    """`umbel alias`. Raises InputError for options that need a name, or no tree."""
    name, tree = arguments.name, arguments.tree
    if name is None and (arguments.back or arguments.remove):
        raise InputError("name", "which alias? umbel alias champion --back")
    if arguments.webhook is not None and tree is None:
        raise InputError("webhook", "give it with a tree: umbel alias champion tr_...")
    if tree is not None and (arguments.back or arguments.remove):
        raise InputError("tree", "--back and --remove take none.")
    with service(arguments, kept=True) as umbel:
        if name is None:
            found = umbel.aliases()
            rows = [{key: each[key] for key in _LISTED} for each in found]
            put(found, arguments.json, outputs.shown(rows) if rows else "No aliases.")
            return
        if arguments.remove:
            umbel.remove_alias(name)
            say(f"@{name.removeprefix('@')} names nothing any more", arguments.quiet)
            return
        if tree is None and not arguments.back:
            shown = umbel.alias(name)
            moves = [
                {key: move[key] for key in ("number", "at", "tree", "by", "note")}
                for move in shown["history"]
            ]
            put(shown, arguments.json, outputs.shown(moves))
            return
        if arguments.back:
            moved = umbel.roll_back(name, arguments.note)
        else:
            moved = umbel.set_alias(
                name, tree, arguments.note, expected=arguments.expect, webhook=arguments.webhook
            )
        put(moved, arguments.json, f"@{moved['name']} names {moved['tree']}")
        warn(moved["warnings"], arguments.quiet)
