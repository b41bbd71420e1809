"""`make platforms`: whether pip finds wheels of all that Umbel needs, for each system and Python.

For each it resolves the base, each extra and the client, in the versions of `constraints.txt`, by
`pip install --dry-run --only-binary :all: --platform ...`, and writes the table of
`docs/install.md`. Exits with 1 if the base or the client lacks a wheel.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = ("maps", "cones", "pdf", "h5ad", "oidc", "telemetry", "torch")
PAGE = ROOT / "docs" / "install.md"
BEGIN, END = "<!-- written by make platforms -->", "<!-- end -->"


@dataclass(frozen=True)
class System:
    """A system by its name in the table, pip's tags, and what environment markers see."""

    name: str
    tags: tuple[str, ...]
    sys_platform: str
    platform_system: str
    machine: str


def _glibc(machine: str) -> tuple[str, ...]:
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(28, 4, -1)]
    legacy = ("manylinux2014", "manylinux2010", "manylinux1")
    return (*tags, *(f"{name}_{machine}" for name in legacy))


SYSTEMS = (
    System("Linux x86-64", _glibc("x86_64"), "linux", "Linux", "x86_64"),
    System("Linux ARM64", _glibc("aarch64"), "linux", "Linux", "aarch64"),
    System("macOS 14 ARM64", ("macosx_14_0_arm64",), "darwin", "Darwin", "arm64"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", choices=PYTHONS, action="append", help="default: all")
    parser.add_argument("--part", action="append", help="base, client or an extra (default: all)")
    options = parser.parse_args()
    parts, lacking = options.part or ["base", "client", *EXTRAS], False
    results: dict[tuple[str, str, str], str] = {}
    for system in SYSTEMS:
        for python in options.python or PYTHONS:
            for part in parts:
                missing = missing_wheel(part, system, python)
                results[system.name, python, part] = missing
                lacking |= bool(missing) and part in ("base", "client")
                print(f"{system.name}, {python}, {part}: {missing or 'all wheels'}", flush=True)
    if not options.python and not options.part:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}")
    sys.exit(lacking)


def requirements(part: str, system: System, python: str) -> list[str]:
    """What a part requires on a system; markers hold for that system, not for this machine.

    PyTorch comes from a separate index on Linux: there its dependencies are not resolved.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    if part == "client":
        project = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())["project"]
    listed = (
        project["dependencies"]
        if part in ("base", "client")
        else project["optional-dependencies"][part]
    )
    environment = {
        **default_environment(),
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": system.sys_platform,
        "platform_system": system.platform_system,
        "platform_machine": system.machine,
    }
    required = []
    for text in listed:
        requirement = Requirement(text)
        if requirement.name == "umbel-client":
            continue
        if requirement.marker is None or requirement.marker.evaluate(environment):
            requirement.marker = None
            required.append(str(requirement))
    return required


def missing_wheel(part: str, system: System, python: str) -> str:
    """The package that has no wheel there, or an empty text. Raises RuntimeError."""
    required = requirements(part, system, python)
    with tempfile.TemporaryDirectory() as target:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
        command += ["--dry-run", "--quiet", "--ignore-installed", "--only-binary", ":all:"]
        # By ranges of wheels: pip of 2026 then fetches none of them for a dry run.
        command += ["--use-feature=fast-deps"]
        command += ["--target", target, "-c", str(ROOT / "constraints.txt")]
        command += ["--implementation", "cp", "--python-version", python]
        command += [word for tag in system.tags for word in ("--platform", tag)]
        command += ["--no-deps"] if part == "torch" else []
        done = subprocess.run([*command, *required], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    lacking = re.search(r"No matching distribution found for (\S+)", done.stderr)
    if lacking is None:
        raise RuntimeError(done.stderr[-2000:])
    return lacking[1]


def table(results: dict[tuple[str, str, str], str]) -> str:
    """Rows are systems and Pythons, columns the parts; a cell names what has no wheel."""
    parts = list(dict.fromkeys(part for _, _, part in results))
    lines = [f"| system | Python | {' | '.join(parts)} |", "|---|---|" + "---|" * len(parts)]
    for system, python in dict.fromkeys((system, python) for system, python, _ in results):
        cells = [results[system, python, part] for part in parts]
        shown = " | ".join(f"no wheel: {cell}" if cell else "yes" for cell in cells)
        lines.append(f"| {system} | {python} | {shown} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
