"""A distribution with a method, installed into its own folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models import registry
from models.plugins import entry_points
from tests.conftest import ROOT

TOY = Path(__file__).parent / "toy_methods"
CACHES = (registry.methods, registry.plugins, registry._plugged, entry_points.entries)


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the path, in which pip has installed the toy distribution."""
    folder = tmp_path_factory.mktemp("installed")
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--no-cache-dir")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    subprocess.run([*pip, *offline, "--target", folder, TOY], check=True)
    return folder


@pytest.fixture(scope="session")
def path(target: Path) -> str:
    """PYTHONPATH of a process in which both are installed."""
    return os.pathsep.join(map(str, (target, ROOT, ROOT / "client")))


def forget() -> None:
    """Let the registry look again."""
    for cached in CACHES:
        cached.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_methods"]:
        del sys.modules[name]


@pytest.fixture
def installed(target: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy distribution beside Umbel in this process, for this test only."""
    monkeypatch.syspath_prepend(str(target))
    forget()
    yield
    forget()
