"""The rules of the house that no linter checks: packages list their modules and stay small.

Imports (floors, circles, families) are import-linter's, in `pyproject.toml`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

FLOORS = ("app", "workers", "models")
PACKAGES = sorted(
    init.parent.relative_to(ROOT)
    for floor in FLOORS
    for init in (ROOT / floor).rglob("__init__.py")
)
SOURCES = sorted(
    path.relative_to(ROOT) for floor in FLOORS for path in (ROOT / floor).rglob("*.py")
)
TESTS = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))

MOST_LOOSE = {"workers": 12, "app": 6, "models": 8}
"""The most modules directly in a floor's folder; further ones belong into a room."""

MOST_LINES = 600
LARGEST_WITHOUT_START = 4
FEWEST_DOC_LINES, MOST_DOC_LINES = 3, 16

NO_WORDS = re.compile(
    r"(?<![a-z])(?:told|said|asked|those of|of its own|as it is)(?![a-z])", re.IGNORECASE
)
NO_NAME_PARTS = re.compile(r"(?<=[a-z])(?:Told|Said|Asked)(?![a-z])")
NO_BEGINNING = re.compile(r"\bOf\b")
"""Words that hide who does what: write of a warning, a request, a result, the subject first."""
DATA = {
    ("models/methods/features/boxes/state.py", "told"),
    ("models/methods/sphere/mixture/result.py", "told"),
    ("models/methods/sphere/tvmf.py", "told"),
    ("docs/methods/tvmf.md", "told"),
}
"""Where such a word is data: the name of an array in stored models."""
PROSE_FLOORS = ("app", "workers", "models", "umbel", "scripts", "bench", "client", "docs", "tests")
PROSE = sorted(
    path.relative_to(ROOT)
    for path in (
        *ROOT.glob("*.md"),
        *(
            path
            for floor in PROSE_FLOORS
            for ending in ("py", "js", "css", "html", "lua", "md")
            for path in (ROOT / floor).rglob(f"*.{ending}")
        ),
    )
    if not {"vendor", "_written", "build", "test_house.py"} & set(path.parts)
)
"""All files but what others or programs wrote, and this one, which names the words."""

NO_NAMES = {"utils", "util", "helpers", "helper_functions", "common", "misc"}


def contents(package: Path) -> set[str]:
    """The names of the modules and packages in a package's folder."""
    folder = ROOT / package
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_a_package_lists_its_modules(package: Path) -> None:
    text = (ROOT / package / "__init__.py").read_text()
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring, f"{package}/__init__.py has no docstring"
    assert FEWEST_DOC_LINES <= len(docstring.splitlines()) <= MOST_DOC_LINES
    named = set(re.findall(r"`(\w+)`", docstring))
    assert contents(package) <= named, "not named in the docstring"
    if len(contents(package)) > LARGEST_WITHOUT_START:
        assert re.search(r"[Ss]tart (with|at|here)|start here", docstring), "no place to start"


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_a_package_lists_only_existing_modules(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text())) or ""
    items = re.findall(r"^- ((?:`\w+`(?:, | and )?)+)", docstring, flags=re.MULTILINE)
    listed = {name for item in items for name in re.findall(r"`(\w+)`", item)}
    assert listed <= contents(package), "named, but not there"


@pytest.mark.parametrize("floor", MOST_LOOSE)
def test_a_floor_has_few_loose_files(floor: str) -> None:
    loose = sorted(path.name for path in (ROOT / floor).glob("*.py"))
    assert len(loose) <= MOST_LOOSE[floor], loose


def test_files_are_short() -> None:
    long = {
        str(path): n_lines
        for path in SOURCES
        if (n_lines := len((ROOT / path).read_text().splitlines())) > MOST_LINES
    }
    assert not long


def test_file_names_are_specific() -> None:
    assert not [str(path) for path in SOURCES if path.stem in NO_NAMES]


def running(text: str) -> str:
    """A file's text with line breaks, quotes between and comment signs taken for a space."""
    joined = re.sub(r"[\"']?\s*\n\s*(?:#|//|--|\*|f?[\"'])?", " ", text)
    return " ".join(joined.split())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"""The counts; those\n    of a leaf are last."""', "those of"),
        ("# A list of its\n# own.", "of its own"),
        ('detail="Send it as "\n    "it is."', "as it is"),
        ("/**\n * What was\n * asked.\n */", "asked"),
        (".find-said { }", "said"),
        ("const isAsked = 1", "Asked"),
        ("n_asked = 1", "asked"),
        ("// It is slow.\n// Of all trees one.", "Of"),
        ("gl.UNMASKED_RENDERER_WEBGL; the Office; OfTree; as its own", None),
    ],
)
def test_words_are_found_across_lines(text: str, found: str | None) -> None:
    assert next(iter(hiding_words(text)), None) == found


def hiding_words(text: str) -> Iterator[str]:
    """The words of a text that may not come back, comments and names included."""
    joined = running(text)
    for pattern in (NO_WORDS, NO_NAME_PARTS, NO_BEGINNING):
        yield from pattern.findall(joined)


def test_plain_english() -> None:
    found = {
        (str(path), word.lower())
        for path in PROSE
        for word in hiding_words((ROOT / path).read_text("utf-8"))
    }
    assert found == DATA


def imported(path: Path) -> Iterator[str]:
    """The full names that a file imports, at any level."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


IMPORTS_A_TEST = re.compile(
    r"\btests(\.\w+)*\.test_\w|\bfrom\s+tests[\w.]*\s+import\b(\s*\([^)]*|[^\n(]*)\btest_\w"
)
"""What may be such an import: only files that have it are parsed."""


def test_no_test_imports_a_test() -> None:
    for text in ("from tests.a import b, test_c", "from tests.a import (\n b,\n test_c\n)"):
        assert IMPORTS_A_TEST.search(text), text
    wrong = {
        f"{path} imports {name}"
        for path in TESTS
        if IMPORTS_A_TEST.search((ROOT / path).read_text())
        for name in imported(path)
        if re.fullmatch(r"tests\..*\btest_\w+", name)
    }
    assert not wrong


def test_compiled_code_is_in_loops() -> None:
    """One glob in pyproject.toml thus exempts it from types, and methods import light."""
    wrong = [
        str(path)
        for path in SOURCES
        if "loops" not in path.with_suffix("").parts
        and "numba" in (ROOT / path).read_text()
        and "numba" in {name.partition(".")[0] for name in imported(path)}
    ]
    assert not wrong


def test_compiled_functions_have_our_decorator() -> None:
    """Numba's own compiles each a second time, for C."""
    wrong = [
        str(path)
        for path in SOURCES
        if path != Path("models/running/loops.py")
        and "njit" in (ROOT / path).read_text()
        and "numba.njit" in imported(path)
    ]
    assert not wrong


def test_families_contain_methods_and_folders_their_parts() -> None:
    """Files in a family's folder are methods; folders contain their parts."""
    from models.registry import methods

    files = {
        ".".join(path.with_suffix("").parts)
        for path in SOURCES
        if path.parts[:2] == ("models", "methods") and len(path.parts) == 4
    }
    files = {name for name in files if not name.endswith("__init__")}
    assert files == {type(method).__module__ for method in methods().values()}
