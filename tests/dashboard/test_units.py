"""The page's pure modules, tested by Node.js: all files of `js` in one process, since a process for
each takes more time than the tests.

`make test-page` runs each in a process for itself, with the names of all.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.needs_kit import node

pytestmark = pytest.mark.needs("node")
FILES = sorted((Path(__file__).parent / "js").glob("*.test.js"))


def test_the_pages_modules() -> None:
    # Which report is the default changes with the version.
    imports = "".join(f"await import({json.dumps(file.as_uri())});" for file in FILES)
    command = [node(), "--test-reporter=tap", "--input-type=module", "--eval", imports]
    done = subprocess.run(command, capture_output=True, text=True)
    failed = re.findall(r"^not ok .*?^  \.\.\.$", done.stdout, re.M | re.S)
    assert not failed, "\n".join(failed)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout
    counts = [file.read_text("utf-8").count("\ntest(") for file in FILES]
    assert all(counts)
    n_passed = int(re.search(r"^# pass (\d+)$", done.stdout, re.M)[1])
    assert n_passed >= sum(counts)
