"""Names that a fit was given, or did not have, beside the names in a table of new rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.child.job_kit import JobsInFolder, predicted, tree_of
from workers.work.sources import Source

SCORES = np.array([[9.0, 1, 0], [8, 2, 0.5], [0, 9, 2], [1, 8, 1], [0.5, 0, 9], [2, 1, 7]])
NAMES, TURNED = ["cat", "dog", "rose"], [2, 0, 1]


def table(path: Path, names: Sequence[str], values: np.ndarray) -> Source:
    rows = [",".join(map(repr, row)) for row in values.tolist()]
    path.write_text("\n".join([",".join(names), *rows, ""]))
    return Source(role="logits", kind="dataset", path=path, format="csv", inspected=False)


@pytest.mark.parametrize(
    ("given", "columns", "by_name", "word"),
    [
        (NAMES, [NAMES[at] for at in TURNED], True, None),
        (NAMES, ["a", "b", "c"], False, "the fit had 'cat', 'dog', 'rose'"),
        (None, NAMES, False, "the fit had none"),
    ],
)
def test_new_rows_with_names(
    given: list[str] | None, columns: list[str], by_name: bool, word: str | None, tmp_path: Path
) -> None:
    jobs = JobsInFolder(tmp_path)
    inputs: dict[str, Any] = {"logits": SCORES.tolist(), **({"names": given} if given else {})}
    fitted, folder = jobs.run("fit", inputs, method="l2h")
    assert fitted.error is None

    def leaves(logits: object) -> tuple[list[int], list[str]]:
        request: dict[str, Any] = {"method": "l2h", "options": {"tree": "tr_x"}}
        outcome, placed = jobs.run(
            "predict", {"tree": tree_of(folder), "logits": logits}, **request
        )
        assert outcome.error is None, outcome.error
        return [row["leaf"] for row in predicted(placed)], list(outcome.warnings)

    expected, silent = leaves(SCORES.tolist())
    found, warned = leaves(table(tmp_path / "new.csv", columns, SCORES[:, TURNED]))
    in_order, _ = leaves(SCORES[:, TURNED].tolist())
    assert expected != in_order
    assert found == (expected if by_name else in_order)
    assert not silent
    assert (word in " ".join(warned)) if word else not warned
