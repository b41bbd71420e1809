"""A Dockerfile as the steps that build its image, without building anything.

`plan` resolves build arguments, environment, users and folders, so that whoever runs the steps has
nothing left to interpret. It knows the instructions and flags of this project's Dockerfile and
refuses every other with its line: no step is left out in silence. The grammar is BuildKit's
(docs.docker.com/reference/dockerfile). dockerfile-parse, the usual library for Python, splits a
here-document into instructions of its own (its issue 145).
"""

from __future__ import annotations

import json
import re
import shlex
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

SHELL = ("/bin/sh", "-c")
SCRATCH = "scratch"


class DockerfileError(ValueError):
    """What a Dockerfile has that this module does not build, and where."""


@dataclass(frozen=True)
class Instruction:
    """One instruction. text : what follows its name and flags, lines joined; documents : its
    here-documents, whole, as they stand in the file."""

    line: int
    name: str
    flags: dict[str, str]
    text: str
    documents: str = ""

    def error(self, problem: str) -> DockerfileError:
        return DockerfileError(f"line {self.line}, {self.name}: {problem}")


@dataclass(frozen=True)
class Run:
    """Run `command` in `folder` as `user` (a name, an id, or either with `:group`)."""

    command: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    user: str


@dataclass(frozen=True)
class Copy:
    """Copy `sources`, paths of the build's context or of the stage `stage`, to `target`."""

    sources: tuple[str, ...]
    target: str
    stage: int | None = None


@dataclass(frozen=True)
class Folder:
    """Make a folder, if it is not there yet; it then belongs to `user`."""

    path: str
    user: str


Step = Run | Copy | Folder


@dataclass(frozen=True)
class Image:
    """What an engine knows of an image besides its files."""

    environment: dict[str, str]
    user: str = "root"
    folder: str = "/"
    command: tuple[str, ...] = ()
    health: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    stop_signal: str = "SIGTERM"


@dataclass
class Stage:
    """base : the name of an image, or the number of an earlier stage. steps : each with the line
    of its instruction and what a person reads of it."""

    base: str | int
    name: str
    image: Image
    steps: list[tuple[int, str, Step]] = field(default_factory=list)


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a Dockerfile in their order.

    Raises DockerfileError for what has no end, and for the directive `escape`.
    """
    lines = deque(enumerate(text.splitlines(), 1))
    while lines:
        number, line = lines.popleft()
        if re.match(r"\s*#\s*escape\s*=", line, re.I):
            raise DockerfileError(f"line {number}: the directive `escape` is not supported")
        if _is_void(line):
            continue
        while line.rstrip().endswith("\\"):
            while lines and _is_void(lines[0][1]):
                lines.popleft()
            if not lines:
                raise DockerfileError(f"line {number}: the instruction has no end")
            line = line.rstrip()[:-1] + lines.popleft()[1]
        documents: list[str] = []
        for dash, _, ending in re.findall(r"(?<!<)<<(-?)(['\"]?)([A-Za-z_]\w*)\2", line):
            end = ""
            while lines and end != ending:
                documents.append(lines.popleft()[1])
                end = documents[-1].lstrip("\t") if dash else documents[-1]
            if end != ending:
                raise DockerfileError(f"line {number}: the here-document {ending} has no end")
        yield _instruction(number, line, "\n".join(documents))


def _is_void(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _instruction(number: int, line: str, documents: str) -> Instruction:
    name, _, rest = line.strip().partition(" ")
    flags = {}
    while found := re.match(r"--([a-z-]+)(?:=(\S*))?\s*", rest.lstrip()):
        flags[found[1]] = found[2] or ""
        rest = rest.lstrip()[found.end() :]
    return Instruction(number, name.upper(), flags, rest.strip(), documents)


def plan(text: str, build_args: Mapping[str, str], base: Mapping[str, str]) -> list[Stage]:
    """The stages of a Dockerfile; the last one is the image.

    build_args : as of `docker build --build-arg`. base : the environment that images from elsewhere
    bring along.

    Raises DockerfileError for an instruction or flag that is not known here, for a variable in a
    form that is not, and for a build argument that no stage takes.
    """
    stages: list[Stage] = []
    shared: dict[str, str] = {}
    arguments: dict[str, str] = {}
    taken = set()
    for instruction in instructions(text):
        if instruction.name == "ARG":
            _refuse_flags(instruction)
            for word in _words(instruction, _scope(stages, arguments) if stages else shared):
                name, given, default = word.partition("=")
                taken.add(name)
                default = default if given or not stages else shared.get(name, "")
                (arguments if stages else shared)[name] = build_args.get(name, default)
        elif instruction.name == "FROM":
            arguments = {}
            stages.append(_stage(instruction, stages, shared, base))
        elif not stages:
            raise instruction.error("before the first FROM only ARG may stand")
        else:
            _add(stages, instruction, arguments)
    if unknown := sorted(set(build_args) - taken):
        raise DockerfileError(f"build arguments that no ARG names: {', '.join(unknown)}")
    if not stages:
        raise DockerfileError("no FROM")
    return stages


def _scope(stages: list[Stage], arguments: Mapping[str, str]) -> dict[str, str]:
    """What variables stand for: ENV wins over ARG."""
    return {**arguments, **stages[-1].image.environment} if stages else {}


def _stage(
    instruction: Instruction,
    stages: list[Stage],
    shared: Mapping[str, str],
    base: Mapping[str, str],
) -> Stage:
    _refuse_flags(instruction)
    words = _words(instruction, shared)
    if len(words) not in (1, 3) or (len(words) == 3 and words[1].upper() != "AS"):
        raise instruction.error("expected IMAGE or IMAGE AS NAME")
    name = words[2] if len(words) == 3 else str(len(stages))
    for number, stage in enumerate(stages):
        if stage.name == words[0]:
            return Stage(number, name, stage.image)
    return Stage(words[0], name, Image({} if words[0] == SCRATCH else dict(base)))


def _add(stages: list[Stage], instruction: Instruction, arguments: Mapping[str, str]) -> None:
    """Append what an instruction does to the last stage: a step, or a fact about the image."""
    stage, image = stages[-1], stages[-1].image
    scope = _scope(stages, arguments)
    match instruction.name:
        case "RUN":
            _refuse_flags(instruction)
            command = _command(instruction)
            step: Step = Run(command, scope, image.folder, image.user)
        case "COPY":
            _refuse_flags(instruction, "from")
            *sources, target = _words(instruction, scope)
            if not sources or instruction.documents:
                raise instruction.error("expected SOURCE... TARGET, without here-documents")
            step = Copy(tuple(sources), _below(image.folder, target), _source(stages, instruction))
        case "WORKDIR":
            [path] = _words(instruction, scope, count=1)
            image = replace(image, folder=_below(image.folder, path))
            step = Folder(image.folder, image.user)
        case _:
            stage.image = _described(image, instruction, scope)
            return
    stage.image = image
    stage.steps.append((instruction.line, f"{instruction.name} {instruction.text}", step))


def _described(image: Image, instruction: Instruction, scope: Mapping[str, str]) -> Image:
    if instruction.name != "HEALTHCHECK":
        _refuse_flags(instruction)
    match instruction.name:
        case "ENV":
            return replace(image, environment={**image.environment, **_pairs(instruction, scope)})
        case "USER":
            return replace(image, user=_words(instruction, scope, count=1)[0])
        case "CMD":
            return replace(image, command=_command(instruction))
        case "HEALTHCHECK":
            _refuse_flags(instruction, "interval", "timeout", "start-period", "retries")
            test = re.sub(r"^CMD\s+", "", instruction.text)
            if test == instruction.text:
                raise instruction.error("expected CMD")
            return replace(image, health=_command(replace(instruction, text=test)))
        case "VOLUME":
            return replace(image, volumes=image.volumes + _listed(instruction, scope))
        case "EXPOSE":
            return replace(image, ports=image.ports + _words(instruction, scope))
        case "STOPSIGNAL":
            return replace(image, stop_signal=_words(instruction, scope, count=1)[0])
        case _:
            raise instruction.error("not an instruction that is built here")


def _refuse_flags(instruction: Instruction, *known: str) -> None:
    if unknown := sorted(set(instruction.flags) - set(known)):
        raise instruction.error(f"not a flag that is built here: --{', --'.join(unknown)}")


def _source(stages: list[Stage], instruction: Instruction) -> int | None:
    """The number of the stage that `COPY --from` names."""
    wanted = instruction.flags.get("from")
    if wanted is None:
        return None
    for number, stage in enumerate(stages[:-1]):
        if wanted in (stage.name, str(number)):
            return number
    raise instruction.error(f"no earlier stage is named {wanted}")


def _below(folder: str, path: str) -> str:
    return path if path.startswith("/") else f"{folder.rstrip('/')}/{path.removeprefix('./')}"


def _command(instruction: Instruction) -> tuple[str, ...]:
    """The words of the exec form, or the shell's call; a here-document is the shell's to read, or
    is the whole script where nothing else stands beside it."""
    if instruction.text.startswith("["):
        return _json_words(instruction)
    if not instruction.text:
        raise instruction.error("expected a command")
    if not instruction.documents:
        return (*SHELL, instruction.text)
    if instruction.text.startswith("<<"):
        raise instruction.error("a here-document alone is not built here; give it to a command")
    return (*SHELL, f"{instruction.text}\n{instruction.documents}\n")


def _json_words(instruction: Instruction) -> tuple[str, ...]:
    try:
        words = json.loads(instruction.text)
    except ValueError as error:
        raise instruction.error(f"not a JSON array: {error}") from None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise instruction.error("expected a JSON array of strings")
    return tuple(words)


def _listed(instruction: Instruction, scope: Mapping[str, str]) -> tuple[str, ...]:
    if instruction.text.startswith("["):
        return _json_words(instruction)
    return _words(instruction, scope)


def _words(
    instruction: Instruction, scope: Mapping[str, str], count: int | None = None
) -> tuple[str, ...]:
    """The words of an instruction with their variables replaced; `count` of them where given."""
    if instruction.text.startswith("["):
        raise instruction.error("the form of JSON is not built here")
    words = tuple(_expanded(word, instruction, scope) for word in _split(instruction))
    if not words or count not in (None, len(words)):
        raise instruction.error(f"expected {count or 'some'} words, got {len(words)}")
    return words


def _split(instruction: Instruction) -> list[str]:
    # Quotes are gone after the split, and with them what would keep a variable from being replaced.
    if "$" in instruction.text and re.search(r"['\\]", instruction.text):
        raise instruction.error("a variable beside single quotes or backslashes is not supported")
    try:
        return shlex.split(instruction.text)
    except ValueError as error:
        raise instruction.error(str(error)) from None


def _expanded(word: str, instruction: Instruction, scope: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found["default"] is None:
            return scope.get(found["plain"] or found["braced"], "")
        return scope.get(found["braced"]) or found["default"]

    pattern = r"\$(?:(?P<plain>\w+)|\{(?P<braced>\w+)(?::-(?P<default>[^${}]*))?\})"
    if "$" in re.sub(pattern, "", word):
        raise instruction.error(f"not a form of variable that is built here: {word}")
    return re.sub(pattern, value, word)


def _pairs(instruction: Instruction, scope: Mapping[str, str]) -> dict[str, str]:
    words = _words(instruction, scope)
    if wrong := [word for word in words if "=" not in word]:
        raise instruction.error(f"expected NAME=VALUE, got {wrong[0]}")
    return dict(word.split("=", 1) for word in words)
