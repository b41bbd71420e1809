"""Keeps one command running until its own standard input ends, which the process that started it
holds open: so the command ends with that process, in whatever way it ends.

Run as `python -m umbel_client.keeper [--remove=FOLDER] -- COMMAND ...`; the folder is removed last.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading

_GRACE_S = 15.0


def main(arguments: list[str]) -> int:
    """The exit status of the command."""
    split = arguments.index("--")
    options, command = arguments[:split], arguments[split + 1 :]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        watcher = threading.Thread(target=_end_with_input, args=(process,), daemon=True)
        watcher.start()
        return process.wait()
    finally:
        for option in options:
            shutil.rmtree(option.removeprefix("--remove="), ignore_errors=True)


def _end_with_input(process: subprocess.Popen[bytes]) -> None:
    while sys.stdin.buffer.read(4096):
        pass
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
