"""How a thing of the service was made: its data, its parameters, and a command that repeats it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from umbel_client.core.connection import Connection
from umbel_client.errors import ProblemError
from umbel_client.methods import METHODS

MOST_INPUTS = 20
"""Inputs of which the names are read."""

_COMMANDS = {"fit": "run", "drift": "drift", "calibrate": "calibrate", "compare": "compare"}

_DEFAULTS: Mapping[str, Any] = {
    "level": 0.05,
    "alpha": 0.1,
    "loss": "miss",
    "per": "all",
    "answer": "node",
    "score": "lac",
    "seed": 0,
}
"""Options of drifts and calibrations that a command leaves out."""


@dataclass(frozen=True)
class Input:
    """An input of a job. name : of its file. size : of the data, in words; both may be unknown."""

    role: str
    value: str
    name: str = ""
    size: str = ""
    kept: bool = True

    @property
    def file(self) -> str:
        """How a command names it."""
        if self.name and not self.kept:
            return self.name
        return self.value if self.value.startswith("ds_") and self.kept else "FILE"


@dataclass(frozen=True)
class Origin:
    """How a thing was made. command : that repeats it; "" where there is none.

    given : the files of a command, which name inputs that the service no longer has.
    """

    job: Mapping[str, Any]
    inputs: Sequence[Input]
    command: str

    @classmethod
    def of(
        cls,
        connection: Connection,
        job_id: str | None,
        given: Mapping[str, str],
        body: Mapping[str, Any],
    ) -> Origin:
        """job_id : None for what no job has made. given : files by role. body : the thing's.

        Raises as the service's answers do, but for what has been removed.
        """
        if job_id is None:
            return cls({}, (), "")
        try:
            job = connection.described(f"/v1/jobs/{job_id}", "id")
        except ProblemError as error:
            if error.status not in (403, 404, 410):
                raise
            return cls({}, (), "")
        inputs = [
            _input(connection, role, value, given, read=number < MOST_INPUTS)
            for number, (role, value) in enumerate(_inputs(job))
        ]
        return cls(job, inputs, command_of(job, inputs, body))

    def names(self) -> str:
        """The names of the data, in one line."""
        names = dict.fromkeys(each.name for each in self.inputs if each.name)
        return ", ".join(names)


def _inputs(job: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for role, value in (job.get("inputs") or {}).items():
        for each in value if isinstance(value, list) else [value]:
            yield role, str(each)


def _input(
    connection: Connection, role: str, value: str, given: Mapping[str, str], *, read: bool
) -> Input:
    name = given.get(role) or given.get(role.partition(".")[0]) or ""
    if not name and not role.endswith("labels"):
        name = given.get("rows", "")
    if not value.startswith("ds_") or not read:
        return Input(role, value, name, kept=not name)
    try:
        dataset = connection.described(f"/v1/datasets/{value}", "id")
    except ProblemError as error:
        if error.status not in (403, 404, 410):
            raise
        return Input(role, value, name, kept=False)
    shape = dataset.get("shape")
    size = " x ".join(f"{n:,}" for n in shape) if isinstance(shape, list) else ""
    own = str(dataset.get("name") or "")
    return Input(role, value, name or own, f"{size} {dataset.get('dtype') or ''}".strip())


def changed(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that are not a method's defaults; all of a method that is not known here."""
    facts = METHODS.get(method)
    defaults = {} if facts is None else facts.defaults
    return {
        name: value
        for name, value in params.items()
        if value is not None and (name not in defaults or defaults[name] != value)
    }


def command_of(job: Mapping[str, Any], inputs: Sequence[Input], body: Mapping[str, Any]) -> str:
    """The command that repeats a job, quoted for a shell; "" for a kind that has none. Inputs are
    ids where the service keeps them, else files; FILE where neither is known. body : the thing's.
    """
    return shlex.join(_words(job, inputs, body))


def _words(
    job: Mapping[str, Any], inputs: Sequence[Input], body: Mapping[str, Any]
) -> Iterator[str]:
    command = _COMMANDS.get(str(job.get("kind")))
    if command is None:
        return
    yield from ("umbel", command)
    if command == "run":
        yield str(job["method"])
        for each in inputs:
            yield from (_option(each.role), each.file)
        for name, value in changed(str(job["method"]), job.get("params") or {}).items():
            yield from (_option(name), _text(value))
        for name in ("preprocess", "then", "support", "name_by"):
            if job.get(name):
                yield from (_option(name), _text(job[name]))
    elif command == "compare":
        rows = body.get("table") or ()
        for row in rows:
            params = changed(row["method"], row["params"]).items()
            text = ",".join(f"{name}={_text(value)}" for name, value in params)
            yield f"{row['method']}:{text}" if text else row["method"]
        for each in inputs:
            yield from (_option(each.role), each.file)
        yield from ("--seeds", str(max((row["seeds"] for row in rows), default=1)))
    else:
        yield str(body.get("tree"))
        labels = [each for each in inputs if each.role.endswith("labels")]
        yield from (each.file for each in inputs if each not in labels)
        for each in labels:
            yield from (_option(each.role.replace(".", "_")), each.file)
        result = body.get("result") or {}
        for name, default in _DEFAULTS.items():
            if result.get(name, default) not in (default, None):
                yield from (_option(name), _text(result[name]))


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
