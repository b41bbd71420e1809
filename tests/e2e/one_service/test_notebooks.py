"""The notebooks of `docs/` run from end to end, and say what their committed outputs say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from scripts.write_notebooks import NOTEBOOKS, executed
from tests.e2e.conftest import Service

_SECONDS = re.compile(r"\d+\.\d+ s$", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def parts(cell: Any) -> tuple[list[str], list[float], list[str]]:
    """The words and the numbers that a cell prints, and the media types of what else it shows."""
    outputs = cell.get("outputs", ())
    text = "".join(output.text for output in outputs if output.output_type == "stream")
    text = _SECONDS.sub("s", text)
    shown = [kind for output in outputs for kind in output.get("data", ())]
    numbers = [float(number.replace(",", "")) for number in _NUMBER.findall(text)]
    return _NUMBER.sub(" ", text).split(), numbers, sorted(shown)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_committed(path: Path, service: Service) -> None:
    committed = nbformat.read(path, nbformat.NO_CONVERT)
    cells = executed(path, service.url).cells
    for before, after in zip(committed.cells, cells, strict=True):
        if "varies" in after.metadata.get("tags", ()):
            continue
        (words, numbers, shown), (now_words, now_numbers, now_shown) = parts(before), parts(after)
        assert (now_words, now_shown) == (words, shown), f"run `make notebooks`: {after.source}"
        assert now_numbers == pytest.approx(numbers, rel=0.05, abs=0.02), after.source
