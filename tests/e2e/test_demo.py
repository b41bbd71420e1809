"""The demo, which newcomers run first."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import psutil


def test_the_demo_shows_every_step(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "umbel", "demo", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=230,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("Swedish", "dendrogram_purity", "100% succeeded", "make serve", "doubtful"):
        assert words in done.stdout
    out = tmp_path / "out"
    tree = json.loads((out / "languages.json").read_text())
    assert tree["n_leaves"] == 119
    assert (out / "languages.nwk").read_text().count(",") == 118
    assert ET.fromstring((out / "languages.svg").read_text()).tag.endswith("svg")
    assert (out / "languages.png").read_bytes().startswith(b"\x89PNG")
    remaining = [
        process.info
        for process in psutil.process_iter(["cmdline"])
        if any("umbel-demo-" in part for part in process.info["cmdline"] or ())
    ]
    assert remaining == []
