"""`python scripts/changed_tests.py [BASE]`: run the tests that a change can affect.

The change is what differs from BASE, files that git does not know yet included: by default from the
merge base with main, or on main itself from the last commit but one. A Python file affects the
tests that import it, directly or through other modules, also those that start it by its name. The
registry imports methods without naming them, so what uses it does not depend on a method: of the
contract tests only those for affected methods run. Other files affect tests by `RULES`.

`make test` alone runs every test; this is the short way there.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PACKAGES = ("app", "workers", "models", "umbel", "umbel_client", "tests", "bench")
DISCOVERED = {
    "workers.child.preload": ("workers.formats", "workers.kinds", "models.metrics"),
    "workers.kinds.registry": ("workers.kinds",),
    "umbel_client": ("umbel_client._written.aio",),
    "umbel_client.commands.options": ("umbel_client.commands",),
}
"""Modules that import every module of a package without naming it."""

PAGE = ("app/dashboard/js/", "tests/dashboard/js/")
"""A change here runs the page's tests by Node as well."""

ALWAYS = ("tests/test_house.py",)
ALL = ("tests",)
OF_METHODS = (
    "tests/test_docs.py",
    "tests/client/test_written.py",
    "tests/app/openapi/test_document.py",
)
"""Compare what is generated from the methods with them."""

UNTESTED = (
    *("LICENSE", ".ci/*", ".dockerignore", ".gitattributes", ".gitignore", ".npmrc"),
    ".spectral.yaml",
    *("eslint.config.js", "package.json", "package-lock.json", "redocly.yaml", "tsconfig.json"),
)
RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pyproject.toml", ALL),
    ("umbel/testing/*", ("tests/contract",)),
    ("umbel/*", ALL),
    ("constraints.txt", ALL),
    ("tests/conftest.py", ALL),
    ("tests/turns_kit.py", ALL),
    ("Makefile", ("tests/contract/test_contributing.py",)),
    ("CONTRIBUTING.md", ("tests/contract/test_contributing.py", "tests/test_docs.py")),
    ("docs/*.ipynb", ("tests/e2e/one_service/test_notebooks.py",)),
    ("docs/monitoring/*", ("tests/app/test_monitoring.py", "tests/test_docs.py")),
    ("docs/deploy/*", ("tests/app/test_deploy.py", "tests/test_docs.py")),
    ("docs/*", ("tests/test_docs.py",)),
    ("*.md", ("tests/test_docs.py",)),
    ("openapi/*", ("tests/app/openapi/test_document.py", "tests/e2e/one_service")),
    ("schemathesis.toml", ("tests/e2e/test_schema.py",)),
    ("docker-compose.yml", ("tests/app/test_compose.py", "tests/app/test_deploy.py")),
    ("Dockerfile", ("tests/app/test_compose.py", "tests/app/test_deploy.py", "tests/scripts")),
    ("app/dashboard/*", ("tests/dashboard",)),
    ("tests/dashboard/js/*", ()),
    ("app/sample/*", ("tests/app", "tests/e2e/test_demo.py")),
    ("app/pictures/*", ("tests/app/pictures", "tests/app/resources")),
    ("workers/stores/redis/lua/*", ("tests/workers/stores/redis", "tests/workers/jobs")),
    ("client/*", ("tests/client",)),
    (
        "client-js/*",
        ("tests/e2e/one_service/test_client_js.py", "tests/dashboard/test_tree_element.py"),
    ),
    ("scripts/write_docs.py", ("tests/test_docs.py",)),
    ("scripts/write_client.py", ("tests/client/test_written.py",)),
    ("scripts/client_twin.py", ("tests/client/test_written.py",)),
    ("scripts/write_metrics.py", ("tests/dashboard/test_server.py",)),
    ("scripts/*", ("tests/scripts",)),
    *((name, ()) for name in UNTESTED),
)
"""Tests by files that nothing imports; the first pattern that a path matches counts. What lies in
a folder of tests affects the tests of that folder."""


def changed(base: str | None) -> tuple[str, set[str]]:
    """The commit that is compared with, and the paths that differ from it."""
    if base is None:
        base = next((there for name in ("main", "origin/main") if (there := merge_base(name))), "")
        if base in ("", git("rev-parse", "HEAD")[0]):
            base = "HEAD~1"
    paths = git("diff", "--name-only", "--no-renames", base)
    return base, {*paths, *git("ls-files", "--others", "--exclude-standard")}


def merge_base(branch: str) -> str | None:
    done = subprocess.run(
        ["git", "merge-base", "HEAD", branch], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or None


def git(*arguments: str) -> list[str]:
    """The lines of a command's output."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@dataclass
class Choice:
    """Files and folders of tests, each with the reason, and the methods whose contract is tested.

    whole : whether the contract tests of every method are chosen.
    """

    tests: dict[str, str]
    methods: set[str]

    @property
    def whole(self) -> bool:
        return any(f"{path}/".startswith(("tests/contract/", "tests/ ")) for path in self.tests)

    def arguments(self) -> list[str]:
        """What pytest is given: no file beside the folder that holds it."""
        if "tests" in self.tests:
            return ["tests"]
        inner = {
            path
            for path in self.tests
            if any(str(folder) in self.tests for folder in Path(path).parents)
        }
        arguments = sorted(self.tests.keys() - inner)
        if self.methods and not self.whole:
            arguments += ["tests/contract", f"--methods={','.join(sorted(self.methods))}"]
        return arguments


@cache
def graph() -> grimp.ImportGraph:
    """Who imports whom, with those who import by name, and tests with their conftests."""
    sys.path[:0] = [str(ROOT), str(ROOT / "client")]
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    named = re.compile(rf'"((?:{"|".join(PACKAGES)})(?:\.\w+)+)"')
    for module in graph.modules:
        for name in named.findall(file_of(module).read_text("utf-8")):
            if name in graph.modules:
                graph.add_import(importer=module, imported=name)
        for package in DISCOVERED.get(module, ()):
            for found in graph.find_descendants(package):
                graph.add_import(importer=module, imported=found)
        if is_test(module):
            for folder in Path(module.replace(".", "/")).parents:
                conftest = f"{folder}/conftest".replace("/", ".")
                if conftest in graph.modules:
                    graph.add_import(importer=module, imported=conftest)
    return graph


def affected(paths: Iterable[str]) -> set[str]:
    """The modules of these files, and all that import them."""
    modules: set[str] = set()
    for path in paths:
        module = module_of(path)
        if module not in graph().modules or only_says(ROOT / path):
            continue
        own = {module}
        if path.endswith("__init__.py"):  # It runs before every module of its package.
            own |= graph().find_descendants(module)
        for one in own:
            modules |= {one, *graph().find_downstream_modules(one)}
    return modules


def module_of(path: str) -> str:
    name = path.removeprefix("client/").removesuffix(".py").removesuffix("/__init__")
    return name.replace("/", ".")


def file_of(module: str) -> Path:
    folder = ROOT / "client" if module.startswith("umbel_client") else ROOT
    path = folder / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def is_test(module: str) -> bool:
    return module.startswith("tests.") and module.rpartition(".")[2].startswith("test_")


def only_says(path: Path) -> bool:
    """Whether it is a package's file with nothing but a docstring, which nothing can depend on."""
    if path.name != "__init__.py" or not path.exists():
        return False
    body = ast.parse(path.read_text("utf-8")).body
    return len(body) == 1 and ast.get_docstring(ast.Module(body, [])) is not None


def choose(paths: Iterable[str]) -> Choice:
    """The tests that a change of these files can affect."""
    paths = sorted(paths)
    tests = dict.fromkeys(ALWAYS, "always")
    for path in paths:
        tests.update((test, path) for test in by_rule(path) or () if test not in tests)
    modules = affected(path for path in paths if path.endswith(".py"))
    for module in sorted(filter(is_test, modules)):
        tests.setdefault(file_of(module).relative_to(ROOT).as_posix(), "imports")
    methods = {
        module.rpartition(".")[2].replace("_", "-")
        for module in modules
        if re.fullmatch(r"models\.methods\.\w+\.\w+", module) and file_of(module).stem != "__init__"
    }
    if methods:
        tests.update((test, "methods") for test in OF_METHODS if test not in tests)
    return Choice(tests, methods)


def by_rule(path: str) -> tuple[str, ...] | None:
    """The tests that `RULES` names for a file; None if it has no rule."""
    for pattern, tests in RULES:
        if fnmatch(path, pattern):
            return tests
    if path.startswith("tests/") and not path.endswith(".py"):
        return (folder_of_tests(path),)
    return None


def folder_of_tests(path: str) -> str:
    """The innermost folder around a file that has tests."""
    return next(
        folder.as_posix() for folder in Path(path).parents if any((ROOT / folder).glob("test_*.py"))
    )


def shown(names: Iterable[str], most: int = 8) -> str:
    """A list in one line."""
    names = sorted(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def main(arguments: list[str]) -> None:
    base, paths = changed(arguments[0] if arguments else None)
    choice = choose(paths)
    print(f"{len(paths)} files differ from {base[:12]}: {shown(paths)}")
    by_import = [test for test, reason in choice.tests.items() if reason == "imports"]
    if by_import:
        print(f"{len(by_import)} files of tests import what changed: {shown(by_import)}")
    for test, reason in choice.tests.items():
        if reason != "imports":
            print(f"{test}: {reason}")
    if choice.methods and not choice.whole:
        print(f"the contract of {len(choice.methods)} methods: {shown(choice.methods)}")
    sys.stdout.flush()
    if any(path.startswith(PAGE) for path in paths):
        subprocess.run(["node", "--test", *ROOT.glob("tests/dashboard/js/*.test.js")], check=True)
    options = ["-n", "3", "-o", "console_output_style=classic"]
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *options, *choice.arguments()])


if __name__ == "__main__":
    main(sys.argv[1:])
