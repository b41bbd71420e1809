"""`make client-js`: the JavaScript client as an npm package in `build`, with its types.

    python -m scripts.package_js

TypeScript writes the types, openapi-typescript the types of the contract.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "client-js"


def main() -> None:
    folder = packaged(ROOT / "build" / "client-js", ROOT / "build" / "contract.d.ts")
    subprocess.run(["npm", "pack", "--pack-destination", folder.parent], cwd=folder, check=True)


def packaged(folder: Path, contract: Path) -> Path:
    """The folder, with what the package holds in it. contract : the contract's types."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCE / "src", folder / "src")
    for file in (SOURCE / "package.json", SOURCE / "README.md", ROOT / "LICENSE"):
        shutil.copy(file, folder)
    types = folder / "types"
    tsc = ROOT / "node_modules" / ".bin" / "tsc"
    emitted = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--outDir", types]
    subprocess.run([tsc, "-p", SOURCE, *emitted], check=True)
    # The sources name the contract as the work tree has it; the package has it beside its types.
    for file in types.glob("*.d.ts"):
        file.write_text(
            re.sub(r'(from |import\()"contract"', r'\1"./contract.js"', file.read_text())
        )
    shutil.copy(contract, types / "contract.d.ts")
    return folder


if __name__ == "__main__":
    main()
