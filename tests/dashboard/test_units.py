"""The page's pure modules, tested by Node.js: each file of `js` is a test here, and has many there.

`make test-page` runs them alone, with the names of all.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.needs_kit import node

pytestmark = pytest.mark.needs("node")
FILES = sorted((Path(__file__).parent / "js").glob("*.test.js"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_pages_modules(file: Path) -> None:
    # Which report is the default changes with the version.
    command = [node(), "--test", "--test-reporter=tap", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout
    assert "# pass 0" not in done.stdout
