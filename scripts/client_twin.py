"""The asyncio twin of the client's blocking modules: what waits is awaited.

A call waits if it is one of `PRIMITIVES`, or if it is of a function or method of these modules that
makes such a call; classes get another name. A call is recognised by its name: of a function, of a
module, of `self`, `cls` and `super()`, of a class, or of a connection. What is missed that way, or
awaited in vain, is an error for mypy in the twin.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

PACKAGE = "umbel_client"
TWIN = f"{PACKAGE}._written.aio"

MODULES = (
    *("core.connection", "core.uploads", "core.waiting", "core.runs"),
    *("held", "artifact", "attachment", "calibration", "comparison", "dataset", "drift"),
    *("edition", "heatmap", "job", "map", "model", "naming", "placement", "lists"),
    *("aliases", "client", "tree", "tree_forms", "tree_parts", "tree_work"),
)
"""Modules that have a twin."""

PRIMITIVES = {
    "time.sleep": "asyncio.sleep",
    "client.send": "client.send",
    "client.stream": "client.stream",
    "response.read": "response.aread",
    "response.iter_lines": "response.aiter_lines",
    "self._client.close": "self._client.aclose",
}
"""Calls that wait, and what they are called under asyncio."""

THREADED = ("LocalService", "self._service.stop")
"""Calls that block, and go to a thread."""

RENAMED = {"close": "aclose", "__enter__": "__aenter__", "__exit__": "__aexit__"}
"""Methods with another name."""

REPLACED = {
    "httpx.Client": "httpx.AsyncClient",
    "opening.place": "opening.async_place",
    "opening.opened": "opening.async_opened",
    "contextlib.contextmanager": "contextlib.asynccontextmanager",
    "-> Iterator[": "-> AsyncIterator[",
    "Methods[AsyncTree]": "Methods[Coroutine[Any, Any, AsyncTree]]",
    "A `with`": "An `async with`",
    "Threads may share a client.": "Tasks of one event loop may share a client.",
    "Threads may share it.": "Tasks may share it.",
    "from __future__ import annotations\n": (
        "from __future__ import annotations\n\nimport asyncio\n"
        "from collections.abc import AsyncIterator, Coroutine\n"
    ),
}

Key = tuple[str, str]
"""A module, and a function or `Class.method` of it."""
Edit = tuple[int, int, str]
"""From where to where a source is replaced, and by what."""
Place = Callable[[int | None, int | None], int]
"""The place in a source of a line and column of its syntax tree."""


@dataclass
class Module:
    """A blocking module. own : the modules with a twin, itself among them."""

    name: str
    source: str
    own: Mapping[str, Module] = field(default_factory=dict)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """By name, of methods with that of their class."""
        found = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        for name, of in self.classes.items():
            for node in of.body:
                if isinstance(node, ast.FunctionDef):
                    found[f"{name}.{node.name}"] = node
        return found

    @cached_property
    def imported(self) -> dict[str, Key]:
        """What each name stands for that is imported from a module with a twin; of such a module
        itself the second part is empty."""
        found = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                source = (node.module or "").removeprefix(PACKAGE).removeprefix(".")
                for each in node.names:
                    whole = f"{source}.{each.name}".removeprefix(".")
                    if source in self.own:
                        found[each.name] = (source, each.name)
                    elif whole in self.own:
                        found[each.name] = (whole, "")
        return found

    def called(self, call: ast.Call, within: str) -> Key | None:
        """The function that is called, if it is of a module with a twin. within : the class."""
        match call.func:
            case ast.Name(name):
                return (self.name, name) if name in self.functions else self.imported.get(name)
            case ast.Attribute(ast.Name("self" | "cls"), method):
                return self.method(within, method)
            case ast.Attribute(ast.Call(ast.Name("super")), method):
                return self.inherited(within, method)
            case ast.Attribute(ast.Name("connection"), method):
                return ("core.connection", f"Connection.{method}")
            case ast.Attribute(ast.Attribute(ast.Name("self"), "_connection"), method):
                return ("core.connection", f"Connection.{method}")
            case ast.Attribute(ast.Name(name), method) if name in self.classes:
                return self.method(name, method)
            case ast.Attribute(ast.Name(name), method) if name in self.imported:
                source, what = self.imported[name]
                return self.own[source].method(what, method) if what else (source, method)
        return None

    def method(self, of: str, name: str) -> Key | None:
        """A method of a class of this module, or of its bases."""
        if f"{of}.{name}" in self.functions:
            return (self.name, f"{of}.{name}")
        return self.inherited(of, name)

    def inherited(self, of: str, name: str) -> Key | None:
        for base in self.classes[of].bases if of in self.classes else ():
            source, what = self.imported.get(ast.unparse(base), (self.name, ast.unparse(base)))
            found = self.own[source].method(what, name)
            if found is not None:
                return found
        return None


def twins(package: Path) -> dict[str, str]:
    """The source of each twin, by its module."""
    modules: dict[str, Module] = {}
    for name in MODULES:
        path = package / f"{name.replace('.', '/')}.py"
        modules[name] = Module(name, path.read_text("utf-8"), modules)
    waiting = _waiting(modules)
    classes = {name for module in modules.values() for name in module.classes}
    return {name: _twin(module, waiting, classes) for name, module in modules.items()}


def _waiting(modules: Mapping[str, Module]) -> set[Key]:
    """The functions that wait."""
    calls: dict[Key, set[Key | str]] = {}
    for module in modules.values():
        for name, function in module.functions.items():
            called: set[Key | str] = set()
            for call in _calls(function):
                key = module.called(call, name.rpartition(".")[0])
                called.add(key or ast.unparse(call.func))
            calls[module.name, name] = called
    waiting: set[Key | str] = {*PRIMITIVES, *THREADED}
    while more := {key for key, called in calls.items() if key not in waiting and called & waiting}:
        waiting |= more
    return {key for key in waiting if isinstance(key, tuple)}


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Call))


def _twin(module: Module, waiting: set[Key], classes: set[str]) -> str:
    """The source with what waits awaited."""
    lines = module.source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def at(line: int | None, column: int | None) -> int:
        assert line is not None
        assert column is not None
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    edits: list[Edit] = []
    for name, function in module.functions.items():
        begin = at(function.lineno, function.col_offset)
        if (module.name, name) in waiting or function.name == "__enter__":
            edits.append((begin, begin, "async "))
        if function.name in RENAMED:
            named = begin + len("def ")
            edits.append((named, named + len(function.name), RENAMED[function.name]))
        parents = {
            child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)
        }
        for call in _calls(function):
            key = module.called(call, name.rpartition(".")[0])
            plain = ast.unparse(call.func)
            start = at(call.lineno, call.col_offset)
            head = at(call.func.end_lineno, call.func.end_col_offset)
            stop = at(call.end_lineno, call.end_col_offset)
            if plain in THREADED:
                comma = ", " if call.args or call.keywords else ""
                edits.append((start, start, "await asyncio.to_thread("))
                edits.append((head, head + 1, comma))
                continue
            if plain in PRIMITIVES:
                edits.append((start, head, PRIMITIVES[plain]))
            elif key not in waiting:
                continue
            elif isinstance(call.func, ast.Attribute) and call.func.attr in RENAMED:
                edits.append((head - len(call.func.attr), head, RENAMED[call.func.attr]))
            edits += _awaited(call, parents, (start, stop), at)
    text = module.source
    for begin, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        text = text[:begin] + new + text[end:]
    text = _imports(_renamed(text, classes), module)
    for old, new in REPLACED.items():
        text = text.replace(old, new)
    return text


def _awaited(
    call: ast.Call, parents: Mapping[ast.AST, ast.AST], span: tuple[int, int], at: Place
) -> list[Edit]:
    """The edits by which a call is awaited: of a `with`, or of lines, by its statement."""
    start, stop = span
    parent = parents[call]
    statement = parents[parent] if isinstance(parent, ast.withitem) else parent
    lines = isinstance(parent, ast.For) and ast.unparse(call.func) in PRIMITIVES
    if lines or isinstance(parent, ast.withitem):
        assert isinstance(statement, ast.With | ast.For)
        begin = at(statement.lineno, statement.col_offset)
        return [(begin, begin, "async ")]
    if isinstance(parent, (ast.Attribute, ast.Subscript)):
        return [(start, start, "(await "), (stop, stop, ")")]
    return [(start, start, "await ")]


def _renamed(text: str, classes: set[str]) -> str:
    """The code with the classes' names for asyncio; texts and comments stay."""
    lines = text.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for before, token in reversed(list(pairwise(tokens))):
        if token.type == tokenize.NAME and token.string in classes and before.string != ".":
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = f"{line[:column]}Async{line[column:]}"
    return "".join(lines)


def _imports(text: str, module: Module) -> str:
    """The imports of modules with a twin as imports of the twins."""
    for name in module.own:
        text = text.replace(f"from {PACKAGE}.{name} import", f"from {TWIN}.{name} import")
    for name, (source, what) in module.imported.items():
        if not what:
            package = f"{PACKAGE}.{source}".rpartition(".")[0]
            pattern = rf"(from {re.escape(package)} import .*)\b{name}\b(?:, )?"
            twin = f"{TWIN}.{source}".rpartition(".")[0]
            text = re.sub(pattern, rf"from {twin} import {name}\n\1", text)
    return re.sub(r"^from [\w.]+ import ?\n", "", re.sub(r", $", "", text, flags=re.M), flags=re.M)
