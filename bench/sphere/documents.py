"""Documents with topics: the docstrings of an installed package, by subpackage.

A document is the docstring of a module, class or function, read from the source without an import;
its topic is the package's folder. Tests, folders without a topic, short texts and exact duplicates
are omitted.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

N_WORDS = 40
"""Minimum number of words of a document."""

N_DOCUMENTS = 40
"""Minimum number of documents of a topic."""

_NO_TOPIC = frozenset(
    {"external", "externals", "testing", "tests", "utilities", "utils", "fftpack"}
)
"""Folders without their own topic; `fftpack` is an older `fft`."""

_WORD = re.compile(r"[^\W\d_]{3,}")


def docstrings(package: str) -> tuple[list[str], list[str]] | None:
    """Documents and their topics; None if the package is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(spec.submodule_search_locations[0])
    topic_of: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        folders = path.relative_to(root).parts[:-1]
        if not folders or folders[0].startswith("_") or not _NO_TOPIC.isdisjoint(folders):
            continue
        for text in _docstrings(path):
            if len(_WORD.findall(text)) >= N_WORDS:
                topic_of.setdefault(text, folders[0])
    sizes = Counter(topic_of.values())
    frequent = {text: topic for text, topic in topic_of.items() if sizes[topic] >= N_DOCUMENTS}
    return list(frequent), list(frequent.values())


def _docstrings(path: Path) -> Iterator[str]:
    """The docstrings of a source file."""
    below: list[ast.stmt | ast.Module] = [ast.parse(path.read_text(encoding="utf-8"))]
    while below:
        node = below.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text
            below.extend(reversed(node.body))
