"""From text on the command line to inputs, parameters and options."""

from __future__ import annotations

import atexit
import csv
import json
import re
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from umbel_client import line_files
from umbel_client.errors import InputError
from umbel_client.imports import tree_in
from umbel_client.inputs import COLUMNS, TABLE_OPTIONS, TEXTS, TREE, TREE_TEXT, File, is_id
from umbel_client.methods import METHODS
from umbel_client.quoting import shown
from umbel_client.tables import ROLES

STANDARD_INPUT = "-"
"""In place of a file: standard input, whose form is found by its content."""

CUTS = ("k", "height", "level", "levels")
PICTURES = ("shape", "px", "depth", "color_by", "title", "theme")


MARKS = ("delimiter", "decimal", "thousands", "header")
"""Options of tables that say how a CSV file is written."""

MATRICES = frozenset({*ROLES, "rows"})
"""Roles of tables of which columns are chosen; `rows` are new ones for a model."""

_OWN = {"labels": "label_column", "names": "id_column", "documents": "text_column"}
"""The column that is the value of a role which takes one."""


def table_of(arguments: Namespace) -> dict[str, Any]:
    """The options of `table_options` that were given, as of `TableOptions`."""
    options = {
        name: value
        for name in TABLE_OPTIONS
        if (value := getattr(arguments, name, None)) is not None
    }
    if "columns" in options:
        options["columns"] = [name for text in options["columns"] for name in _listed(text)]
    if options.get("delimiter") in ("tab", r"\t"):
        options["delimiter"] = "\t"
    return options


def _listed(text: str) -> list[str]:
    """Names with commas between them, quoted as in CSV where one has a comma."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def input_of(role: str, text: str, table: Mapping[str, Any] | None = None) -> Any:
    """The input of a role: the id of what the service has, or a file.

    table : what is what in a file, as of `TableOptions`.

    A file `.txt` of one value a line is read here; `x.npz:labels` is one array of several, or one
    column; `-` is standard input. Raises InputError for a file that cannot be read as text, and for
    an id with options of a table.
    """
    options = dict(table or {})
    path, separator, member = text.rpartition(":")
    if STANDARD_INPUT in (text, path):
        file = standard_input(role)
        begin = line_files.beginning(file)
        plain = text == STANDARD_INPUT and role in COLUMNS and not line_files.is_packed(file)
        if plain and _is_lines(role, begin):
            return lines(role, file)
        own = member if path == STANDARD_INPUT else None
        return File(file, member=own, media_type=line_files.media_type_of(begin), **options)
    if separator and path and not Path(text).exists() and Path(path).exists():
        return File(path, member=member, **options)
    if role in COLUMNS and Path(text).suffix.lower() == ".txt" and Path(text).is_file():
        is_tree = role == TREE and TREE_TEXT.match(line_files.beginning(Path(text)))
        return File(text) if is_tree else lines(role, Path(text))
    if options and is_id(text):
        raise InputError(
            role, f"{text} has been uploaded; give a file, or leave out {', '.join(options)}."
        )
    return File(text, **options) if options else text


def taken(role: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """What of the options of a table is of a file of this role: of a matrix all, of one value a row
    its own column, of others how a CSV file is written."""
    if role in MATRICES:
        return dict(table)
    return {name: value for name, value in table.items() if name in MARKS or name == _OWN.get(role)}


def is_file(text: str) -> bool:
    """Whether text names a file, one array or column of one, or standard input."""
    path, separator, _ = text.rpartition(":")
    return (
        text == STANDARD_INPUT or Path(text).is_file() or bool(separator and Path(path).is_file())
    )


def standard_input(role: str) -> Path:
    """Standard input as a file, which goes with the process.

    Raises InputError where nothing comes, as where another argument has read it already.
    """
    folder = Path(tempfile.mkdtemp(prefix="umbel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "standard-input"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    if not path.stat().st_size:
        raise InputError(role, "nothing came on standard input; `-` can be given once.")
    return path


def _is_lines(role: str, text: str) -> bool:
    """Whether text is a value a line: it begins no JSON and, but where values are written by
    people, has no commas or tabs, by which lines would have columns."""
    odd = set() if role in TEXTS else {"\t", ","}
    return bool(text) and not odd & set(text) and text[0] not in "[{@"


def lines(role: str, path: Path) -> list[Any]:
    """As `umbel_client.line_files.lines`."""
    return line_files.lines(role, path, TEXTS)


def tree_of(text: str) -> Any:
    """A tree for `import_tree`: that of a file, or of standard input.

    Raises InputError for what is none of them.
    """
    if text == STANDARD_INPUT:
        return _standard_tree(standard_input("tree"))
    path = Path(text)
    if not path.is_file():
        raise InputError("tree", f"{shown(text)} is neither the id of a tree (tr_...) nor a file.")
    return tree_in(path)


def _standard_tree(path: Path) -> Any:
    """A tree in a file without an ending: a linkage matrix, JSON, Newick text or class paths.

    Raises InputError for content that is neither an array nor text.
    """
    content = path.read_bytes()
    if content.startswith(b"\x93NUMPY"):
        import numpy as np

        try:
            return np.load(path, allow_pickle=False)
        except ValueError as error:
            raise InputError("tree", f"standard input cannot be read: {error}.") from None
    try:
        text = line_files.decoded(content, "standard input").strip()
    except UnicodeDecodeError as error:
        raise InputError("tree", f"standard input is neither an array nor text: {error}.") from None
    try:
        # Newick text may begin with a comment in brackets, which is no JSON.
        return json.loads(text)
    except (ValueError, RecursionError):
        return text if text.endswith(";") else text.splitlines()


def parameter_of(text: str) -> Any:
    """A parameter as JSON (`12`, `true`, `[64, 32]`), else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def unknown(name: str) -> str:
    """The sentence that there is no such method, with those that are near."""
    import difflib

    near = difflib.get_close_matches(name, METHODS, n=3)
    meant = f" Is {' or '.join(map(shown, near))} meant?" if near else ""
    return f"there is no method {shown(name)}.{meant} `umbel methods` lists them."


def assignments_of(what: str, text: str, known: tuple[str, ...]) -> dict[str, Any]:
    """`a=1,b=x` as a mapping. A value may contain commas: `levels=5,20,80`.

    Raises InputError for a name that is not among the known ones, and for text without `=`.
    """
    values: dict[str, str] = {}
    name = ""
    for part in text.split(","):
        first, separator, rest = part.partition("=")
        if separator and first.strip() in known:
            name = first.strip()
            values[name] = rest
        elif name and (not separator or not first.strip().isidentifier()):
            values[name] += f",{part}"
        else:
            raise InputError(
                what, f"{shown(part)} is none of {', '.join(f'{each}=' for each in known)}"
            )
    return dict(values)


def without_zeros(number: str) -> str:
    """3.0 as 3, which the service takes for whole, too."""
    return re.sub(r"(?<=\d)\.0+(?=\s*$)", "", number)


def require_numbers(what: str, values: Mapping[str, str]) -> None:
    """Raises InputError for a value of a cut that is no number; all but heights are whole."""
    for name, text in values.items():
        kind: type[float] = float if name == "height" else int
        for part in text.split(",") if name == "levels" else (text,):
            try:
                kind(part if name == "levels" else without_zeros(part))
            except ValueError:
                number = "number" if kind is float else "whole number"
                raise InputError(what, f"{name} is a {number}, not {shown(part)}.") from None


def compared(text: str, others: Callable[[], Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]]:
    """A run of a comparison: `kmeans`, or `kmeans:n_clusters=10,seed=1`.

    others : gives the catalogue's entries of methods that the client does not know. Raises
    InputError for a method that is in neither.
    """
    method, _, params = text.partition(":")
    facts = METHODS.get(method)
    if facts is None:
        entry = others().get(method)
        if entry is None:
            raise InputError("method", unknown(method))
        known = tuple(entry["params"].get("properties", {}))
    else:
        known = facts.params
    values = assignments_of(method, params, known) if params else {}
    return method, {name: parameter_of(value) for name, value in values.items()}


def node_of(option: str, text: str) -> int:
    """The id of a node. Raises InputError for what is no number."""
    try:
        return int(text)
    except ValueError:
        raise InputError(option, f"{shown(text)} is no node; nodes are numbers.") from None


def nodes_of(option: str, text: str) -> list[int]:
    """The ids of nodes between commas. Raises InputError as `node_of`."""
    return [node_of(option, part) for part in text.split(",")]
