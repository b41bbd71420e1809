"""The snippets of the client's README are whole: each has the names that it uses."""

from __future__ import annotations

import ast
import re

from tests.conftest import ROOT

SNIPPETS = re.findall(
    r"^```python\n(.*?)^```",
    (ROOT / "client" / "README.md").read_text("utf-8"),
    flags=re.DOTALL | re.MULTILINE,
)


def _loaded(snippet: str) -> set[str]:
    nodes = [n for n in ast.walk(ast.parse(snippet)) if isinstance(n, ast.Name)]
    return {node.id for node in nodes if isinstance(node.ctx, ast.Load)}


def _imported(snippet: str) -> set[str]:
    nodes = [n for n in ast.walk(ast.parse(snippet)) if isinstance(n, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for node in nodes for alias in node.names}


def test_modules_and_classes_are_imported_before_they_are_used() -> None:
    have: set[str] = set()
    for snippet in SNIPPETS:
        have |= _imported(snippet)
        # Data are the reader's: their names are in small letters, or a single capital.
        needed = {each for each in _loaded(snippet) if each == "asyncio" or each[1:2].islower()}
        classes = {each for each in needed if each[0].isupper() or each == "asyncio"}
        assert classes <= have, snippet


def test_the_tree_of_the_tour_stays_the_first_one() -> None:
    bound = [line for each in SNIPPETS for line in each.splitlines() if line.startswith("tree = ")]
    assert len(bound) == 1
