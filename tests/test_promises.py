"""The tests that docs/promises.md names are there."""

from __future__ import annotations

import ast
import re

from tests.conftest import ROOT


def test_the_named_tests_exist() -> None:
    text = (ROOT / "docs" / "promises.md").read_text()
    promises = text.partition("## The last storms")[0]
    rows = [line for line in promises.splitlines() if line.startswith("| ") and "::" in line]
    assert len(rows) == promises.count("\n| ") - 1
    for path, name in re.findall(r"`([\w/]+\.py)::(\w+)`", text):
        tree = ast.parse((ROOT / path).read_text())
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in names, f"{path}::{name}"
