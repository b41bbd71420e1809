"""What is released is one thing: versions, requirements, names, platforms."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts import install, platforms, release, versions
from tests.conftest import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def test_there_is_one_version() -> None:
    version = release.version()
    assert f"umbel-client[shell]=={version}" in PROJECT["dependencies"]
    npm = json.loads((ROOT / "client-js/package.json").read_text())["version"]
    assert npm.replace("-rc.", "rc") == version
    kustomization = yaml.safe_load((ROOT / "docs/deploy/kustomization.yaml").read_text())
    assert kustomization["images"][0]["newTag"] == version
    assert f"## {version} " in (ROOT / "CHANGELOG.md").read_text()


def test_a_final_version_needs_the_address_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "umbel"\nversion = "1.0.0"\n')
    monkeypatch.setattr(versions, "PROJECTS", {"umbel": tmp_path})
    monkeypatch.setattr(release, "version", lambda: "1.0.0")
    with pytest.raises(SystemExit, match=r"without \[project\.urls\] in pyproject\.toml: umbel"):
        release.build()


def test_all_has_every_extra_of_users() -> None:
    named = re.fullmatch(r"umbel\[(.*)\]", *EXTRAS["all"])
    assert named
    assert set(named[1].split(",")) == {*install.EXTRAS, "torch", "telemetry"}
    assert set(platforms.EXTRAS) == set(named[1].split(","))


def test_what_developers_get_brings_no_pytorch() -> None:
    """PyTorch for CUDA would come with it, where its index has no other."""
    for extra in ("dev", "bench", "release", "fuzz"):
        assert not [line for line in EXTRAS[extra] if re.match(r"torch|geoopt|umbel", line)]


def test_constraints_refuse_nothing() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert not [line for line in pins if not re.fullmatch(r"[\w.-]+==[\w.+!-]+", line)]


@pytest.mark.parametrize(
    ("system", "tsne"), [("Linux x86-64", True), ("Linux ARM64", False), ("macOS 14 ARM64", True)]
)
def test_markers_hold_for_the_system_of_the_table(system: str, tsne: bool) -> None:
    [found] = [each for each in platforms.SYSTEMS if each.name == system]
    required = platforms.requirements("maps", found, "3.12")
    assert any(line.startswith("openTSNE") for line in required) == tsne
    assert not [line for line in required if ";" in line]


def test_the_table_of_the_installation_has_every_system_and_python() -> None:
    text = platforms.PAGE.read_text()
    table = text.partition(platforms.BEGIN)[2].partition(platforms.END)[0]
    for system in platforms.SYSTEMS:
        for python in platforms.PYTHONS:
            [row] = [line for line in table.splitlines() if f"| {system.name} | {python} |" in line]
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            assert cells[2:4] == ["yes", "yes"], row


def test_the_wheel_takes_one_name(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(tmp_path), str(ROOT)], check=True)
    [wheel] = tmp_path.glob("umbel-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"umbel"}
    held = {name for name in names if name.startswith("umbel/source/app/dashboard/")}
    listed = ["git", "ls-files", "app/dashboard"]
    files = subprocess.check_output(listed, cwd=ROOT, text=True).split()
    assert {f"umbel/source/{file}" for file in files} == held
    assert [name for name in names if name.endswith("LICENSE-DejaVu.txt") and "dist-info" in name]
