"""Runs the Python of the client's README against the service of UMBEL_URL, as it stands there.

A block runs if all that it takes for given is among `GIVEN` or was made by a block before it.
`make release` has it run in an environment that holds the released packages alone.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from umbel_client import AsyncUmbel, Umbel, problems
from umbel_client.errors import MissingPackage

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "app" / "sample"
ASYNC = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
FEWEST = 5


def given() -> dict[str, Any]:
    """What the README takes for given."""
    logits = np.load(SAMPLE / "logits.npy").astype(np.float32)
    labels = np.load(SAMPLE / "labels.npy")
    points = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(4) * 9, 15, axis=0)
    return {
        "AsyncUmbel": AsyncUmbel,
        "Umbel": Umbel,
        "asyncio": asyncio,
        "logits": logits,
        "labels": labels,
        "names": json.loads((SAMPLE / "names.json").read_text()),
        "rows": logits[:50],
        "test_rows": logits[:50],
        "test_labels": labels[:50],
        "frame": points,
        "X": points,
        "y": np.repeat(np.arange(4), 15),
        "a": points,
        "b": points[::-1].copy(),
    }


def main() -> None:
    scope = given()
    text = (ROOT / "client" / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    n_run = 0
    for block in blocks:
        tree = compile(block, "README.md", "exec", ast.PyCF_ONLY_AST | ASYNC)
        if unknown(tree) - scope.keys():
            continue
        try:
            waiting = eval(compile(tree, "README.md", "exec", ASYNC), scope)
            if waiting is not None:
                asyncio.run(waiting)
        except (problems.NotFound, problems.InvalidRequest, MissingPackage) as error:
            # It names nodes that this tree does not have, or uses a package that has no wheel.
            print(f"the client's README, in part: {str(error)[:100]}")
            continue
        n_run += 1
    print(f"the client's README: {n_run} of {len(blocks)} blocks; the others need other data")
    sys.exit(n_run < FEWEST)


def unknown(tree: ast.AST) -> set[str]:
    """The names that a block reads and does not make."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            made |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            made.add(node.name)
    return {node.id for node in names} - made - set(dir(builtins))


if __name__ == "__main__":
    main()
