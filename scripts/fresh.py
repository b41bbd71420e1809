"""`make fresh`: the README's first commands as a new user has them, and what they cost.

A clone of the last commit in an empty folder; an empty HOME; no configuration of pip; no compiler,
Node or browser on the PATH. For each Python: `make demo` and, unless `--demo` is given, `make
test`; prints seconds, megabytes, and what was skipped for lack of what. Exits with 1 if a command
fails.

Needs git, make and the network. Only addresses of proxies and certificates pass through.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")

HIDDEN = re.compile(
    r"(.*-)?(cc|c89|c99|cpp|gcc|g\+\+|c\+\+|clang|clang\+\+|gfortran|tcc|rustc|cargo|as|ld)(-[\d.]+)?"
    r"|node|nodejs|npm|npx|corepack|yarn|pnpm|uv|uvx|python.*|pip.*|pyenv"
    r"|.*chrom(e|ium).*|firefox.*"
)
"""Commands that a new user need not have."""

PASSED_ON = (
    "PIP_CERT",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--demo", action="store_true", help="make demo alone")
    parser.add_argument("--python", action="append", help="a command or path (default: all found)")
    parser.add_argument("--keep", type=Path, help="an empty folder to work in, which is kept")
    options = parser.parse_args()
    pythons = options.python or [found for _, found in interpreters()]
    absent = [] if options.python else sorted(set(VERSIONS) - {v for v, _ in interpreters()})
    failed = False
    for python in pythons:
        with tempfile.TemporaryDirectory(prefix="fresh-") as temporary:
            place = options.keep or Path(temporary)
            failed |= not tried(python, place.resolve(), test=not options.demo)
    if absent:
        print(f"not on this machine: Python {', '.join(absent)}; `make platforms` asks for wheels")
    sys.exit(failed)


def interpreters() -> Iterator[tuple[str, str]]:
    """Versions and paths of the interpreters of this machine, found by their names."""
    for version in VERSIONS:
        for found in _candidates(version):
            shown = subprocess.run(
                [found, "-c", "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"],
                capture_output=True,
                text=True,
                check=False,
            )
            words = shown.stdout.split()
            if shown.returncode == 0 and words[0] == version:
                yield version, words[1]
                break


def _candidates(version: str) -> Iterator[str]:
    found = shutil.which(f"python{version}")
    if found:
        yield found
    roots = (Path.home() / ".pyenv" / "versions", Path.home() / ".local/share/uv/python")
    for root in roots:
        for path in sorted(root.glob(f"*{version}.*/bin/python{version}")):
            yield str(path)


def tried(python: str, place: Path, *, test: bool) -> bool:
    """Whether the commands succeed; prints what they took."""
    # A manager's shim is not on the path of a new user.
    code = "import platform, sys; print(sys.executable, platform.python_version())"
    shown = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    python, version = shown.stdout.split()
    clone = place / "umbel"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    env = environment(place)
    print(f"Python {version}, {_megabytes(clone)} MB cloned", flush=True)
    for command in ("demo", "test") if test else ("demo",):
        log, began = place / f"{command}.log", time.monotonic()
        with log.open("wb") as sink:
            done = subprocess.run(
                ["make", command, f"PYTHON={python}"],
                cwd=clone,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                check=False,
            )
        seconds, text = time.monotonic() - began, log.read_text(errors="replace")
        print(
            f"make {command}: {'done' if done.returncode == 0 else 'FAILED'} in {seconds:.0f} s; "
            f".venv {_megabytes(clone / '.venv')} MB, cache of pip {_megabytes(place / 'home')} MB"
        )
        print(excerpt(text, whole=done.returncode != 0), flush=True)
        if done.returncode:
            return False
    return True


def environment(place: Path) -> dict[str, str]:
    """A new user's: made in `place`, where it makes the folders `home` and `bin`."""
    home, commands = place / "home", place / "bin"
    home.mkdir()
    commands.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for path in sorted(Path(folder).glob("*")) if Path(folder).is_dir() else []:
            link = commands / path.name
            # A manager's shims find what is hidden here.
            hidden = HIDDEN.fullmatch(path.name) or "shims" in path.parts
            if not hidden and not link.is_symlink() and os.access(path, os.X_OK) and path.is_file():
                link.symlink_to(path)
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {
        **passed,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": str(commands),
        "PIP_CONFIG_FILE": os.devnull,
    }


def excerpt(log: str, *, whole: bool) -> str:
    """The lines of a log that say what was installed, skipped and counted."""
    lines = log.splitlines()
    if not whole:
        telling = re.compile(
            r"Installed in|waiting for|was left out|ready|The service runs|Done in|skipped for"
            r"|^\s+\d+ |=+ .*(passed|failed).* =+|\d+ passed"
        )
        lines = [line for line in lines if telling.search(line)]
    return "\n".join(f"    {line}" for line in lines[-60:])


def _megabytes(folder: Path) -> int:
    done = subprocess.run(["du", "-sk", str(folder)], capture_output=True, text=True, check=False)
    return int(done.stdout.split()[0]) // 1024 if done.stdout else 0


if __name__ == "__main__":
    main()
