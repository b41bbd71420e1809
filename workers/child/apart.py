"""One call in a fresh process, for work that would hold this one's interpreter lock."""

from __future__ import annotations

import os
import subprocess

from umbel import floors
from workers import processes
from workers.child.template import SECRET
from workers.errors import TransientError

LONGEST_S = 300.0
"""A process that takes longer is killed; the longest documents take a few seconds."""


def run_apart(module: str, document: bytes, *arguments: str) -> bytes:
    """What `main` of `module` writes for `document` on its standard input; blocks.

    Raises TransientError if the process is killed.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(SECRET)}
    process = processes.spawn(
        floors.command(module, *arguments),
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        output, _ = process.communicate(document, LONGEST_S)
    except subprocess.TimeoutExpired:
        output = b""
    finally:
        status = processes.stop(process, 0.0)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
    if status != 0:
        raise TransientError(f"the process that opens JSON documents ended with {status}")
    return output
