"""The facts of a JSON document, found in a separate process.

Parsing holds the interpreter's lock from beginning to end: a document of megabytes would keep every
other request of the API waiting. Starting the process takes about a third of a second.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any

from models.errors import UsageError
from workers.child.apart import run_apart
from workers.child.confinement import confine
from workers.formats.facts import Facts


def facts_apart(document: bytes, role: str | None = None) -> Facts:
    """As `workers.formats.json.facts`; blocks. Raises TransientError if the process is killed."""
    arguments = [] if role is None else [role]
    return facts_of(json.loads(run_apart("workers.child.json_facts", document, *arguments)))


def facts_of(message: dict[str, Any]) -> Facts:
    """The facts that a process wrote. Raises the user's error."""
    if "detail" in message:
        raise UsageError(message["detail"], code=message["code"], **message["where"])
    return Facts(
        tuple(message["shape"]),
        message["dtype"],
        sparse=message["sparse"],
        warnings=tuple(message["warnings"]),
    )


def message_of(document: bytes, role: str | None) -> dict[str, Any]:
    """What the process writes: the facts of the document, or the user's error."""
    from workers.formats import json as json_format

    try:
        facts = json_format.facts(document, role)
    except UsageError as error:
        return {"detail": error.detail, "code": error.code, "where": error.where}
    return {
        "shape": facts.shape,
        "dtype": facts.dtype,
        "sparse": facts.sparse,
        "warnings": facts.warnings,
    }


def main() -> None:
    """Write the facts of the document on standard input, or the user's error, as JSON."""
    # Everything that is allocated lives until the end.
    gc.disable()
    confine(sockets=False)
    role = sys.argv[1] if len(sys.argv) > 1 else None
    sys.stdout.write(json.dumps(message_of(sys.stdin.buffer.read(), role)))
    sys.stdout.flush()
    # The document's values are not taken apart one by one.
    os._exit(0)
