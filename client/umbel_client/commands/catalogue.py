"""`umbel methods`: the methods in their groups, or what one of them takes."""

from __future__ import annotations

from argparse import Namespace

from umbel_client.commands import outputs
from umbel_client.commands.outputs import put, say
from umbel_client.commands.plugged import of_service, text_of
from umbel_client.commands.values import unknown
from umbel_client.core.runs import facts_in
from umbel_client.errors import InputError
from umbel_client.methods import GROUPS, METHODS, documentation


def methods(arguments: Namespace) -> None:
    """`umbel methods`."""

    def text(method: str) -> str:
        entry = plugged.methods.get(method)
        whole = documentation(method) if entry is None else text_of(entry)
        # What all methods have are options of the command, under other names.
        return whole.partition("\npreprocess, then, support,")[0].rstrip()

    plugged = of_service(arguments.url) if arguments.url else arguments.installed()
    every = {**METHODS, **{name: facts_in(entry) for name, entry in plugged.methods.items()}}
    if arguments.method is not None:
        if arguments.method not in every:
            raise InputError("method", unknown(arguments.method))
        facts = every[arguments.method]
        body = {
            "id": arguments.method,
            "inputs": list(facts.inputs),
            "params": list(facts.params),
            "outputs": _leaves(text(arguments.method)),
            "description": text(arguments.method),
        }
        hint = f"`umbel run {arguments.method} --help` has them, and what all take, as options."
        put(body, arguments.json, f"{arguments.method}\n\n{text(arguments.method)}\n\n{hint}")
        return
    groups = {**GROUPS, "of plug-ins": tuple(plugged.methods)}
    rows = [
        {
            "id": method,
            "group": group,
            "inputs": list(every[method].inputs),
            "title": " ".join(text(method).partition("\n\n")[0].split()),
        }
        for group, names in groups.items()
        for method in names
    ]
    texts = []
    for group, names in groups.items():
        if names:
            columns = [
                {"id": f"  {row['id']}", "title": row["title"]}
                for row in rows
                if row["group"] == group
            ]
            texts.append(f"{group}:\n{outputs.shown(columns, titles=False)}")
    hint = "`umbel methods hac`, or `umbel run hac --help`, says what one takes."
    put(rows, arguments.json, "\n\n".join([*texts, hint]))
    for sentence in plugged.sentences():
        say(sentence)


def _leaves(text: str) -> list[str]:
    """What a job of a method leaves, by its documentation."""
    return text.partition("Leaves: ")[2].partition(".")[0].replace("\n", " ").split(", ")
