"""The order of rows, columns and classes in a table changes no answer, and ids come back.

Every method of dense features runs on the same table of 30 rows in three groups, read from CSV.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.registry import methods
from tests.workers.child.job_kit import JobsInFolder, predicted, tree_of
from workers.artifacts import results
from workers.work.sources import Source

RNG = np.random.default_rng(0)
CENTRES = np.repeat([[0.0, 0, 0, 9], [8, 0, 0, 0], [0, 8, 8, 0]], 10, axis=0)
POINTS = np.rint(10 * np.abs(CENTRES + 0.7 * RNG.normal(size=CENTRES.shape)))
SCORES = POINTS / 20 + np.arange(4) / 100
"""Logits, of which no two of a row are equal."""
N = len(POINTS)
COLUMNS = ["zeta", "alpha", "mid", "beta"]
LABELS = np.repeat(["a", "b", "c"], 10)
IDS = [f"row{row}" for row in range(N)]
ALL, TURNED = range(4), [2, 0, 3, 1]
LOGITS = {"l2h"}
FEATURES = [
    name
    for name, own in methods().items()
    if "features" in own.inputs and "targets" not in own.inputs and own.family != "deep"
]
DRAWN_BY_COLUMNS = {"hyphc", "lda", "perch", "temi"}
"""Methods whose random draws go by the columns: in another order it is as with another seed."""
IN_ORDER = {"birch", "ghhc", "lda", "temi"}
"""Methods that take the points one after the other, or draw them by their numbers."""
KNOWN_LABELS = {"bp", "fda", "lmnn", "pcc", "tcs", "tcs-cs", "tcs-fs", "tcs-mm", "tcs-tree"}
"""Methods of some labelled rows, of others without a label."""


def csv(
    path: Path,
    rows: Sequence[int],
    columns: Sequence[int],
    values: np.ndarray,
    labels: bool = False,
) -> Source:
    """The source of a table of these rows and columns, with ids."""
    lines = [",".join(["id", *(COLUMNS[at] for at in columns), *["label"] * labels])]
    for row in rows:
        cells = [repr(float(values[row, at])) for at in columns]
        lines.append(",".join([IDS[row], *cells, *[LABELS[row]] * labels]))
    path.write_text("\n".join([*lines, ""]))
    return Source(role="features", kind="dataset", path=path, format="csv", inspected=False)


def clades(folder: Path, rows: Sequence[int]) -> frozenset[frozenset[str]]:
    """The ids under each node."""
    tree = results.load_tree(folder / results.TREE, folder / results.LEAF_OF_POINT)
    under: list[set[str]] = [set() for _ in range(tree.n_nodes)]
    if tree.n_points == N:
        for row, leaf in zip(rows, tree.leaf_of_point.tolist(), strict=True):
            under[leaf].add(IDS[row])
    for node in range(tree.n_nodes - 1, 0, -1):
        under[int(tree.parent[node])] |= under[node]
    return frozenset(map(frozenset, under))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.needs(*methods()[name].needs))
        for name in [*FEATURES, *LOGITS]
    ],
)
def test_orders_change_no_answer_and_ids_come_back(name: str, tmp_path: Path) -> None:
    used, jobs = methods()[name], JobsInFolder(tmp_path)
    params = dict(used.example)
    if "n_clusters" in used.Params.model_fields:
        params["n_clusters"] = 3
    role, values = ("logits", SCORES) if name in LOGITS else ("features", POINTS)
    steps = [{"step": "l2"}] if "vmf" in name else []

    def fit(rows: Sequence[int], columns: Sequence[int]) -> Path:
        labelled = name not in KNOWN_LABELS and "labels" in used.inputs
        source = csv(tmp_path / "fit.csv", rows, columns, values, labelled)
        given: dict[str, Any] = {role: source.model_copy(update={"role": role})}
        if labelled:
            given["labels"] = source.model_copy(update={"role": "labels"})
        elif name in KNOWN_LABELS:
            given["labels"] = [LABELS[row] if row % 2 else None for row in rows]
        if "timestamps" in used.inputs:
            given["timestamps"] = [row // 10 for row in rows]
        if "graph" in used.inputs and labelled:
            given["graph"] = [["a", "b"]]
        fitted, folder = jobs.run("fit", given, method=name, params=params, preprocess=steps)
        assert fitted.error is None, fitted.error
        assert results.load_ids(folder / results.IDS).to_pylist() == [IDS[row] for row in rows]
        return folder

    def answers(folder: Path, rows: Sequence[int], columns: Sequence[int]) -> dict[str, Any]:
        new = csv(tmp_path / "new.csv", rows, columns, values).model_copy(update={"role": role})
        request: dict[str, Any] = {"method": name, "options": {"tree": "tr_x"}}
        outcome, placed = jobs.run("predict", {"tree": tree_of(folder), role: new}, **request)
        assert outcome.error is None, outcome.error
        found = predicted(placed)
        assert [row["id"] for row in found] == [IDS[row] for row in rows]
        return {row["id"]: row for row in found}

    folder = fit(range(N), ALL)
    if used.predicts:
        expected = answers(folder, range(6), ALL)
        turned_rows = answers(folder, [5, 3, 1, 0, 2, 4], TURNED)
        assert turned_rows.keys() == expected.keys()
        for own_id, row in expected.items():
            # Sums in another order differ in the last bit.
            for key, value in row.items():
                close = pytest.approx(value, rel=1e-12) if key == "probabilities" else value
                assert turned_rows[own_id][key] == close, (own_id, key)
    found = clades(folder, range(N))
    if name not in DRAWN_BY_COLUMNS:
        assert clades(fit(range(N), TURNED), range(N)) == found
    if name not in IN_ORDER:
        turned = np.random.default_rng(1).permutation(N).tolist()
        assert clades(fit(turned, ALL), turned) == found
