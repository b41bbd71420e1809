"""Conditions under which a command fails, for pipelines: `--fail-if "mass.p_value < .01"`."""

from __future__ import annotations

import argparse
import difflib
import math
import operator
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from umbel_client.commands import outputs
from umbel_client.commands.options import CONDITION
from umbel_client.commands.outputs import say
from umbel_client.comparison import Comparison
from umbel_client.errors import InputError, UmbelError
from umbel_client.quoting import shown

_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

_SHORT = {"p": "p_value"}
"""Other names of the last part of a figure's name."""


class ConditionHolds(UmbelError):
    """The work was done, and a condition of --fail-if or --fail-under holds."""


@dataclass(frozen=True)
class Compared:
    """A figure of the result compared with a number."""

    name: str
    sign: str
    number: float

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {self.number:g}"

    def holds(self, value: float | None) -> bool:
        """Whether it does; it does for a figure without a value."""
        return value is None or _COMPARED[self.sign](value, self.number)


@dataclass(frozen=True)
class Condition:
    """Comparisons, of which all of one of the groups must hold. option : where it was given."""

    option: str
    groups: tuple[tuple[Compared, ...], ...]

    def __str__(self) -> str:
        return " or ".join(" and ".join(map(str, group)) for group in self.groups)

    def names(self) -> Sequence[str]:
        """The figures that it compares, each once."""
        return list(dict.fromkeys(each.name for group in self.groups for each in group))

    def holds(self, values: Mapping[str, float | None]) -> bool:
        """Whether it does with these figures."""
        return any(all(each.holds(values[each.name]) for each in group) for group in self.groups)


def conditions_of(arguments: argparse.Namespace) -> list[Condition]:
    """The conditions of a command, before any work. Raises InputError for one that is none."""
    found = []
    for text in arguments.fail_if:
        groups = tuple(
            tuple(_comparison(part, text) for part in re.split(r"\s+and\s+", group))
            for group in re.split(r"\s+or\s+", text)
        )
        found.append(Condition("--fail-if", groups))
    for text in getattr(arguments, "fail_under", ()):
        name, _, value = text.partition("=")
        number = _number(value)
        if not name.strip() or number is None:
            raise InputError("--fail-under", f"{shown(text)} is not NAME=NUMBER.")
        found.append(Condition("--fail-under", ((Compared(name.strip(), "<", number),),)))
    if arguments.junit is not None:
        if not found:
            raise InputError("--junit", "there is no condition: give --fail-if.")
        outputs.require_place(arguments.junit)
    if getattr(arguments, "report", None) is not None:
        outputs.require_place(arguments.report)
    return found


def _comparison(part: str, text: str) -> Compared:
    """part : of the condition `text`. Raises InputError for what is no comparison."""
    parts = re.fullmatch(r"\s*([\w.\-]+)\s*(<=|>=|==|!=|<|>)\s*(\S+)\s*", part)
    number = None if parts is None else _number(parts[3])
    if parts is None or number is None:
        where = "" if part == text else f", in {shown(text)}"
        raise InputError(
            "--fail-if", f"{shown(part)}{where} is not {CONDITION}; 'and' and 'or' join several."
        )
    return Compared(parts[1], parts[2], number)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def figures_of(result: Mapping[str, Any]) -> dict[str, float | None]:
    """The numbers of a result by dotted names; what is in a list of aspects has the aspect's name.

    `{"n_moves": 2, "aspects": [{"aspect": "mass", "p_value": .1}]}` has `n_moves` and
    `mass.p_value`. True and False are 1 and 0; None stays. Cost: the size of the result.
    """
    return dict(_figures(result))


def figures_of_runs(comparison: Comparison) -> dict[str, Any]:
    """The means of the metrics of each run by its method, `hac.nmi`, of a further run of a method
    by its number, `hac-2.nmi`, and the best of all runs, `best.nmi`."""
    figures: dict[str, Any] = {}
    for row in comparison.table:
        number = 1
        while (name := row["method"] + (f"-{number}" if number > 1 else "")) in figures:
            number += 1
        figures[name] = {metric: own["mean"] for metric, own in row["metrics"].items()}
    means = [row["metrics"] for row in comparison.table]
    best = {metric: means[row][metric]["mean"] for metric, row in comparison.best.items()}
    return {**figures, "best": best}


def _figures(result: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    waiting: list[tuple[str, Mapping[str, Any]]] = [("", result)]
    while waiting:
        prefix, mapping = waiting.pop()
        for name, value in mapping.items():
            if value is None or isinstance(value, (bool, int, float)):
                yield f"{prefix}{name}", None if value is None else float(value)
            elif isinstance(value, Mapping):
                waiting.append((f"{prefix}{name}.", value))
            elif isinstance(value, list):
                waiting += [
                    (f"{prefix}{each['aspect']}.", each)
                    for each in value
                    if name == "aspects" and isinstance(each, Mapping) and "aspect" in each
                ]


def judge(
    arguments: argparse.Namespace,
    conditions: Sequence[Condition],
    result: Mapping[str, Any],
    command: str,
) -> None:
    """Write --junit, and one line for each condition on standard error, as an annotation where the
    command runs in a workflow of GitHub.

    Raises InputError for a figure that the result has not; ConditionHolds.
    """
    if not conditions:
        return
    figures = figures_of(result)
    held = []
    judged = []
    for condition in conditions:
        values = {name: _figure(condition.option, name, figures) for name in condition.names()}
        holds = condition.holds(values)
        read = ", ".join(
            f"{name} has no value" if value is None else f"{name} is {value:.6g}"
            for name, value in values.items()
        )
        sentence = f"{condition}: {read}"
        judged.append((condition, holds, sentence))
        if holds:
            held.append(sentence)
            if outputs.in_workflow():
                say(outputs.annotation("error", sentence, command))
        say(f"  {'failed ' if holds else 'passed  not'} {sentence}", arguments.quiet)
    if arguments.junit is not None:
        outputs.saved(_junit(command, judged), arguments.junit)
    if held:
        raise ConditionHolds(f"{command}: {'; '.join(held)}.")


def _figure(option: str, name: str, figures: Mapping[str, float | None]) -> float | None:
    prefix, dot, last = name.rpartition(".")
    whole = f"{prefix}{dot}{_SHORT.get(last, last)}"
    for own in (name, whole):
        if own in figures:
            return figures[own]
    near = difflib.get_close_matches(whole, figures, n=1)
    meant = f" Is {shown(near[0])} meant?" if near else ""
    raise InputError(
        option,
        f"the result has no figure {shown(name)}; it has {', '.join(sorted(figures))}.{meant}",
    )


def _junit(command: str, judged: Sequence[tuple[Condition, bool, str]]) -> bytes:
    suite = ElementTree.Element(
        "testsuite",
        name=f"umbel {command}",
        tests=str(len(judged)),
        failures=str(sum(holds for _, holds, _ in judged)),
        errors="0",
    )
    for condition, holds, sentence in judged:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"umbel.{command}", name=f"fails if {condition}"
        )
        if holds:
            ElementTree.SubElement(case, "failure", message=sentence)
        else:
            ElementTree.SubElement(case, "system-out").text = sentence
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))
