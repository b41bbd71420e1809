"""Columns that are likely not meant as features: a fit by any method names them in a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract.contract_kit import EXAMPLES
from tests.models.scales_kit import BRIEF, COUNTED, GROUP, LINEAR, PARAMS, ROWS, SLOW
from tests.workers.child.job_kit import JobsInFolder
from umbel.testing.examples import Example
from workers.formats import catalogue
from workers.formats.column_roles import Column
from workers.work.sources import Source

NAMES = ("a", "b", "c", "d", "same", "again", "row", "far")
TABLE = np.column_stack(
    [ROWS, np.full(60, 7.0), ROWS[:, 1], np.arange(60) + 1000.0, ROWS[:, 0] * 1e14]
)

TAKING = [
    pytest.param(
        each,
        id=str(each),
        marks=[
            pytest.mark.needs(*each.method.needs),
            *[pytest.mark.slow] * (each.method.id in SLOW),
        ],
    )
    for each in EXAMPLES
    if "features" in each.roles and each.number == 0
    if each.method.family != "sphere" and each.method.id not in COUNTED
]


@pytest.mark.parametrize("example", TAKING)
def test_odd_columns_are_named_or_refused_by_name(example: Example, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    lines = [",".join(NAMES), *(",".join(map(repr, row)) for row in TABLE.tolist())]
    table.write_text("\n".join(lines) + "\n")
    columns = tuple(Column(name=name, type="number", role="feature") for name in NAMES)
    features = Source(role="features", kind="dataset", path=table, format="csv", columns=columns)
    values: Any = example.data().values
    inputs: dict[str, Any] = {role: np.asarray(value).tolist() for role, value in values.items()}
    inputs |= {"features": features}
    if "labels" in inputs and example.method.id in LINEAR:
        inputs["labels"] = GROUP.tolist()
    if "hierarchy" in inputs:
        inputs["hierarchy"] = ["near/0", "near/1", "2"]
    name = example.method.id
    params = {**example.method.example, **PARAMS.get(name, {}), **BRIEF.get(name, {})}
    outcome, _ = JobsInFolder(tmp_path).run("fit", inputs, name, params=params)
    if outcome.error is not None:
        assert outcome.error["type"] != "/problems/internal"
        assert "'far'" in outcome.error["detail"], outcome.error
        return
    found = outcome.warnings
    assert any("one value: 'same'" in each for each in found), found
    assert any("count twice: 'again'" in each for each in found), found
    assert any("numbers of the rows" in each and "'row'" in each for each in found), found
    assert any(each.startswith("Column 'far' spreads more than 1e+12") for each in found), found


def test_only_a_refusal_without_a_place_has_odd_columns_beside_it(tmp_path: Path) -> None:
    odd = np.column_stack([ROWS, np.full(60, 7.0)])
    bad = odd.copy()
    bad[3, 1] = np.nan
    jobs = JobsInFolder(tmp_path)
    for rows, named in ((bad, False), (ROWS, False), (odd, True)):
        params = {"n_clusters": 61, "n_init": 1}
        outcome, _ = jobs.run("fit", {"features": rows}, "kmeans", params=params)
        assert outcome.error is not None
        assert ("Odd in the features" in outcome.error["detail"]) == named


def test_a_fit_warns_of_heavy_columns_and_of_clusters_that_are_parts_of_a_cloud(
    tmp_path: Path,
) -> None:
    cloud = np.random.default_rng(0).normal(size=(120, 4))
    group = np.arange(120) % 3
    groups = cloud + 8 * np.eye(3, 4)[group]
    heavy = np.column_stack([groups, 1e6 * cloud[:, 3]])
    jobs = JobsInFolder(tmp_path)
    standard = [{"step": "standardize"}]

    def warned(rows: Any, name: str = "kmeans", **more: Any) -> list[bool]:
        known = {"labels": group.tolist()} if name == "mlr" else {}
        params = {"n_clusters": 3} if name == "kmeans" else {}
        outcome, _ = jobs.run("fit", {"features": rows, **known}, name, params=params, **more)
        assert outcome.error is None, outcome.error
        return [
            any(words in each for each in outcome.warnings)
            for words in ("1 of 5 column(s) make", "no further apart than 3 parts")
        ]

    assert warned(groups) == [False, False]
    assert warned(cloud) == [False, True]
    assert warned(heavy) == [True, True]
    assert warned(heavy, preprocess=standard) == [False, False]
    assert warned(heavy, "hac") == [True, False]
    assert warned(heavy, "mlr") == [False, False]


def test_a_row_that_its_id_calls_a_total_is_named(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    rows = [*(f"r{at},{at % 7},{at * at % 11},{at % 5}" for at in range(12)), "Total,33,0,22"]
    table.write_text("\n".join(["name,a,b,c", *rows]) + "\n")
    columns = tuple(catalogue.inspect("csv", table, None, role="features").columns)
    features = Source(role="features", kind="dataset", path=table, format="csv", columns=columns)
    outcome, _ = JobsInFolder(tmp_path).run("fit", {"features": features}, "hac")
    (note,) = (each for each in outcome.warnings if "'Total'" in each)
    assert note.startswith("Row 12 (counted from 0), the last, has the id 'Total'")
