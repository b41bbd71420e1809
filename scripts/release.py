"""`make release`: sdists and wheels of `umbel` and `umbel-client` in `dist`, tried, described.

    python -m scripts.release all          build, trial, sbom, provenance
    python -m scripts.release trial        what `dist` holds, in an empty environment and folder

The wheels are made of the sdists, and hold what the work tree holds. The trial installs them in an
empty environment and runs, in an empty folder, with foreign packages `app`, `workers` and `models`
on the path: the demo, `umbel run`, the page, the client's README; and imports the foreign packages
beside ours. `sbom.cdx.json` says what a full installation holds (CycloneDX), `provenance.json` what
was built from which commit (in-toto, SLSA; signed where RELEASE_KEY names a private key).
Anything that fails ends with a message and status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts.provenance import DIST, ROOT, of_files, write
from scripts.versions import PROJECTS, metadata, version

FOREIGN = ("app", "workers", "models")
SAMPLE = ROOT / "app" / "sample"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("step", choices=["all", "build", "trial", "sbom", "provenance"])
    step = parser.parse_args().step
    steps = {"build": build, "trial": trial, "sbom": sbom, "provenance": provenance}
    for name in steps if step == "all" else [step]:
        began = time.monotonic()
        steps[name]()
        print(f"{name}: done in {time.monotonic() - began:.0f} s", flush=True)


def build() -> None:
    """Build the four files. Where the work tree is not clean it says so.

    A final version needs `[project.urls]`, which name the repository; a candidate does not.
    """
    if nowhere := [name for name, project in metadata().items() if not project.get("urls")]:
        missing = f"without [project.urls] in pyproject.toml: {', '.join(nowhere)}"
        if not re.search(r"rc\d+$", version()):
            sys.exit(missing)
        print(missing, file=sys.stderr)
    if _output("git", "status", "--porcelain"):
        print("the work tree has changes that no commit holds", file=sys.stderr)
    shutil.rmtree(DIST, ignore_errors=True)
    for folder in PROJECTS.values():
        _run(sys.executable, "-m", "build", "--outdir", DIST, folder)
    for wheel in sorted(DIST.glob("*.whl")):
        top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
        taken = sorted(name for name in top if not name.endswith(".dist-info"))
        if taken != [wheel.name.split("-")[0]]:
            sys.exit(f"{wheel.name} takes the names {taken}")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")


def trial() -> None:
    """Try what `dist` holds as a user would."""
    _same_from_tree()
    with tempfile.TemporaryDirectory(prefix="release-") as temporary:
        place = Path(temporary)
        python = _environment(place / "venv")
        foreign = place / "foreign"
        for name in FOREIGN:
            (foreign / name).mkdir(parents=True)
            (foreign / name / "__init__.py").write_text("FOREIGN = True\n")
        empty = place / "empty"
        empty.mkdir()
        command = str(python.with_name("umbel"))
        env = {**os.environ, "PYTHONPATH": str(foreign), "HOME": str(place)}
        env.pop("UMBEL_URL", None)

        def go(*words: object, **more: str) -> str:
            done = subprocess.run(
                [str(word) for word in words],
                cwd=empty,
                env={**env, **more},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                sys.exit(
                    f"{words} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-4000:]}"
                )
            return done.stdout

        print(go(command, "--version").strip())
        theirs = "import umbel, app, workers, models; print(app.FOREIGN, models.FOREIGN)"
        assert go(python, "-c", theirs).split() == ["True", "True"]
        shown = go(command, "demo", "--out", empty / "demo")
        print("demo:", next(line for line in shown.splitlines() if line.startswith("Done")))
        out = empty / "tree.nwk"
        go(
            command,
            "run",
            "l2h",
            SAMPLE / "logits.npy",
            "--names",
            SAMPLE / "names.json",
            "--out",
            out,
        )
        print(f"umbel run: {out.read_text()[:60]}...")
        with _service(command, empty, env) as url:
            print(go(python, "-c", _PAGE, url).strip())
            print(go(python, ROOT / "scripts" / "readme_tour.py", UMBEL_URL=url).strip())


_PAGE = """
import re, sys
import httpx
with httpx.Client(base_url=sys.argv[1]) as client:
    page = client.get("/").raise_for_status().text
    parts = sorted(set(re.findall(r'(?:src|href)="(/?[^":]+[.](?:js|css|svg))"', page)))
    for part in parts:
        client.get(part if part.startswith("/") else "/" + part).raise_for_status()
    client.get("/docs").raise_for_status()
    methods = client.get("/v1/methods").raise_for_status().json()
    print(f"the page with {len(parts)} parts; {len(methods['items'])} methods")
"""


def _same_from_tree() -> None:
    """The wheels, which were made of the sdists, hold what one made of the work tree holds."""
    with tempfile.TemporaryDirectory(prefix="wheels-") as temporary:
        pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", temporary)
        _run(*pip, *PROJECTS.values())
        for wheel in sorted(Path(temporary).glob("*.whl")):
            first, second = (
                {info.filename: info.CRC for info in zipfile.ZipFile(path).infolist()}
                for path in (wheel, DIST / wheel.name)
            )
            differing = sorted(name for name, _ in first.items() ^ second.items())
            if set(differing) - {name for name in differing if ".dist-info/" in name}:
                sys.exit(f"{wheel.name} differs from one of the work tree: {differing[:5]}")


def _environment(folder: Path) -> Path:
    """The Python of a new environment with the wheels of `dist`, without PyTorch."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    _run(
        *(python, "-m", "pip", "--disable-pip-version-check", "install", "-q"),
        *("--only-binary", ":all:", "-c", ROOT / "constraints.txt", "--find-links", DIST),
        *(f"umbel[maps,pdf]=={version()}", f"umbel-client[all,sklearn]=={version()}"),
    )
    return python


@contextmanager
def _service(command: str, folder: Path, env: dict[str, str]) -> Iterator[str]:
    url = folder / "umbel-data" / "url"
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [command, "serve", "--port", "0"], cwd=folder, env=env, stdout=log, stderr=log
        )
    try:
        while not url.exists():
            if process.poll() is not None:
                sys.exit((folder / "serve.log").read_text()[-4000:])
            time.sleep(0.05)
        yield url.read_text().strip()
    finally:
        process.terminate()
        process.wait()


def sbom() -> None:
    """Write what a full installation of this commit holds, in CycloneDX."""
    DIST.mkdir(exist_ok=True)
    file = DIST / "sbom.cdx.json"
    _run(
        *(sys.executable, "-m", "cyclonedx_py", "environment", sys.executable),
        *("--pyproject", ROOT / "pyproject.toml", "--mc-type", "application"),
        *("--output-reproducible", "--of", "JSON", "-o", file),
    )
    components = json.loads(file.read_text())["components"]
    print(f"{file.name}: {len(components)} components")


def provenance() -> None:
    """Write which commit and tools made the files of `dist`; signed where RELEASE_KEY names a
    private key."""
    key = os.environ.get("RELEASE_KEY")
    write("provenance", of_files(), Path(key) if key else None)


def _run(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode}")


def _output(*command: str) -> str:
    shown: Sequence[str] = command
    return subprocess.run(
        shown, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
