"""`python -m tests.workers.stores.redis.mutants`: the changes of a Lua script that none notices.

Sequences of calls on which the scripts and their model agreed are repeated with each mutant; a
mutant survives if every reply, and what Redis holds in the end, are the same.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import redis

from tests.workers.conftest import Server
from tests.workers.stores.redis.machine_kit import follow
from tests.workers.stores.redis.scripts_kit import FOLDER, NAMES, SHARED, Step, TimedScripts


@dataclass(frozen=True)
class Mutant:
    """One change of one script. script : its name; line : of the change, from 1."""

    script: str
    line: int
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"{self.script}:{self.line} {self.before.strip()} -> {self.after.strip()}"


_CONDITION = re.compile(r"\b(if|elseif|while) (.+?) (then|do)\b")
_OPERATOR = re.compile(r"(?<=\s)(==|~=|<=|>=|<|>)(?=\s)")
_OPPOSITE = {"==": ("~=",), "~=": ("==",), "<=": ("<", ">"), ">=": (">", "<")}
_OPPOSITE |= {"<": ("<=", ">="), ">": (">=", "<=")}


def mutants() -> Iterator[Mutant]:
    """Every condition negated, made true and false, and without each part; every comparison by
    another; every statement left out; every number in a sum by none."""
    for name in NAMES:
        text = (FOLDER / f"{name}.lua").read_text()
        lines = text.splitlines(keepends=True)
        for number, line in enumerate(lines):
            if line.lstrip().startswith("--"):
                continue
            for after in dict.fromkeys(changes(lines, number)):
                body = "".join([*lines[:number], after, *lines[number + 1 :]])
                yield Mutant(name, number + 1, line, after, body)


def changes(lines: list[str], number: int) -> Iterator[str]:
    """Other texts for one line."""
    line = lines[number]
    for match in _CONDITION.finditer(line):
        head, tail = line[: match.start(2)], line[match.end(2) :]
        condition = match[2]
        if match[1] != "while":
            yield f"{head}not ({condition}){tail}"
            yield f"{head}true{tail}"
        yield f"{head}false{tail}"
    for word in (" and ", " or "):
        for match in re.finditer(word, line):
            yield from without_operand(line, match)
    for match in _OPERATOR.finditer(line):
        for other in _OPPOSITE[match[1]]:
            yield f"{line[: match.start()]}{other}{line[match.end() :]}"
    for match in re.finditer(r"\bnow [+-] ([A-Za-z]+\[\d\]|longer)", line):
        yield f"{line[: match.start()]}now{line[match.end() :]}"
    for match in re.finditer(r", (-?1)\)", line):
        yield f"{line[: match.start(1)]}0{line[match.end(1) :]}"
    yield from without_statement(lines, number)


def without_operand(line: str, match: re.Match[str]) -> Iterator[str]:
    """The line without the operand before or after an `and` or `or`."""
    before, after = line[: match.start()], line[match.end() :]
    starts = [m.end() for m in re.finditer(r"\b(if|elseif|return|not|=|and|or) |\(", before)]
    for start in starts[-3:]:
        cut = before[:start] + after
        if balanced(cut):
            yield cut
    for end in (m.start() for m in re.finditer(r" (then|and|or|do)\b|,|\n|\)", after)):
        cut = before + after[end:]
        if balanced(cut):
            yield cut
            break


def without_statement(lines: list[str], number: int) -> Iterator[str]:
    """The line as a comment, if it is a whole statement; else without the one that it ends
    with. A statement of several lines loses its effect instead: its call becomes a PING."""
    line = lines[number]
    stripped = line.strip()
    statement = re.match(r"(redis\.call\(|[a-z_]+\(|[a-z_#]+(\[.*?\])? = )", stripped)
    one_line = line.count("(") == line.count(")")
    if statement and one_line and not stripped.endswith(("{", ",")):
        indent = line[: len(line) - len(line.lstrip())]
        yield f"{indent}do end\n"
    elif statement and stripped.startswith("redis.call("):
        yield line.replace("redis.call(", "(function() end)(", 1)
    inline = re.search(
        r"(?<=then )(redis\.call\(|[a-z_]+\(|return|[a-z_]+ = ).*?(?= end\b|$)", line
    )
    if inline and not re.search(r"if .* then return", line) and one_line:
        yield line.replace(inline[0], "")
    inner = re.search(r"(?<=do )redis\.call\(.*?\)(?= end)", line)
    if inner:
        yield line.replace(inner[0], "")


def balanced(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count("{") == text.count("}")


def compiles(client: redis.Redis, mutant: Mutant) -> bool:
    scripts = TimedScripts(client, {mutant.script: mutant.text})
    users = [name for name in NAMES if name != SHARED]
    try:
        for name in users if mutant.script == SHARED else [mutant.script]:
            client.script_load(scripts.source(name))
    except redis.ResponseError:
        return False
    return True


def calling(name: str, sequences: list[list[Step]]) -> list[list[Step]]:
    """The sequences that may notice a change of a script: those that call it, most calls first."""
    if name == SHARED:
        return sequences
    n_calls = [sum(step.name == name for step in sequence) for sequence in sequences]
    order = sorted(range(len(sequences)), key=lambda number: -n_calls[number])
    return [sequences[number] for number in order if n_calls[number]]


def is_noticed(valkey: Server, mutant: Mutant, sequences: list[list[Step]]) -> bool:
    """Whether any of these sequences goes otherwise with this mutant."""
    client = redis.Redis.from_url(valkey.url, decode_responses=True, socket_timeout=5.0)
    changed = TimedScripts(client, {mutant.script: mutant.text})
    try:
        return not all(changed.agrees(sequence) for sequence in sequences)
    except redis.TimeoutError:
        # It loops for ever, and a script that has written cannot be stopped otherwise.
        valkey.stop()
        valkey.start()
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=200)
    parser.add_argument("--of", nargs="*", choices=NAMES, default=NAMES, help="of these scripts")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="umbel-"))
    valkey = Server(folder)
    try:
        valkey.start()
        valkey.client().config_set("appendonly", "no")
        recorder = TimedScripts(valkey.client())
        follow(recorder, arguments.sequences)
        n_mutants = n_survivors = 0
        for mutant in mutants():
            if mutant.script in arguments.of and compiles(valkey.client(), mutant):
                n_mutants += 1
                if not is_noticed(valkey, mutant, calling(mutant.script, recorder.sequences)):
                    n_survivors += 1
                    print(f"survives: {mutant}", flush=True)
        print(f"{n_mutants} mutants, {n_survivors} survive {arguments.sequences} sequences")
    finally:
        valkey.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
