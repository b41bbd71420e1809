"""What commands have in common: their help, the options of the service, and when work is loaded."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from umbel_client.quoting import shown
from umbel_client.settings import DEFAULT_URL

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[Any]
else:
    Commands = Any

EXIT_CODES = """\
exit status: 0 done; 1 the service refused it, or the job failed; 2 a wrong argument or input;
3 no service can be reached; 4 --wait-s is over, the job goes on; 5 a condition of --fail-if or
--fail-under holds; 130 interrupted (Ctrl-C)."""

OWN_SERVICE = (
    "Uses the service of UMBEL_URL (key: UMBEL_KEY) or --url; without one, starts a service for "
    f"the moment. A running `umbel serve` is --url {DEFAULT_URL}."
)


_MOST_LISTED = 15
"""Choices that a refusal lists."""


class Parser(argparse.ArgumentParser):
    """A parser of a command, which itself refuses what it does not know, and names what is near.

    parameters : options that a refusal lists, since they are what the command is about.
    """

    parameters: Sequence[str] = ()

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        first = next(iter(sys.argv[1:] if args is None else args), "")
        name = first.partition("=")[0]
        own = [option for each in self._actions for option in each.option_strings]
        # Else the command would be what is missing.
        if self._subparsers and name[:2] == "--" and not any(o.startswith(name) for o in own):
            self.error(self._unrecognized([first]))
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unrecognized(unknown))
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            names = [str(each) for each in action.choices or ()]
            near = difflib.get_close_matches(str(value), names, n=3)
            meant = f". Is {' or '.join(map(shown, near))} meant?" if near else "."
            if len(names) > _MOST_LISTED:
                error.message = f"invalid choice: {shown(str(value))}"
                meant += f" `{self.prog} --help` lists all."
            error.message += meant
            raise

    def _unrecognized(self, words: Sequence[str]) -> str:
        options = list(dict.fromkeys(w[2:].partition("=")[0] for w in words if w[:2] == "--"))
        own = [
            next((o for o in each.option_strings if o[:2] == "--"), each.option_strings[0])
            for each in self._actions
            if each.option_strings
        ]
        # Without the dashes, in which all are alike.
        bare = {option.lstrip("-"): option for option in own}
        near = [bare[name] for w in options for name in difflib.get_close_matches(w, bare, n=1)]
        text = f"unrecognized arguments: {' '.join(words)}."
        if near:
            text += f" Is {' or '.join(near)} meant?"
        if options and self.parameters:
            text += f" The parameters of `{self.prog}` are {', '.join(self.parameters)}."
        return text


def at_least_one(text: str) -> int:
    """How many things a list has, as argparse reads it."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is no whole number from 1")
    return value


def seconds(text: str) -> float:
    """The most time to wait, as argparse reads it."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"{shown(text)} is no number of seconds from 0")
    return value


class LateParsers(argparse._SubParsersAction):  # type: ignore[type-arg]
    """Commands whose parsers are made when they are named, because there are many."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._makers: dict[str, Callable[[], None]] = {}

    def offer(self, name: str, text: str, make: Callable[[], None]) -> None:
        """List a command with its text in the help. make : adds its parser."""
        self._choices_actions.append(self._ChoicesPseudoAction(name, (), text))
        self._makers[name] = make

    def make(self, name: str) -> None:
        """Make the parser of a command that is offered and not yet made."""
        if (maker := self._makers.pop(name, None)) is not None:
            maker()
            self.choices[name] = self._name_parser_map[name]

    def make_all(self) -> None:
        """Make all, for what looks through them."""
        for name in list(self._makers):
            self.make(name)


class Grouped(argparse.RawDescriptionHelpFormatter):
    """Help in which commands stand in groups.

    titles : the title of a group by the name of its first command.
    """

    titles: Mapping[str, str] = {}

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        # Only the entries of a list of commands have neither options nor a place.
        entry = type(action).__name__ == "_ChoicesPseudoAction"
        title = self.titles.get(action.dest) if entry else None
        return text if title is None else f"\n  {title}:\n{text}"


_MADE = {
    "tr": ("a tree", "`umbel run` makes one, `umbel import FILE` keeps that of a file"),
    "md": ("a model", "`umbel run` makes one"),
    "cmp": ("a comparison", "`umbel compare` makes one"),
    "cal": ("a calibration", "`umbel calibrate` makes one"),
    "dr": ("a drift", "`umbel drift` makes one"),
    "at": ("an attachment", "`umbel attach` makes one"),
}
"""What an id stands for, by its prefix, and where it comes from."""


def kept(*prefixes: str) -> Callable[[str], str]:
    """The type of an argument that is the id of what a service keeps, of these prefixes, or the
    alias of a tree."""

    def own(text: str) -> str:
        aliased = text.startswith("@") and not {"tr", "md"}.isdisjoint(prefixes)
        if aliased or text.partition("_")[0] in prefixes:
            return text
        things = " or ".join(_MADE[prefix][0] for prefix in prefixes)
        ids = ", ".join(f"{prefix}_..." for prefix in prefixes)
        file = ""
        with suppress(OSError):  # Such as a name that is too long.
            file = "a file, " if Path(text).is_file() else ""
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is {file}not the id of {things} ({ids}); {_MADE[prefixes[0]][1]}, "
            "`umbel list` shows what there is."
        )

    return own


def command(commands: Commands, name: str, sentence: str) -> argparse.ArgumentParser:
    """A command with its help."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=sentence,
        description=f"{sentence[0].upper()}{sentence[1:]}.\n\n{OWN_SERVICE}",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def service_options(parser: argparse.ArgumentParser) -> None:
    """Add what every command takes that calls a service."""
    group = parser.add_argument_group("service")
    group.add_argument("--url", help="the address; default: UMBEL_URL")
    group.add_argument(
        "--data-dir",
        metavar="FOLDER",
        help="where the service that the command starts keeps its data; without: nowhere",
    )
    group.add_argument("--json", action="store_true", help="results as JSON, for other programs")
    group.add_argument("--quiet", action="store_true", help="no progress and no sentences")


def table_options(parser: argparse.ArgumentParser) -> None:
    """Add what every command takes that uploads files: what is what in a table."""
    group = parser.add_argument_group("tables", "of CSV, Arrow, Parquet, JSON and Excel files")
    group.add_argument(
        "--columns",
        action="append",
        metavar="NAMES",
        help="the features or logits, comma-separated; several times for names with commas",
    )
    for role, text in (
        ("id", "the ids of the rows"),
        ("label", "the labels"),
        ("text", "the texts"),
        ("weight", "the weights of the rows"),
    ):
        group.add_argument(f"--{role}-column", metavar="NAME", help=f"the column with {text}")
    group.add_argument("--delimiter", metavar="MARK", help="between the cells of a CSV file")
    group.add_argument("--decimal", metavar="MARK", help="before decimals in a CSV file: . or ,")
    group.add_argument("--thousands", metavar="MARK", help="between groups of digits in a CSV file")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line of a CSV file is its header",
    )


def work_options(parser: argparse.ArgumentParser, what: str = "its", *, waits: bool = True) -> None:
    """Add what every command takes that asks for work. what : whose name it is. waits : whether the
    work may take long."""
    group = parser.add_argument_group("description")
    described_options(group, what)
    group.add_argument("--webhook", metavar="URL", help="an address that hears of the end")
    again = parser.add_argument_group("retries", "where an attempt ends for a reason that may pass")
    again.add_argument("--attempts", type=int, help="the most; default: as the service does")
    again.add_argument(
        "--backoff", type=float, metavar="S", help="seconds before the second, doubled each time"
    )
    again.add_argument(
        "--retry-on", action="append", metavar="REASON", help="such as worker-lost; several times"
    )
    if waits:
        parser.add_argument(
            "--wait-s", type=seconds, metavar="SECONDS", help="the most time to wait"
        )


CONDITION = "NAME < NUMBER, with <, <=, >, >=, == or !="


def condition_options(
    parser: argparse.ArgumentParser, example: str, *, under: bool = False, report: bool = False
) -> None:
    """Add --fail-if, --junit, where scores are results --fail-under, and --report where there are
    reports of what was made."""
    group = parser.add_argument_group(
        "in pipelines", "the exit status is 5 where the work was done and a condition holds"
    )
    group.add_argument(
        "--fail-if",
        action="append",
        metavar="CONDITION",
        default=[],
        help=f"{CONDITION}, as {example!r}; 'and' and 'or' join several ('and' first), as "
        "does the option given several times: one that holds is enough. A figure without a value "
        "counts as one that holds",
    )
    if under:
        group.add_argument(
            "--fail-under",
            action="append",
            metavar="NAME=NUMBER",
            default=[],
            help="as --fail-if 'NAME < NUMBER'",
        )
    group.add_argument("--junit", metavar="FILE", help="every condition as a test, as JUnit's XML")
    if report:
        report_option(group)


def report_option(group: argparse._ActionsContainer) -> None:
    """Add --report."""
    group.add_argument(
        "--report", metavar="FILE", help="also a report as one HTML file, pictures inside"
    )


def described_options(parser: argparse._ActionsContainer, what: str = "its") -> None:
    """Add the description of a thing that the service keeps, and when it may be removed."""
    parser.add_argument("--title", help=f"{what} name")
    parser.add_argument("--description", help="a note")
    parser.add_argument("--tag", action="append", default=[], help="several times: several")
    parser.add_argument(
        "--expires-at", metavar="TIME", help="when it may be removed: 2030-01-31T12:00:00Z"
    )


class Late:
    """A function of a module of work, which is loaded when it is called: help needs nothing of it.

    name : of the function. module : of `umbel_client.commands`.
    """

    def __init__(self, name: str, module: str = "work") -> None:
        self._name = name
        self._module = module

    def __call__(self, arguments: argparse.Namespace) -> int:
        from umbel_client.commands import work

        module = import_module(f"umbel_client.commands.{self._module}")
        return work.guarded(getattr(module, self._name), arguments)
