"""Rows are printed aligned and stored; the JSON is valid; a plot shows them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bench import l2h, logits_kinds, machine
from bench.report import Report
from tests.needs_kit import need


def test_rows_are_aligned_and_a_new_set_of_columns_has_a_heading(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report({})
    report.row("one", what="first", cpu_s=0.001234, extra_bytes=2_500_000, n=1234567, met=True)
    report.row("one", what="second", cpu_s=np.float64(1234.5), extra_bytes=None, n=2, met=False)
    report.row("two", what="third", value=3)
    lines = capsys.readouterr().out.splitlines()
    assert len({len(line) for line in lines[:4]}) == 1
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == ["what", "cpu_s", "extra_MB", "n", "met"]
    assert cells[2] == ["first", "0.00123", "2.5", "1,234,567", "yes"]
    assert cells[3] == ["second", "1,234", "", "2", "no"]
    assert cells[4] == ["what", "value"]


def test_the_json_holds_machine_rows_and_notes(tmp_path: Path) -> None:
    report = Report(machine.describe())
    report.row("one", what="first", n=np.int64(3), cpu_s=np.float32(0.5), none=None)
    report.note("one", "A sentence.")
    path = tmp_path / "folder" / "bench.json"
    report.write(path)
    read = json.loads(path.read_text())
    assert read["tables"] == {"one": [{"what": "first", "n": 3, "cpu_s": 0.5, "none": None}]}
    assert read["notes"] == {"one": ["A sentence."]}
    assert read["machine"]["cores"] >= 1
    assert set(machine.PACKAGES) == set(read["machine"]["packages"])
    assert all(machine.lines(read["machine"]))


def test_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    report = Report({})
    report.row("one", value=float("nan"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        report.write(tmp_path / "bench.json")
    assert not (tmp_path / "bench.json").exists()


@pytest.mark.slow
def test_the_table_of_l2h_runs_on_small_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = l2h.Case(600, 20, rivals=("exact", "hoisted", "trimmed", "printed"))
    monkeypatch.setattr(l2h, "OUT", tmp_path)
    monkeypatch.setattr(l2h, "RUNS", 1)
    monkeypatch.setattr(l2h, "REAL", ("there is no such file",))
    monkeypatch.setattr(l2h, "HEADLINE", {"quick": case})
    monkeypatch.setattr(l2h, "CASES", {"quick": (case, l2h.Case(600, 10, rivals=()))})
    few = logits_kinds.cells("quick")[:7:6]
    for name, value in (
        ("OUT", tmp_path),
        ("RUNS", 1),
        ("REAL", {}),
        ("_VALUES", {"quick": 4_000}),
    ):
        monkeypatch.setattr(logits_kinds, name, value)
    monkeypatch.setattr(logits_kinds, "cells", lambda size: few)
    report = Report({})
    l2h.table(report, "quick")
    rows = report.tables["l2h"]
    assert len(rows) == 7 + 3
    assert all(row["same_merges"] in (None, row["k"] - 1) for row in rows)
    assert [row["same_merges"] for row in rows if row["what"] == l2h.SINGLE] == [19, None]
    assert all(row["cpu_s"] > 0 and row["wall_s"] > 0 for row in rows)
    assert [row["never_predicted"] for row in report.tables["l2h_logits"]] == [0, 0]
    goals = {row["what"]: row["met"] for row in report.tables["l2h_goals"]}
    assert goals["merges as in float64"] is True
    assert "no such file" in report.notes["l2h"][1]
    assert not list(tmp_path.iterdir())
    kinds = report.tables["l2h_kinds"]
    assert {"rank and confidence", "classes and type"} < {row["what"] for row in kinds}
    assert all(row["reads"] > 0 for row in kinds)

    need("matplotlib")
    from bench import plot

    plot.l2h(rows, tmp_path / "l2h.png")
    assert (tmp_path / "l2h.png").read_bytes().startswith(b"\x89PNG")


def test_a_case_that_does_not_fit_is_omitted_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = l2h.Case(1_000, 1_000)  # 4 MB; the appendix needs 8.8 MB more

    def fits(megabytes: float) -> tuple[l2h.Case | None, str]:
        memory = SimpleNamespace(available=megabytes * 1e6)
        monkeypatch.setattr("psutil.virtual_memory", lambda: memory)
        return l2h._what_fits(case, tmp_path)

    assert fits(13) == (case, "")
    reduced, note = fits(12)
    assert reduced == l2h.Case(1_000, 1_000, rivals=())
    assert "appendix" in note
    nothing, note = fits(4.5)
    assert nothing is None
    assert "1,000 x 1,000 float32" in note


def test_a_goal_stands_beside_its_figure() -> None:
    report = Report({})
    report.goal("one", "job", "time", 25.0, "ms", most=25)
    report.goal("one", "job", "time", 25.1, "ms", most=25)
    report.goal("one", "job", "rate", 299.0, "/s", least=300)
    report.goal("one", "job", "rate", 300.0, "/s", least=300)
    report.goal("one", "job", "rate", 1.0, "/s")
    assert [(row["goal"], row["met"]) for row in report.tables["one"]] == [
        ("<= 25", True),
        ("<= 25", False),
        (">= 300", False),
        (">= 300", True),
        ("", None),
    ]
