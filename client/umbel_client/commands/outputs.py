"""Results as files, on the terminal, and as JSON for other programs."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from umbel_client.calibration import Calibration
from umbel_client.comparison import Comparison
from umbel_client.drift import Drift
from umbel_client.errors import InputError, UmbelWarning
from umbel_client.quoting import as_options, path_shown, plain
from umbel_client.report import report
from umbel_client.tree import Tree

PICTURES = (".svg", ".png", ".pdf")
TREE_FORMS = (
    *(".nwk", ".nex", ".json", ".arrow", ".parquet", ".graphml", *PICTURES),
    *(".linkage.npy", ".hclust.json"),
)
ASSIGNMENT_FORMS = (".csv", ".npy")


def form_of(path: str) -> str:
    """The form that the ending of a file asks for. Raises InputError for an ending that is none."""
    path, standard = standard_form(path)
    if standard and not path:
        return ".nwk"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    several = "".join(suffixes[-2:])
    if several in (".linkage.npy", ".hclust.json"):
        return several
    suffix = suffixes[-1] if suffixes else ""
    if suffix in TREE_FORMS or suffix in ASSIGNMENT_FORMS:
        return suffix
    accepted = ", ".join((*TREE_FORMS, *ASSIGNMENT_FORMS))
    raise InputError(
        "--out", f"{path_shown(path)} ends with {suffix or 'nothing'}; accepted are {accepted}."
    )


STANDARD_OUTPUT = "-"
"""In place of a file: standard output, as Newick or CSV; `svg:-` in another form."""


def standard_form(path: str) -> tuple[str, bool]:
    """What says the form, and whether it goes to standard output: ".svg" for `svg:-`, "" for `-`;
    else the path."""
    form, separator, rest = path.rpartition(":")
    if rest != STANDARD_OUTPUT or (separator and not re.fullmatch(r"[\w.]+", form)):
        return path, False
    # The stem is there for pathlib, to which ".svg" is a hidden file without an ending.
    return f"-.{form}" if separator else "", True


def is_svg(path: str | None) -> bool:
    """Whether the form of a file, or of what goes to standard output, is SVG."""
    return path is not None and standard_form(path)[0].lower().endswith(".svg")


def require_place(path: str, option: str = "--out") -> None:
    """Raises InputError unless a file can be written there; before any work is done."""
    if standard_form(path)[1]:
        return
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise InputError(option, f"there is no folder {path_shown(folder)}.")
    if Path(path).is_dir():
        raise InputError(option, f"{path_shown(path)} is a folder; give the name of a file.")


def suffix_of(path: str | None, accepted: tuple[str, ...], option: str = "--out") -> str:
    """The ending of the file of an option, "" without it. Raises InputError for another ending, and
    where the file has no place."""
    if path is None:
        return ""
    require_place(path, option)
    suffix = Path(standard_form(path)[0] or f"-{accepted[0]}").suffix.lower()
    if suffix not in accepted:
        forms = ", ".join(accepted)
        raise InputError(
            option, f"{path_shown(path)} ends with {suffix or 'nothing'}; accepted are {forms}."
        )
    return suffix


def written(
    tree: Tree,
    path: str,
    cut: Mapping[str, Any],
    picture: Mapping[str, Any],
    names: str | None = None,
) -> None:
    """The tree, or its assignments (.csv, .npy), as a file; written whole or not at all.

    names : a naming, whose names are shown where the form has names.
    """
    form = form_of(path)
    named = {} if names is None or form in _WITHOUT_NAMES else {"names": names}
    if form in ASSIGNMENT_FORMS:
        content = tree.content(f"/assignments{form}", **cut)
    elif form in PICTURES:
        content = tree.content(form, **picture, **named)
    else:
        content = tree.content(form, **named)
    saved(content, path)


_WITHOUT_NAMES = (*ASSIGNMENT_FORMS, ".linkage.npy", ".hclust.json")


def saved(content: bytes, path: str) -> None:
    """A file, or standard output for `-`. Raises InputError where the file cannot be written."""
    if standard_form(path)[1]:
        # Tests and notebooks replace standard output by one of text alone.
        if (stream := getattr(sys.stdout, "buffer", None)) is None:
            print(content.decode("utf-8", "backslashreplace"), end="")
        else:
            sys.stdout.flush()
            stream.write(content)
        sys.stdout.flush()
        _taken.add("stdout")
        return
    target = Path(path)
    beside = target.with_name(f".{target.name}.part")
    try:
        beside.write_bytes(content)
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(
            "--out", f"{path_shown(path)} cannot be written: {error.strerror}."
        ) from None


def reported(
    thing: Tree | Comparison | Calibration | Drift,
    path: str | None,
    files: Mapping[str, str | None],
) -> None:
    """The report of --report, if it was given. files : the inputs as the command names them."""
    if path is None:
        return
    known = {role: text for role, text in files.items() if text is not None}
    saved(report(thing, known).encode("utf-8", "replace"), path)


def table(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Rows as .csv or .json. Raises InputError for another ending."""
    suffix = Path(standard_form(path)[0] or "-.csv").suffix.lower()
    if suffix == ".json":
        saved(_json(list(rows)).encode(), path)
    elif suffix == ".csv":
        saved(csv_text(rows).encode(), path)
    else:
        raise InputError(
            "--out", f"{path_shown(path)} ends with {suffix or 'nothing'}; use .csv or .json."
        )


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the columns of all of them."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


_LONGEST = 80
"""Characters of a cell at most, but of the last of a line."""

_LONGEST_LAST = 2000


def shown(rows: Sequence[Mapping[str, Any]], *, titles: bool = True) -> str:
    """Rows as columns of text, numbers with four digits; empty columns are left out.

    Long cells are cut, but the last of a line; what cannot be seen is escaped, so that no name
    writes to the terminal what is not text. titles : whether the first line names the columns.
    """
    columns = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if any(row.get(name) not in (None, "", {}, []) for row in rows)
    ]
    cells = [[name.replace("_", " ") for name in columns]] if titles else []
    limits = [_LONGEST] * (len(columns) - 1) + [_LONGEST_LAST]
    cells += [
        [plain(_short(row.get(name)), limit) for name, limit in zip(columns, limits, strict=True)]
        for row in rows
    ]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def facts_shown(result: Mapping[str, Any]) -> str:
    """The facts of a result that have a value, one a line."""
    facts = [{"fact": name, "value": own} for name, own in result.items() if own is not None]
    return shown(facts)


def column_names(dataset: Mapping[str, Any], most: int = 6) -> str:
    """The names of the first columns of a dataset, and how many there are if not all are shown."""
    names = [each["name"] for each in dataset.get("columns") or ()]
    return ", ".join(names[:most]) + (f", ... ({len(names)})" if len(names) > most else "")


def size_of(body: Mapping[str, Any]) -> str:
    """How large a thing of a list is, in words; "" where its body does not say it."""
    result = body.get("result") or {}
    if isinstance(body.get("shape"), list):
        shape = " x ".join(f"{n:,}" for n in body["shape"])
        size = body.get("bytes")
        return shape if size is None else f"{shape}, {_bytes(size)}"
    if "n_reference" in result:
        rows = f"{result['n_reference']:,} to {result['n_batch']:,} rows"
        return f"{rows}, {result.get('n_moves', 0):,} changes"
    if isinstance(body.get("table"), list):
        return f"{len(body['table']):,} runs"
    counted = {**body, **result}
    sizes = (
        ("n_points", "rows"),
        ("n_rows", "rows"),
        ("n_leaves", "leaves"),
        ("n_columns", "columns"),
        ("n_nodes", "nodes"),
        ("n_items", "items"),
    )
    return ", ".join(
        f"{counted[name]:,} {noun}" for name, noun in sizes if isinstance(counted.get(name), int)
    )


def _bytes(n: int) -> str:
    """Bytes with three digits and a unit."""
    size, units = float(n), ["B", "kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.3g} {units[0]}"


def dataset_text(dataset: Mapping[str, Any]) -> str:
    """The fields of a dataset, one a line, then its columns as a table."""
    facts = [{"field": name, "value": own} for name, own in dataset.items() if name != "columns"]
    columns = dataset.get("columns")
    return shown(facts) + (f"\n\n{shown(columns)}" if columns else "")


def put(value: Any, as_json: bool, text: str) -> None:
    """The result on standard output; on standard error where a file has gone there."""
    print(_json(value) if as_json else text, file=sys.stderr if _taken else sys.stdout)
    sys.stdout.flush()


_taken: set[str] = set()
"""Not empty once this command has written a file to standard output."""


def say(text: str, quiet: bool = False) -> None:
    """A sentence for the person who waits, on standard error."""
    if not quiet:
        print(text, file=sys.stderr)


def shower(quiet: bool) -> Callable[..., None]:
    """What shows a warning of Python: UmbelWarnings as `warn` does, others as before. None of this
    command has been shown, and nothing is on standard output."""
    _warned.clear()
    _taken.clear()
    otherwise = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, UmbelWarning):
            warn([str(message)], quiet)
        else:
            otherwise(message, category, *where)

    return show


_warned: set[str] = set()


def warn(sentences: Iterable[str], quiet: bool = False) -> None:
    """The warnings of what was done, on standard error, each once in a command."""
    for sentence in map(as_options, sentences):
        # A response has all of a job's in one header.
        rest = sentence
        for shown_before in _warned:
            rest = rest.replace(shown_before, "")
        if rest.strip():
            line = f"warning: {sentence}"
            say(annotation("warning", sentence) if in_workflow() else line, quiet)
        _warned.add(sentence)


def in_workflow() -> bool:
    """Whether the command runs in a workflow of GitHub, which shows some lines as annotations."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def annotation(kind: str, sentence: str, command: str = "") -> str:
    """The line that a workflow of GitHub shows beside its run. kind : `error` or `warning`."""
    escaped = sentence.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{kind} title={f'umbel {command}'.rstrip()}::{escaped}"


def facts_of(tree: Tree) -> dict[str, Any]:
    """What a program wants to know of a tree."""
    return {
        "tree": tree.id,
        "job": tree.job,
        "model": tree.facts.model,
        "method": tree.facts.method,
        "n_leaves": tree.n_leaves,
        "n_points": tree.n_points,
        "metrics": dict(tree.metrics),
        "warnings": list(tree.warnings),
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)


def _cell(value: Any) -> Any:
    return json.dumps(value, default=_plain) if isinstance(value, (dict, list, tuple)) else value


def _short(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_short(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_short, value))
    return str(value)
