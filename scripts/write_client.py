"""Write the parts of the Python client that follow from the code: `make client`. A test checks.

- `methods`: from the catalogue of methods, a function for each
- `problems`: an exception for each type of problem
- `endings`: the endings of files that are taken
- `quoting`: foreign names in messages
- `aio`: the asynchronous classes, from the blocking ones
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from app.http.problems import KINDS, UNUSABLE
from app.resources.methods.schemas import MethodBody
from models import errors
from models.registry import built_in
from models.roles import role_of
from scripts.client_twin import MODULES, twins
from workers.formats.endings import ENDINGS, PACKED

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "client" / "umbel_client"
WRITTEN = PACKAGE / "_written"
"""The folder that contains nothing else."""

WIDTH = 96
BY = "Written by `make client`"

_QUOTING = ("shown", "_escaped", "listed")

OPTIONS = {
    "preprocess": "Sequence[Mapping[str, Any]] | None",
    "then": "str | Mapping[str, Any] | None",
    "support": "Mapping[str, Any] | None",
    "name_by": "str | None",
    "name": "str | None",
    "description": "str | None",
    "tags": "Sequence[str]",
    "webhook": "str | None",
    "expires_at": "Expiry",
    "retrying": "Retrying | None",
    "wait_s": "float | None",
    "progress": "Progress",
    "extra_inputs": "Mapping[str, Input] | None",
}
"""Arguments of every function, besides inputs and parameters."""


def files() -> dict[Path, str]:
    """The expected content of every written file, by path."""
    catalogue = [MethodBody.of(method) for method in built_in().values()]
    catalogue.sort(key=lambda entry: (entry.family, entry.id))
    families = {
        family: list(members) for family, members in groupby(catalogue, lambda each: each.family)
    }
    sources = {
        "__init__.py": _package(),
        "problems.py": _problems(),
        "endings.py": _endings(),
        "quoting.py": _quoting(),
        "methods/__init__.py": _methods(list(families)),
        **{f"methods/{family}.py": _family(family, own) for family, own in families.items()},
        "aio/__init__.py": _aio_package(),
        "aio/core/__init__.py": _aio_core(),
        **{
            f"aio/{module.replace('.', '/')}.py": _documented(module, source)
            for module, source in twins(PACKAGE).items()
        },
    }
    return {WRITTEN / name: text for name, text in _formatted(sources).items()}


def _formatted(sources: Mapping[str, str]) -> dict[str, str]:
    """The sources as the project formats them, imports sorted."""
    ruff = str(Path(sys.executable).with_name("ruff"))
    config = ["--quiet", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        mend = ["check", *config, "--fix", "--exit-zero", "--select", "I,F401,UP,RUF022"]
        for command in (mend, ["format", *config]):
            subprocess.run([ruff, *command, folder], check=True)
        return {name: Path(folder, name).read_text("utf-8") for name in sources}


def _docstring(*paragraphs: str, indent: int = 0) -> str:
    """A docstring of paragraphs, wrapped; those that begin with a space are kept as they are."""
    margin = " " * indent
    wrapped = [
        text if text.startswith(" ") else textwrap.fill(" ".join(text.split()), WIDTH - indent)
        for text in paragraphs
        if text
    ]
    body = "\n\n".join(textwrap.dedent(text) for text in wrapped)
    quoted = body.replace("\\", "\\\\").replace('"""', "'''")
    if quoted.endswith('"'):
        quoted += " "
    closing = "\n" if "\n" in quoted else ""
    return textwrap.indent(f'"""{quoted}{closing}"""', margin, lambda line: line.strip() != "")


def _package() -> str:
    return f'''"""{BY} from the code; nothing here is edited by hand.

- `aio`: the client for asyncio, from the blocking one
- `methods`: a function for each method, from the service's catalogue
- `problems`: an exception for each type of problem
- `endings`: the endings of files that are taken
- `quoting`: foreign names in messages
"""
'''


def _endings() -> str:
    types = {ending: each.media_type for ending, each in ENDINGS.items() if each.declared}
    trees = sorted(ending for ending, each in ENDINGS.items() if each.tree)
    return f'''"""The endings of files that are taken. {BY} from `workers.formats.endings`."""

from __future__ import annotations

MEDIA_TYPES = {types!r}
"""The media type by the ending of a file; of others the service finds it out."""
TREES = frozenset({trees!r})
"""The endings of trees."""
PACKED = frozenset({sorted(PACKED)!r})
"""Endings of packed files, behind that of what is inside."""
'''


def _quoting() -> str:
    """What writes names into messages, as it stands in `models.errors`."""
    source = Path(errors.__file__).read_text("utf-8")
    parts = ast.parse(source).body
    first = next(at for at, each in enumerate(parts) if _defines(each, "_UNSEEN"))
    own = [*parts[first : first + 2], *(each for each in parts if _defines(each, *_QUOTING))]
    text = "\n\n\n".join(ast.get_source_segment(source, each) or "" for each in own)
    return f'''"""Foreign names in messages. {BY} from `models.errors`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

{text}
'''


def _defines(part: ast.stmt, *names: str) -> bool:
    if isinstance(part, ast.Assign):
        return any(isinstance(each, ast.Name) and each.id in names for each in part.targets)
    return isinstance(part, ast.FunctionDef) and part.name in names


def _family(family: str, members: list[MethodBody]) -> str:
    functions = "\n\n".join(_function(entry) for entry in members)
    name = _class_name(family)
    return f'''"""The methods of the family {family}. {BY} from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from umbel_client.core.fields import Expiry, Retrying
from umbel_client.inputs import Input, Items
from umbel_client.progress import Progress

R = TypeVar("R")


class {name}(Generic[R]):
    """The methods of the family {family}; each gives what `run` gives, a tree."""

    def __init__(self, run: Callable[..., R]) -> None:
        self._run = run

{functions}
'''


def _function(entry: MethodBody) -> str:
    schema = entry.params
    params = schema.get("properties", {})
    clashes = (set(entry.inputs) & set(params)) | (
        (set(entry.inputs) | set(params)) & {*OPTIONS, "params", "method", "self"}
    )
    if clashes:
        raise ValueError(f"{entry.id}: {sorted(clashes)} would be two arguments of one function")
    needed = [role for role, own in entry.inputs.items() if _needed(entry, role)]
    optional = [role for role in entry.inputs if role not in needed]
    signature = [
        *(f"{role}: {_input_type(entry, role)}" for role in needed),
        *(f"{role}: {_input_type(entry, role)} | None = None" for role in optional),
        *(f"{name}: {_type(own, schema)} = {own['default']!r}" for name, own in params.items()),
        *(f"{name}: {kind} = {'()' if name == 'tags' else None}" for name, kind in OPTIONS.items()),
    ]
    inputs = "".join(f"{role}={role}," for role in (*needed, *optional))
    values = "".join(f"{name!r}: {name}," for name in params)
    options = "".join(f"{name}={name}," for name in OPTIONS if name != "extra_inputs")
    return f"""    def {entry.id.replace("-", "_")}(self, *, {", ".join(signature)}) -> R:
{_function_docstring(entry)}
        return self._run(
            {entry.id!r}, {inputs} params={{{values}}}, {options} **(extra_inputs or {{}})
        )
"""


def _function_docstring(entry: MethodBody) -> str:
    where = f", {entry.paper.where}" if entry.paper.where else ""
    source = f"Source: {entry.paper.title} ({entry.paper.year}{where})."
    choice = [
        f"{words} {', '.join(roles)} must be given."
        for words, roles in (("Exactly one of", entry.one_of), ("At least one of", entry.some_of))
        if roles
    ]
    roles = [
        f"{role} : {'' if _needed(entry, role) else 'optional. '}{own.description}"
        f"{' Sparse matrices are accepted.' if own.sparse else ''}"
        for role, own in entry.inputs.items()
    ]
    params = [
        f"{name} : {own.get('description', '')}"
        for name, own in entry.params.get("properties", {}).items()
    ]
    further = [
        "preprocess, then, support, name_by, name, description, tags, webhook, expires_at, "
        "retrying, wait_s, progress : as of `Umbel.run`.",
        "extra_inputs : further inputs by role, for `then` and `name_by`.",
    ]
    definitions = [
        textwrap.fill(" ".join(text.split()), WIDTH - 8, subsequent_indent="    ")
        for text in (*roles, *params, *further)
    ]
    return _docstring(
        entry.description,
        " ".join([f"Leaves: {', '.join(entry.outputs)}.", *choice]),
        source,
        " " + "\n ".join("\n".join(definitions).splitlines()),
        "Raises as `Umbel.run`.",
        indent=8,
    )


def _needed(entry: MethodBody, role: str) -> bool:
    return entry.inputs[role].required and role not in entry.one_of and role not in entry.some_of


def _input_type(entry: MethodBody, role: str) -> str:
    if role_of(role).table:
        return "Items"
    return "Input | Sequence[Input]" if entry.inputs[role].many else "Input"


def _type(own: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The annotation for a JSON Schema."""
    if "$ref" in own:
        return _type(schema["$defs"][own["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in own:
        kinds = dict.fromkeys(_type(part, schema) for part in own["anyOf"])
        return " | ".join(sorted(kinds, key=lambda kind: kind == "None"))
    if "enum" in own or "const" in own:
        values = own.get("enum", [own.get("const")])
        return f"Literal[{', '.join(map(repr, values))}]"
    match own.get("type"):
        case "array":
            items = own.get("items")
            return f"Sequence[{_type(items, schema) if items else 'Any'}]"
        case "object":
            return "Mapping[str, Any]"
        case str(kind) if kind in _PLAIN:
            return _PLAIN[kind]
    return "Any"


_PLAIN = {
    "integer": "int", "number": "float", "boolean": "bool", "string": "str", "null": "None"
}  # fmt: skip


def _class_name(family: str) -> str:
    return "".join(part.capitalize() for part in family.split("_")) + "Methods"


def _methods(families: list[str]) -> str:
    names = [_class_name(family) for family in families]
    imports = "\n".join(
        f"from umbel_client._written.methods.{family} import {_class_name(family)}"
        for family in families
    )
    return f'''"""Every method as a function with its parameters. {BY} from the catalogue.

Start with the family; each module has the functions of one.

{_listed(families)}
"""

from __future__ import annotations

from typing import TypeVar

{imports}

R = TypeVar("R")


class Methods({", ".join(f"{name}[R]" for name in names)}):
    """All methods; each gives what `run` gives: a tree, or one to be awaited."""


OPTIONS = {tuple(OPTIONS)!r}
"""Arguments of every function, besides its inputs and parameters."""

__all__ = ["OPTIONS", "Methods"]
'''


def _problems() -> str:
    described = {
        code: (f"{title} (HTTP {status}), as in: {detail}", title == UNUSABLE)
        for code, (status, title, detail) in KINDS.items()
    }
    for code in _codes():
        described.setdefault(code, (f"{UNUSABLE}: {code.replace('-', ' ')}.", True))
    base = "unusable-input"
    order = [base, *(code for code in sorted(described) if code != base)]
    classes = []
    for code in order:
        text, unusable = described[code]
        parent = "UnusableInput" if unusable and code != base else "ProblemError"
        classes.append(f"class {_problem_name(code)}({parent}):\n{_docstring(text, indent=4)}\n")
    table = "".join(f"'/problems/{code}': {_problem_name(code)},\n" for code in sorted(described))
    body = "\n\n".join(classes)
    return f'''"""An exception for each type of problem. {BY} from the service's problems.

Types that this client does not know are plain `ProblemError`.
"""

from __future__ import annotations

from collections.abc import Mapping

from umbel_client.errors import ProblemError


{body}

BY_TYPE: Mapping[str, type[ProblemError]] = {{
{table}}}
"""The exception for each type of problem."""

__all__ = {["BY_TYPE", "ProblemError", *map(_problem_name, order)]!r}
'''


def _problem_name(code: str) -> str:
    return "".join(part.capitalize() for part in code.split("-"))


def _codes() -> list[str]:
    """The codes of errors in the user's data, and of jobs' problems, as the code names them."""
    texts = [path.read_text("utf-8") for path in _sources()]
    # To parse the quarter of the files that may name one takes half of the time.
    named = [text for text in texts if re.search(r"\bcode\s*=|\bproblem\s*\(", text)]
    return sorted({code for text in named for code in _codes_in(ast.parse(text))})


def _sources() -> Iterator[Path]:
    for floor in ("models", "workers", "app"):
        yield from sorted((ROOT / floor).rglob("*.py"))


def _codes_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                yield str(keyword.value.value)
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        first = node.args[0] if node.args else None
        if called == "problem" and isinstance(first, ast.Constant):
            yield str(first.value)


def _aio_package() -> str:
    own = sorted({"core", *(module for module in MODULES if "." not in module)})
    return f'''"""The client for asyncio: the blocking classes with `await`. {BY}.

Start with `client`, which has `AsyncUmbel`.

{_listed(own)}
"""
'''


def _aio_core() -> str:
    own = [module.removeprefix("core.") for module in MODULES if module.startswith("core.")]
    return f'''"""How the client for asyncio speaks to a service. {BY}.

{_listed(own)}
"""
'''


def _listed(names: list[str]) -> str:
    return "\n".join(f"- `{name}`" for name in names)


def _documented(module: str, source: str) -> str:
    """The twin of a module with what it was written from."""
    first, _, rest = source.partition("\n")
    title = first.strip('"').rstrip(".")
    return f'"""{title}.\n\nFor asyncio. {BY} from `umbel_client.{module}`.\n"""\n{rest}'


def write() -> None:
    """Write every file, and remove what is no longer written."""
    expected = files()
    for path, text in expected.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for path in WRITTEN.rglob("*.py"):
        if path not in expected:
            path.unlink()


if __name__ == "__main__":
    write()
