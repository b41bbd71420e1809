"""Methods that this client does not know, from plug-ins of a service or of this environment.

They are described as in `GET /v1/methods` and in `plugins` of `GET /v1/version`: by the service of
--url or UMBEL_URL, else by the server that is installed beside the client, if one is.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from umbel_client.methods import METHODS

T = TypeVar("T")


class _Open:
    """Choices that help and completion know; others are accepted, too, and looked for later."""

    def __contains__(self, name: object) -> bool:
        return True


class KnownNames(_Open, tuple[str, ...]):
    """Names."""

    __slots__ = ()


class KnownParsers(_Open, dict[str, T]):
    """Parsers of commands by name."""


@dataclass(frozen=True)
class Plugged:
    """methods : entries of the catalogue by id. left_out : plug-ins with a problem."""

    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    left_out: Sequence[Mapping[str, Any]] = ()

    def sentences(self) -> list[str]:
        """What was left out, and why."""
        return [
            f"Left out: {each['name']} of {each['distribution']} {each['version']}: "
            f"{each['problem']}"
            for each in self.left_out
        ]


Installed: TypeAlias = Callable[[], Plugged]
"""What is installed in this environment."""


def of_service(url: str) -> Plugged:
    """The methods of a service that this client does not know. Raises as calls of the client."""
    from umbel_client.client import Umbel

    with Umbel(url) as umbel:
        others = {name: one for name, one in umbel.catalogue().items() if name not in METHODS}
        plugins: Any = umbel.version()
    return Plugged(others, [each for each in plugins.get("plugins", ()) if each["problem"]])


def plugged_of(arguments: argparse.Namespace) -> Plugged:
    """Those that a command can use: of the service of --url or UMBEL_URL, else what is installed.
    Raises as `of_service`."""
    own = arguments.data_dir is not None
    url = arguments.url or (None if own else os.environ.get("UMBEL_URL"))
    found: Plugged = arguments.installed() if url is None else of_service(url)
    return found


def service_in(words: Sequence[str], installed: Installed) -> argparse.Namespace:
    """What `plugged_of` reads, from the words of a command that are not parsed yet."""
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("--url")
    options.add_argument("--data-dir")
    return options.parse_known_args(words, argparse.Namespace(installed=installed))[0]


def text_of(entry: Mapping[str, Any]) -> str:
    """A method's description and what it takes, as the client's own docstrings have them."""
    taken = {name: each["description"] for name, each in entry["inputs"].items()}
    for name, each in entry["params"].get("properties", {}).items():
        taken[name] = each.get("description", "")
    lines = [f"{name} : {text}" for name, text in taken.items()]
    leaves = f"Leaves: {', '.join(entry['outputs'])}."
    return "\n".join([entry["description"], "", leaves, "", *lines])
