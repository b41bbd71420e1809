"""`umbel place`: what hangs out of place in a hierarchy of classes."""

from __future__ import annotations

from argparse import Namespace

from umbel_client.commands import conditions, outputs
from umbel_client.commands.outputs import put
from umbel_client.commands.work import given, require_table, service, work_of


def place(arguments: Namespace) -> None:
    """`umbel place`."""
    hierarchy = given("hierarchy", arguments.hierarchy, arguments)
    required = conditions.conditions_of(arguments)
    picture = outputs.is_svg(arguments.out)
    if picture:
        outputs.require_place(arguments.out)
    else:
        require_table(arguments.out)
    with service(arguments, kept=True) as umbel:
        placed = umbel.tree(arguments.tree).place_in(
            hierarchy, level=arguments.level, **work_of(arguments)
        )
        if picture:
            outputs.saved(placed.svg.encode(), arguments.out)
        elif arguments.out:
            outputs.table([*placed.classes, *placed.subtrees], arguments.out)
        columns = ("what", "name", "under_name", "place_name", "margin", "p_value", "odd")
        shown = [
            {name: item[name] for name in columns} for item in [*placed.classes, *placed.subtrees]
        ]
        text = outputs.shown(shown) if shown else "Nothing can be judged."
        put(placed.body, arguments.json, f"{placed.id}\n\n{text}")
        outputs.warn(placed.warnings, arguments.quiet)
        conditions.judge(arguments, required, placed.body["result"], "place")
