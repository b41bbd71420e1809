"""`umbel completion`: what completes commands, options and ids in a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from umbel_client.commands.options import LateParsers

SHELLS = ("bash", "zsh", "tcsh")

_KINDS: Mapping[str, str] = {
    "tree": "trees",
    "attachment": "attachments",
    "calibration": "calibrations",
    "target": "any",
    "id": "any",
    "ids": "any",
    "jobs": "any",
    "map": "maps",
    "names": "namings",
}
"""What `umbel list` lists for an argument, by its name."""


def print_completion(parser: argparse.ArgumentParser, shell: str) -> int:
    """Print what a shell evaluates; the exit status, 2 where the package shtab is missing."""
    if find_spec("shtab") is None:
        print("Completion needs the package shtab: pip install shtab.", file=sys.stderr)
        return 2
    import shtab

    kinds = set()
    for action in _actions(parser):
        takes_id = not action.option_strings or action.metavar == "ID"
        kind = _KINDS.get(action.dest) if takes_id and action.choices is None else None
        if kind is not None:
            kinds.add(kind)
            file_too = "a file" in (action.help or "")
            action.complete = _completed(parser.prog, kind, file_too)  # type: ignore[attr-defined]
    functions = [_function(parser.prog, kind) for kind in sorted(kinds)]
    preamble = "\n".join(functions) if shell == "bash" else ""
    print(shtab.complete(parser, shell, preamble=preamble))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a program and of all of its commands."""
    waiting = [parser]
    while waiting:
        for action in waiting.pop()._actions:
            yield action
            if isinstance(action, LateParsers):
                action.make_all()
            if isinstance(action, argparse._SubParsersAction):
                waiting += action.choices.values()


def _listed(prog: str, kind: str) -> str:
    """The command that lists ids; silent where no service is named or reached."""
    return f"{prog} list {kind} --ids 2>/dev/null"


def _completed(prog: str, kind: str, file_too: bool) -> dict[str, str]:
    """By shell. file_too : whether a file may stand there; only in bash both are offered."""
    listed = _listed(prog, kind)
    others = {} if file_too else {"zsh": f"($({listed}))", "tcsh": f"`{listed}`"}
    return {"bash": _name(prog, kind), **others}


def _name(prog: str, kind: str) -> str:
    return f"_{prog.replace('-', '_')}_ids_of_{kind}"


def _function(prog: str, kind: str) -> str:
    """A function of bash: ids, and files beside them, which many commands take as well."""
    return (
        f'{_name(prog, kind)}() {{\n  compgen -W "$({_listed(prog, kind)})" -- "$1"\n'
        '  compgen -f -- "$1"\n}'
    )
