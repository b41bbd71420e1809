"""The guide's example is the real method: what it shows stands in the file, word for word."""

from __future__ import annotations

import re
from textwrap import dedent

from tests.conftest import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
METHOD = GUIDE[GUIDE.index("## Add a method in one file") : GUIDE.index("## Add a method in your")]


def test_the_excerpts_are_the_methods_own_lines() -> None:
    source = (ROOT / "models" / "methods" / "partitions" / "kmeans.py").read_text()
    blocks = re.findall(r"^ *```python\n(.*?)^ *```$", METHOD, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    lines = [line.strip() for line in source.splitlines()]
    for block in blocks:
        excerpt = [line.strip() for line in dedent(block).splitlines()]
        starts = range(len(lines) - len(excerpt) + 1)
        assert any(lines[i : i + len(excerpt)] == excerpt for i in starts), block


def test_the_commands_it_names_exist() -> None:
    named = set(re.findall(r"`make ([a-z-]+)`", GUIDE))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert named
    assert named <= targets
