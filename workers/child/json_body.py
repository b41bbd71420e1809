"""The JSON body of a request, parsed in a separate process, with its long inline inputs checked.

Parsing holds the interpreter's lock from beginning to end: a million rows would keep every other
request of the API waiting for a second. What comes back is the body with stand-ins for those lists,
and each list as the bytes that are stored. Starting the process takes about a third of a second.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from pydantic_core import to_json

from models.errors import UsageError
from workers.child.apart import run_apart
from workers.child.confinement import confine
from workers.formats.inline import LongList, shapes_of_list
from workers.formats.strict_json import (
    INPUTS,
    Bound,
    NotStrict,
    parse_json,
    parts_with_inputs,
    require_few,
)

LONG_BYTES = 64 << 10
"""A list of this many bytes of JSON is long."""


def body_apart(body: bytes, bound: Bound | None = None) -> Any:
    """The value of the body; a long list that is an input is a `LongList`. Blocks.

    Raises NotStrict, also for more values than `bound` allows, and TransientError if the process is
    killed.
    """
    bound = bound or Bound()
    arguments = (str(bound.values), str(int(bound.numbers)))
    head, _, rest = run_apart("workers.child.json_body", body, *arguments).partition(b"\n")
    message = json.loads(head)
    if "detail" in message:
        raise NotStrict(message["code"], message["detail"])
    view = memoryview(rest)
    value = parse_json(bytes(view[: message["length"]]))
    start = message["length"]
    for part in message["lists"]:
        error = part["error"]
        inputs = value
        for field in part["way"]:
            inputs = inputs[field]
        inputs[part["role"]] = LongList(
            bytes(view[start : start + part["length"]]),
            {role: tuple(shape) for role, shape in part["shapes"].items()},
            None
            if error is None
            else UsageError(error["detail"], code=error["code"], **error["where"]),
        )
        start += part["length"]
    return value


def main() -> None:
    """Write, for the body on standard input: a line with the lengths of what follows, or with the
    refusal; the body without its long lists; these."""
    # Everything that is allocated lives until the end.
    gc.disable()
    confine(sockets=False)
    output = sys.stdout.buffer
    try:
        value = parse_json(sys.stdin.buffer.read())
        require_few(value, Bound(int(sys.argv[1]), sys.argv[2] == "1"))
    except NotStrict as error:
        output.write(json.dumps({"code": error.code, "detail": error.detail}).encode() + b"\n")
    else:
        for piece in _pieces(value):
            output.write(piece)
    output.flush()
    # The values are not taken apart one by one.
    os._exit(0)


def _pieces(value: Any) -> list[bytes]:
    lists, pieces = [], []
    for way, inputs, role, given in list(_inputs(value)):
        if not isinstance(given, list) or _are_ids(given):
            continue
        content = to_json(given)
        if len(content) > LONG_BYTES:
            facts = {"role": role, "way": way, "length": len(content)}
            lists.append({**facts, **_checked(role, given)})
            pieces.append(content)
            inputs[role] = None
    rest = to_json(value)
    head = json.dumps({"length": len(rest), "lists": lists}).encode() + b"\n"
    return [head, rest, *pieces]


def _inputs(value: Any) -> Iterator[tuple[tuple[str, ...], dict[str, Any], str, Any]]:
    """What is an input, in `inputs` and beside them: the way to the object with it, that object,
    its role, itself."""
    if not isinstance(value, dict):
        return
    for way, part in parts_with_inputs(value):
        for role in INPUTS & part.keys():
            yield way, part, role, part[role]
        inputs = part.get("inputs")
        if isinstance(inputs, dict):
            for role, given in inputs.items():
                yield (*way, "inputs"), inputs, role, given


def _are_ids(value: list[Any]) -> bool:
    return all(isinstance(item, str) and item.startswith("ds_") for item in value)


def _checked(role: str, value: list[Any]) -> dict[str, Any]:
    try:
        return {"shapes": shapes_of_list(role, value), "error": None}
    except UsageError as error:
        facts = {"detail": error.detail, "code": error.code, "where": error.where}
        return {"shapes": {}, "error": facts}
