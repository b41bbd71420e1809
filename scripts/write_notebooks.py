"""Run the notebooks of `docs/` and write their outputs into them: `make notebooks`.

A test runs them as well and compares what they say. A cell with the tag `varies` prints what no two
runs have in common.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from umbel_client import Umbel

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = sorted(DOCS.glob("*.ipynb"))
LONGEST_S = 300


def executed(path: Path, url: str) -> Any:
    """The notebook with the outputs of a run, but for bars of progress. url : of a service, for
    those that need one.

    Raises nbclient.exceptions.CellExecutionError with the traceback of a cell that fails.
    """
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    with TemporaryDirectory() as folder:
        # Sockets in a folder: no port that other users of the machine could reach.
        sockets = {"transport": "ipc", "ip": f"{folder}/kernel"}
        client = NotebookClient(
            notebook,
            timeout=LONGEST_S,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(DOCS)}},
            config=Config({"KernelManager": sockets}),
        )
        client.execute(env={**os.environ, "UMBEL_URL": url})
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if _is_kept(output)]
    return notebook


def _is_kept(output: Any) -> bool:
    return output.get("name") == "stdout" or "image/svg+xml" in output.get("data", ())


def main() -> None:
    with Umbel.local() as umbel:
        for path in NOTEBOOKS:
            nbformat.write(executed(path, umbel.url), path)


if __name__ == "__main__":
    main()
