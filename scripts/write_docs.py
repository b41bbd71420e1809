"""Write the pages of `docs/` that are generated from the code: `make docs`. A test checks them.

`docs/methods/<id>.md` is generated as a whole. In `docs/operations.md` only the tables between
`<!-- begin NAME -->` and `<!-- end NAME -->` are generated.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import cleandoc
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from app.cli import parser
from app.http.problems import KINDS
from app.settings import Settings
from models.method import Method
from models.registry import built_in
from models.running.packages import OPTIONAL
from workers.settings import WorkerSettings

DOCS = Path(__file__).parent.parent / "docs"
OPERATIONS = DOCS / "operations.md"


def pages() -> dict[Path, str]:
    """The expected content of every generated page, by path."""
    written = {
        DOCS / "methods" / f"{method.id}.md": _method_page(method) for method in built_in().values()
    }
    return {
        **written,
        DOCS / "methods" / "README.md": _method_index(),
        OPERATIONS: _with_tables(OPERATIONS.read_text("utf-8")),
    }


def _method_index() -> str:
    lines = [
        "# Methods",
        "",
        "One page a method, generated from the code by `make docs`; `GET /v1/methods` has it too.",
    ]
    by_family = sorted(built_in().values(), key=lambda method: (method.family, method.id))
    for family, members in groupby(by_family, key=lambda method: method.family):
        rows = [
            (f"[`{method.id}`]({method.id}.md)", method.title, _first_sentence(method))
            for method in members
        ]
        lines += ["", f"## {family}", "", *_table(("method", "name", "what it does"), rows)]
    return "\n".join(lines) + "\n"


def _method_page(method: Method[Any]) -> str:
    where = f", {method.paper.where}" if method.paper.where else ""
    lines = [
        f"# {method.title} (`{method.id}`)",
        "",
        f"Family: {method.family}. Source: *{method.paper.title}* ({method.paper.year}{where}).",
        "",
        _docstring(method),
        "",
        "## Inputs",
        "",
        *_table(("role", "needed", "sparse", "what it is"), _inputs(method)),
        "",
        "## Parameters",
        "",
        *_table(("name", "accepted", "default", "what it does"), _parameters(method)),
        "",
        "## A job leaves",
        "",
        f"{', '.join(method.outputs)}. "
        + (
            f"New rows can be placed in the tree: a row goes to {method.placing}."
            if method.predicts
            else "It does not predict."
        )
        + (" Rows can be transformed into a new dataset." if method.transforms else "")
        + "".join(_needs(method)),
    ]
    return "\n".join(lines) + "\n"


def _needs(method: Method[Any]) -> Iterator[str]:
    """The sentences on extras of the server, each after a space."""
    for extra in _extras(method.needs):
        yield f" It needs the extra `{extra}` of the server."
    for parameter, values in method.needs_of_values.items():
        for extra in _extras(name for needed in values.values() for name in needed):
            listed = " and ".join(f"`{value}`" for value in values)
            yield f" The values {listed} of `{parameter}` need the extra `{extra}`."


def _extras(needed: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(OPTIONAL[name].extra for name in needed))


def _docstring(method: Method[Any]) -> str:
    return cleandoc(sys.modules[type(method).__module__].__doc__ or "")


def _first_sentence(method: Method[Any]) -> str:
    return " ".join(_docstring(method).split("\n\n")[0].split())


def _inputs(method: Method[Any]) -> Iterator[tuple[str, ...]]:
    for role, described in method.inputs.items():
        yield (
            f"`{role}`",
            _needed(method, role),
            "yes" if described.sparse else "no",
            described.description,
        )


def _needed(method: Method[Any], role: str) -> str:
    if role in method.one_of:
        return "one of these"
    if role in method.some_of:
        return "at least one of these"
    return "yes" if method.inputs[role].required else "no"


def _parameters(method: Method[Any]) -> Iterator[tuple[str, ...]]:
    schema = method.Params.model_json_schema()
    for name, entry in schema["properties"].items():
        default = "none" if entry.get("default") is None else f"`{entry['default']}`"
        yield f"`{name}`", _accepted(entry, schema), default, entry.get("description", "")


def _accepted(entry: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The values that a JSON Schema accepts, in words."""
    if "$ref" in entry:
        return _accepted(schema["$defs"][entry["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in entry:
        return " or ".join(_accepted(part, schema) for part in entry["anyOf"])
    if "enum" in entry or "const" in entry:
        return ", ".join(f"`{value}`" for value in entry.get("enum", [entry.get("const")]))
    bounds = [
        f"{sign} {entry[key]:,}"
        for key, sign in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if key in entry
    ]
    return ", ".join([str(entry.get("type", "any")), *bounds])


def _settings(model: type[WorkerSettings], left_out: set[str]) -> list[str]:
    rows = [
        (f"`UMBEL_{name.upper()}`", _default(field), field.description or "")
        for name, field in model.model_fields.items()
        if name not in left_out
    ]
    return _table(("variable", "default", "what it sets"), rows)


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None or field.default is PydanticUndefined:
        return "of the machine"
    value = field.default
    if hasattr(value, "get_secret_value"):
        value = value.get_secret_value()
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    if isinstance(value, Path):
        return "a folder for temporary files"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1 << 20:
        return f"{value >> 20:,} MiB" if value < 1 << 30 else f"{value >> 30:,} GiB"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value in (None, "") else f"`{value}`"


def _worker_settings() -> list[str]:
    return _settings(WorkerSettings, set())


def _api_settings() -> list[str]:
    return _settings(Settings, set(WorkerSettings.model_fields))


def _problems() -> list[str]:
    rows = [(f"`{code}`", str(status), title) for code, (status, title, _) in KINDS.items()]
    return _table(("type", "status", "title"), rows)


def _commands() -> list[str]:
    actions = next(group for group in parser()._actions if group.choices)
    rows = [(f"`umbel {action.dest}`", action.help or "") for action in actions._choices_actions]
    return _table(("command", "what it does"), rows)


TABLES: Mapping[str, Callable[[], list[str]]] = {
    "commands": _commands,
    "worker settings": _worker_settings,
    "API settings": _api_settings,
    "problems": _problems,
}


def _with_tables(text: str) -> str:
    for name, table in TABLES.items():
        block = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        lines = "\n".join(table())
        text, n_blocks = block.subn(
            lambda match, lines=lines: f"{match[1]}{lines}\n{match[2]}", text
        )
        if n_blocks != 1:
            raise ValueError(f"docs/operations.md has {n_blocks} blocks for the table {name!r}")
    return text


def _table(titles: tuple[str, ...], rows: Any) -> list[str]:
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    expected = {path for path in pages() if path.parent.name == "methods"}
    for path in (DOCS / "methods").glob("*.md"):
        if path not in expected:
            path.unlink()
