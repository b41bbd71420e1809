"""A service of one's own, which ends with the process that started it."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from umbel_client.errors import CannotStart

_POLL_S = 0.05
_END_S = 20.0


class LocalService:
    """`umbel serve` on a free port of this machine.

    The service runs in a separate session, so that Ctrl-C does not reach it, under a keeper that
    ends it when this process has ended, in whatever way.

    data_dir : where it keeps its data; None: a temporary folder, removed at the end.
    workers : worker processes. start_s : the most seconds that it may take to start.

    Raises CannotStart where the server is not installed or does not start.
    """

    def __init__(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        workers: int = 2,
        start_s: float = 60.0,
    ) -> None:
        command = [_installed(), "serve", "--port", "0", "--workers", str(workers)]
        self._own = data_dir is None
        self.data_dir = Path(tempfile.mkdtemp(prefix="umbel-") if data_dir is None else data_dir)
        self.data_dir.mkdir(parents=True, exist_ok=True)
        place = str(self.data_dir.absolute())
        (self.data_dir / "url").unlink(missing_ok=True)
        with (self.data_dir / "log").open("ab") as log:
            self._keeper = subprocess.Popen(
                [
                    *(sys.executable, "-m", "umbel_client.keeper"),
                    *([f"--remove={place}"] if self._own else []),
                    *("--", *command, "--data-dir", place),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        atexit.register(self.stop)
        self.url = self._started(start_s)

    def stop(self) -> None:
        """End the service and wait until it has ended."""
        atexit.unregister(self.stop)
        if self._keeper.stdin is not None:
            with contextlib.suppress(OSError):
                self._keeper.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._keeper.wait(_END_S)

    def _started(self, start_s: float) -> str:
        """The address, once the service is ready."""
        deadline = time.monotonic() + start_s
        address = self.data_dir / "url"
        while not address.exists():
            if self._keeper.poll() is not None or time.monotonic() > deadline:
                log = self._last_lines()
                self.stop()
                raise CannotStart(f"The service did not start within {start_s:g} s:\n{log}")
            time.sleep(_POLL_S)
        return address.read_text().strip()

    def _last_lines(self) -> str:
        with contextlib.suppress(OSError):
            return (self.data_dir / "log").read_text(errors="replace")[-2000:].strip()
        return ""


def _installed() -> str:
    """The command `umbel`: of this environment, else the first one on the path."""
    beside = Path(sys.executable).parent / "umbel"
    command = str(beside) if beside.is_file() else shutil.which("umbel")
    if command is None:
        raise CannotStart(
            "The server is not installed in this environment: there is no command `umbel`. Install "
            "it, or give the address of a running service: Umbel(url)."
        )
    return command
