"""Names that a fit was given, or did not have, beside the names in a table of new rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.child.job_kit import JobsInFolder, predicted, tree_of
from workers.artifacts import results
from workers.formats.column_roles import Choice, Column
from workers.work.named_columns import _ordered
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


@pytest.mark.parametrize(
    ("choice", "named"),
    [
        (Choice(), None),
        (Choice(features=("rose", "cat", "dog")), None),
        (Choice(features=("cat", "rose")), "'dog'"),
        (Choice(id="rose"), "'rose'"),
    ],
)
def test_columns_that_were_not_chosen_and_are_needed_are_named(
    choice: Choice, named: str | None, tmp_path: Path
) -> None:
    jobs = JobsInFolder(tmp_path)
    fitted, folder = jobs.run("fit", {"logits": table(tmp_path / "a.csv", NAMES, SCORES)}, "l2h")
    assert fitted.error is None
    new = table(tmp_path / "new.csv", NAMES, SCORES).model_copy(update={"choice": choice})
    rows = {"tree": tree_of(folder), "logits": new}
    outcome, _ = jobs.run("predict", rows, method="l2h", options={"tree": "tr_x"})
    assert outcome.error is None, outcome.error
    warned = [each for each in outcome.warnings if "not chosen as features" in each]
    assert len(warned) == (named is not None)
    assert not named or f"the column(s) {named} were" in warned[0]


@pytest.mark.parametrize(
    ("first", "more", "names", "expected"),
    [
        ("abcd", "xy", None, [*"abcdxy"]),
        ("abcd", None, ["x", "y"], [*"abcdxy"]),
        (None, "xy", None, ["0", "1", "2", "3", "x", "y"]),
        ("abcd", "xa", None, None),
    ],
)
def test_points_of_a_tree_that_grew_have_the_ids_of_both_tables(
    first: str | None,
    more: str | None,
    names: list[str] | None,
    expected: list[str] | None,
    tmp_path: Path,
) -> None:
    def rows(ids: str | None, values: list[list[int]]) -> Source:
        path = tmp_path / f"{ids}.csv"
        own = ids or " " * len(values)
        cells = [[own[at], *map(str, row)][ids is None :] for at, row in enumerate(values)]
        head = ["id", "w", "h"][ids is None :]
        path.write_text("\n".join(map(",".join, [head, *cells])) + "\n")
        return Source(role="features", kind="dataset", path=path, format="csv", inspected=False)

    jobs = JobsInFolder(tmp_path)
    perch: dict[str, Any] = {"method": "perch", "params": {"growable": True}}
    own = rows(first, [[0, 0], [0, 1], [9, 0], [9, 1]])
    _, folder = jobs.run("fit", {"features": own}, **perch)
    files = {item.name: item for item in folder.iterdir()}
    base = Source(role="base", kind="job", path=files[results.TREE], files=files, **perch)
    inputs = {"features": rows(more, [[5, 5], [5, 6]]), "base": base}
    outcome, grown = jobs.run("fit", inputs | ({"names": names} if names else {}), **perch)
    assert outcome.error is None, outcome.error
    found = grown / results.IDS
    assert (results.load_ids(found).to_pylist() if found.exists() else None) == expected
    warned = "The points have no ids: 'a' is the id of point 0 and of point 5" in str(
        outcome.warnings
    )
    assert warned == (expected is None)


@pytest.mark.parametrize(
    ("rows", "refusal", "word"),
    [
        ("abc", None, None),
        ("012", None, None),
        ("bac", "row 0 is 'b', column 0 is 'a'", None),
        ("xbc", None, "row 0 is 'x', column 0 is 'a'"),
    ],
)
def test_rows_and_columns_of_distances_have_one_name(
    rows: str, refusal: str | None, word: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id,a,b,c\n{},0,1,3\n{},1,0,2\n{},3,2,0\n".format(*rows))
    source = Source(role="distances", kind="dataset", path=path, format="csv", inspected=False)
    done, _ = JobsInFolder(tmp_path).run("fit", {"distances": source}, method="hac")
    warned = " ".join(done.warnings)
    assert (refusal in str(done.error)) if refusal else done.error is None
    assert (word in warned) if word else "other names" not in warned


def test_columns_are_not_looked_through_for_each_column(tmp_path: Path) -> None:
    """A table may have a hundred thousand."""
    looks = 0

    class Names(list[str]):
        def __iter__(self) -> Iterator[str]:
            nonlocal looks
            looks += 1
            return super().__iter__()

    names = Names(f"c{at}" for at in range(200))
    columns = tuple(Column(name=name, type="number", role="feature") for name in reversed(names))
    path = tmp_path / "rows.parquet"
    rows = Source(role="features", kind="dataset", path=path, format="parquet", columns=columns)
    assert [column.name for column in _ordered(rows, names)] == [*names]
    assert looks < 20
