"""`python -m tests.fuzz`: damaged files of all formats in turn until the time is over."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.corpus_kit import corpus
from tests.fuzz.trial_kit import Finding, trials

PER_TURN = 200


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first turn")
    parser.add_argument("--keep", type=Path, help="folder for the files that broke a reader")
    arguments = parser.parse_args()
    began, seed = time.monotonic(), arguments.seed
    n_files: Counter[str] = Counter()
    findings: dict[str, Finding] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        valid = corpus(folder)
        while time.monotonic() - began < arguments.seconds:
            for format, files in valid.items():
                for finding in trials(format, files, seed, PER_TURN, folder):
                    last_lines = "\n".join(finding.what.strip().splitlines()[-3:])
                    if last_lines not in findings:
                        print(f"{format}: {finding.what}\n{finding.content[:200]!r}\n", flush=True)
                        if arguments.keep is not None:
                            arguments.keep.mkdir(parents=True, exist_ok=True)
                            name = f"{format.replace(' ', '-')}-{len(findings)}"
                            (arguments.keep / name).write_bytes(finding.content)
                    findings.setdefault(last_lines, finding)
                n_files[format] += PER_TURN
            seed += 1
    for format, number in sorted(n_files.items()):
        print(f"{format:<16}{number:>9} files")
    took = time.monotonic() - began
    print(f"{sum(n_files.values())} files in {took:.0f} s, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
