"""What the client loads when it is imported, and what only when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import umbel_client

SLOW = ("asyncio", "pandas", "scipy", "sklearn", "matplotlib", "tqdm")
"""Packages that take longer to load than the client."""


def test_an_import_loads_nothing_slow() -> None:
    script = f"import sys, umbel_client; print(*sys.modules.keys() & {set(SLOW)})"
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not shown.stdout.strip()


def test_every_public_name_is_there() -> None:
    for name in umbel_client.__all__:
        assert hasattr(umbel_client, name)
    assert umbel_client.AsyncUmbel.__module__ == "umbel_client._written.aio.client"
    with pytest.raises(AttributeError, match="Umbrella"):
        _ = umbel_client.Umbrella
