"""The machine and the software of a measurement."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from bench import ROOT

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "fastcluster", "pyarrow", "torch")


def describe() -> dict[str, Any]:
    """The facts behind the numbers: processor, caches, memory, load, versions."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "caches": _caches(),
        "memory_bytes": psutil.virtual_memory().total,
        "memory_available_bytes": psutil.virtual_memory().available,
        "load": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "commit": _commit(),
    }


def lines(machine: dict[str, Any]) -> list[str]:
    """The description as text."""
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return [
        f"{machine['processor']}, {machine['usable_cores']} of {machine['cores']} cores, {caches}",
        f"memory {machine['memory_bytes'] / 1e9:.1f} GB, "
        f"{machine['memory_available_bytes'] / 1e9:.1f} available; load {machine['load']:.2f}",
        f"{machine['system']}, Python {machine['python']}, {packages}",
        f"commit {machine['commit']}, {machine['at']}",
    ]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _caches() -> dict[str, str]:
    """Size of each cache of the first core, as the kernel reports it."""
    caches = {}
    for cache in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (
            (cache / name).read_text().strip() for name in ("level", "type", "size")
        )
        caches[f"L{level} {kind.lower()}"] = size
    return caches


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _commit() -> str:
    """The commit, with "+" where files differ from it; "unknown" outside a checkout."""
    try:
        described = subprocess.run(
            ["git", "--no-optional-locks", "describe", "--always", "--dirty=+"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()
