"""The switch to plain loops holds in jobs, which do not inherit its variable."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


# A template compiles what its trial job needs, once for each of the two.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("value", "plain"), [("1", "True"), ("0", "False")])
def test_jobs_run_on_what_their_worker_was_started_with(value: str, plain: str) -> None:
    show = (
        "import os; from models.simd.switch import PLAIN; "
        "print('jobs:', PLAIN, os.environ.get('UMBEL_PLAIN_LOOPS'), flush=True)"
    )
    code = (
        "from workers.child import template; context = template.begin(1, later=True); "
        f"child = context.Process(target=exec, args=({show!r},)); "
        "child.start(); child.join()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "UMBEL_PLAIN_LOOPS": value},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"jobs: {plain} None" in done.stdout
