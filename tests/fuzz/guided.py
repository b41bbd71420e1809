"""`python -m tests.fuzz.guided FORMAT ...`: files led by the code that they reach.

Atheris (libFuzzer) instruments the readers and what they call of the project, and keeps a file that
reaches something new; it begins with the valid files and the files of earlier runs. Libraries are
not instrumented. `trial_kit` decides what is a finding; its file is left beside the corpus.
Needs the package atheris, which has wheels for Linux on x86 and Python before 3.14: there
`make fuzz-guided` installs it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

LONGEST_FILE = 1 << 16


def main() -> int:
    # Not before `follow` instruments what this imports.
    from tests.fuzz.corpus_kit import corpus

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided")
    parser.add_argument("formats", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each format")
    parser.add_argument("--corpus", type=Path, default=Path("build/fuzz"), help="kept between runs")
    arguments = parser.parse_args()
    if find_spec("atheris") is None:
        parser.error("atheris is not installed; it has wheels for Linux on x86 before Python 3.14")
    with tempfile.TemporaryDirectory() as name:
        valid = corpus(Path(name))
    if unknown := set(arguments.formats) - set(valid):
        parser.error(f"there is no format {min(unknown)!r}; there are {', '.join(valid)}")
    failed = []
    for format in arguments.formats or valid:
        folder = arguments.corpus / format.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(valid[format]):
            (folder / f"valid-{number}").write_bytes(content)
        # libFuzzer ends its process.
        command = [sys.executable, "-c", "from tests.fuzz.guided import follow; follow()"]
        with tempfile.TemporaryDirectory() as name:
            command += [format, str(arguments.seconds), str(folder), f"{name}/file"]
            done = subprocess.run(command, capture_output=True, text=True)
        lines = [line for line in done.stderr.splitlines() if line.startswith(("#", "Done"))]
        print(f"{format}: {' | '.join(lines[-2:])}", flush=True)
        if done.returncode:
            failed.append(format)
            print(f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}", flush=True)
    print(f"{len(failed)} findings" + f": {', '.join(failed)}" * bool(failed))
    return int(bool(failed))


def follow() -> None:
    """Fuzz one format in this process; `main`'s command gives its arguments."""
    import atheris

    with atheris.instrument_imports(include=["workers", "models"]):
        from tests.fuzz.trial_kit import LONGEST_S, MEMORY_BYTES, read

    format, seconds, folder, path = sys.argv[1:]
    file = Path(path)

    def one(content: bytes) -> None:
        file.write_bytes(content)
        read(format, file)

    options = {
        "max_total_time": seconds,
        "max_len": LONGEST_FILE,
        "timeout": LONGEST_S,
        # With the interpreter and the libraries.
        "rss_limit_mb": (MEMORY_BYTES >> 20) + 1024,
        "artifact_prefix": f"{folder}-",
    }
    atheris.Setup(
        [sys.argv[0], *(f"-{key}={value}" for key, value in options.items()), folder], one
    )
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
