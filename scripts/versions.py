"""The one version of what is released."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROJECTS = {"umbel": ROOT, "umbel-client": ROOT / "client"}


def metadata() -> dict[str, dict[str, Any]]:
    """The table `project` of each project."""
    return {
        name: tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for name, folder in PROJECTS.items()
    }


def version() -> str:
    """The version of both projects. Exits where they differ."""
    versions = {name: project["version"] for name, project in metadata().items()}
    text = (ROOT / "client" / "umbel_client" / "version.py").read_text()
    stated = re.search(r'^VERSION = "(.*)"$', text, flags=re.MULTILINE)
    if len({*versions.values(), stated and stated[1]}) != 1:
        sys.exit(f"the versions differ: {versions}, {stated and stated[1]}")
    return str(versions["umbel"])
