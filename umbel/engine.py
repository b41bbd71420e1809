"""What a member of a Dask cluster runs: it computes pieces of a job of the service, whose setting
`UMBEL_ENGINE` names the scheduler.

A member needs Umbel in the same version, and in its environment the settings of a worker:
UMBEL_REDIS_URL, UMBEL_STORE_URL and the credentials of the store. The computing is done by another
process, as in a worker (`workers.supervisor.member`): one for each process of Dask's, started with
the first piece; it ends with it.
"""

from __future__ import annotations

import json
import subprocess
import threading
from importlib.metadata import version

_one_at_a_time = threading.Lock()
_process: subprocess.Popen[str] | None = None


def help_with(job_id: str, of_version: str) -> None:
    """Compute pieces of a job while any are free.

    of_version : that of the worker with the job; another one's pieces may differ.

    Raises RuntimeError if this member cannot help: it has another version, its settings do not
    suffice for a worker, or the store or Redis cannot be reached.
    """
    own = version("umbel")
    if own != of_version:
        raise RuntimeError(f"the member has Umbel {own}, the worker {of_version}")
    with _one_at_a_time:
        process = _started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(job_id + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            process.wait()
            raise RuntimeError("the member's process ended; its log says why")
    if problem := json.loads(line):
        raise RuntimeError(problem)


def _started() -> subprocess.Popen[str]:
    """The process that computes."""
    global _process
    if _process is None or _process.poll() is not None:
        from umbel import floors

        _process = subprocess.Popen(
            floors.command("workers.supervisor.member"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    return _process
