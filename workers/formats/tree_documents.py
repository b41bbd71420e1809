"""Trees as text or JSON: imported ones, and those that are an input, `hierarchy`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from models.errors import InvalidTree, UsageError, listed, shown
from models.roles import Want
from models.tree.dialects import text_format
from models.tree.tree import Tree
from workers.formats.facts import DEFAULT, Bounds, Facts
from workers.formats.refusals import unsupported
from workers.formats.tables import Lists, Table

MEDIA_TYPES = {"newick": "text/x-nh", "nexus": "text/x-nexus"}
"""Format id -> media type, of the texts that are a dataset of role `hierarchy`."""
ROLE = "hierarchy"

_OF_NODES = frozenset({"parent", "children"})
"""Fields of nodes, by one of which a list of objects is a tree and no table."""

MOST_BYTES = 64 << 20
"""The largest length of such a text."""

_EDGE_NUMBERS = re.compile(r"('[^']*+(?:''[^']*+)*+')|\{\d+\}")


def inspect(path: Path, member: str | None, bounds: Bounds = DEFAULT) -> Facts:
    """Raises UsageError: a tree as text is a dataset in the role `hierarchy` alone, whose facts
    `roles.facts` gives."""
    raise as_another()


def read(path: Path, member: str | None, want: Want, bounds: Bounds = DEFAULT) -> Table:
    """The text of a tree, as the only one of a list. Raises UsageError where no hierarchy is
    wanted, past `MOST_BYTES`, and for what is not UTF-8."""
    if want != "paths":
        raise as_another()
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UsageError(
            f"The tree is longer than {MOST_BYTES} bytes.", code="too-large", limit=MOST_BYTES
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidTree(
            f"The tree is not UTF-8 text: byte {error.start} cannot be read."
        ) from None
    if text_format(text) is None:
        raise InvalidTree("The content is neither Newick nor Nexus.")
    return Lists([text])


def as_another() -> UsageError:
    """The refusal of a tree as text in another role."""
    return unsupported(
        "The content is a tree as text, not a table; upload it with ?role=hierarchy where a "
        "hierarchy is an input, or import it by POST /v1/trees and give its id."
    )


def document_of(table: Table) -> Any:
    """The document in a table that is a tree rather than class paths: a text in Newick or Nexus,
    or JSON objects; None for another table."""
    if not isinstance(table, Lists):
        return None
    value = table.value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str | dict):
        value = value[0]
    if isinstance(value, str):
        return value if text_format(value) is not None else None
    if isinstance(value, list):
        nodes = (_OF_NODES & item.keys() for item in value if isinstance(item, dict))
        return value if any(nodes) else None
    return value if isinstance(value, dict) else None


def read_text(format_id: str, text: str) -> Tree:
    """The tree of a text in the format `newick`, `nexus` or `paths`. Raises InvalidTree."""
    from models.tree import class_paths, newick, nexus, rows

    if format_id == "newick":
        return rows.numbered(newick.read(text))
    if format_id == "nexus":
        return rows.numbered(nexus.read(text))
    return class_paths.read(text)


def read_document(document: Any) -> Tree:
    """The tree of a JSON document of any kind that trees have. Raises InvalidTree."""
    from models.tree import class_paths, linkage, nested, rows

    if isinstance(document, str):
        form = text_format(document)
        if form is None:
            raise InvalidTree("The JSON is a text that is neither Newick nor Nexus.")
        return read_text(form, document)
    if isinstance(document, list) and document:
        if all(isinstance(item, str) for item in document):
            return class_paths.read("\n".join(_one_line_each(document)))
        if class_paths.are_lists_of_names(document):
            paths = [class_paths.joined(_one_line_each(names)) for names in document]
            return class_paths.read("\n".join(paths))
        if all(isinstance(item, list) for item in document):
            return _linkage_of_lists(document)
    if isinstance(document, dict):
        if {"merge", "height"} <= document.keys():
            return linkage.from_hclust(document)
        for key in ("tree", "newick"):
            if isinstance(document.get(key), str):
                return _wrapped(document, key)
    return rows.numbered(nested.read(document))


def _one_line_each(names: list[str]) -> list[str]:
    """Raises InvalidTree for a name with a line break, and for half a surrogate pair."""
    from models.tree.json_fields import require_text

    require_text(names, "A class path")
    odd = [name for name in names if "\n" in name or not name]
    if odd:
        raise InvalidTree(
            f"A class path has no line breaks and is not empty; one is {shown(odd[0])}."
        )
    return names


def _linkage_of_lists(rows: list[Any]) -> Tree:
    """The tree of a linkage as JSON. Raises InvalidTree for lists of anything else."""
    from models.tree import linkage

    for number, row in enumerate(rows):
        if len(row) != 4 or any(type(value) not in (int, float) for value in row):
            raise InvalidTree(
                "A list of lists is a linkage, rows of 4 numbers (left, right, height, leaves), or "
                "class paths, each a list of names in which no name has two places; row "
                f"{number} is neither.",
                row=number,
            )
        if any(abs(value) > 1e300 for value in row):
            raise InvalidTree(f"Row {number} of the linkage has a number too large.", row=number)
    return linkage.from_scipy(rows)


def _wrapped(document: dict[str, Any], key: str) -> Tree:
    """The tree of a document that has it as text, as jplace: without the numbers of edges."""
    text = document[key]
    if key == "tree" and "placements" in document:
        text = _EDGE_NUMBERS.sub(lambda match: match[1] or "", text)
    form = text_format(text)
    if form is None:
        raise InvalidTree(f"The field {shown(key)} of the document is neither Newick nor Nexus.")
    tree = read_text(form, text)
    others = sorted(document.keys() - {key})
    if not others:
        return tree
    sentence = f"Fields beside the tree were left out: {listed(others)}."
    return replace(tree, warnings=(*tree.warnings, sentence))
