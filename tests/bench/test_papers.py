"""The papers' tables on sets from files, small ones made here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench import Chosen, l2h_tables, papers
from bench.l2h_tables import Maker
from bench.report import Report
from models.arrays import Array


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UMBEL_PAPER_DATA", str(tmp_path))
    return tmp_path


def _images(folder: Path) -> None:
    """Three groups far apart in both spaces, 20 rows of each to learn from and 5 for the test."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for half, n_rows in (("train", 20), ("test", 5)):
        code = np.repeat(np.arange(3), n_rows)
        for space in ("clip", "dino"):
            rows = 9.0 * np.eye(3)[code] + 0.1 * rng.normal(size=(code.size, 3))
            np.save(folder / f"{half}_{space}.npy", rows.astype(np.float32))
        np.save(folder / f"{half}_images.npy", rng.random((code.size, 4, 4, 3)))
        np.save(folder / f"{half}_labels.npy", code)


def test_a_set_of_images(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _images(folder / "cifar10")

    def by_kmeans(id: str, k: int, params: object, spaces: Sequence[Array]) -> Maker:
        return l2h_tables.flat("kmeans", k, {}, spaces[:1])

    monkeypatch.setattr(papers, "flat", by_kmeans)
    report = Report({})
    papers.table(report, "quick", Chosen(("cifar10",), ("Ward", "L2H-TURTLE"), 1))
    ward, turtle = report.tables["papers"]
    assert ward["what"] == "cifar10: Ward"
    # Ward's method reads the images, which are noise.
    assert ward["accuracy"].endswith("(0.211)")
    assert float(ward["accuracy"].split()[0]) < 0.7
    assert turtle["accuracy"] == "1.000 +- 0.000 (0.995)"
    assert turtle["dendrogram_purity"] == "1.000 +- 0.000 (0.988)"
    assert (ward["minutes"].endswith("(0.1)"), turtle["minutes"].endswith("(1.6)")) == (True, True)
    assert (ward["l2h_minutes"], turtle["l2h_minutes"].endswith("(< 0.01)")) == ("", True)
    made = papers._makers(papers._files("cifar10"), 3)
    assert list(made) == ["Ward", "DeepECT", "TreeVAE", "HypHC", "L2H-TEMI", "L2H-TURTLE"]


def test_logits_of_a_classifier(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = folder / "imagenet"
    own.mkdir()
    for half in ("train", "test"):
        np.save(own / f"{half}_logits.npy", np.kron(np.eye(4), np.full((5, 1), 9.0)))
        np.save(own / f"{half}_labels.npy", np.repeat(["a", "b", "c", "d"], 5))
    report = Report({})
    papers.table(report, "quick", Chosen(("imagenet",), None, 2))
    (row,) = report.tables["papers"]
    assert (row["what"], row["seeds"]) == ("imagenet: L2H, classifier", 2)
    assert row["accuracy"] == "1.000 +- 0.000"
    assert row["l2h_minutes"].endswith("(0.47)")


def test_points_of_the_hyperbolic_paper(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "covtype").mkdir()
    code = np.repeat([0, 1], 20)
    rows = 9.0 * np.eye(2)[code] + np.random.default_rng(0).normal(size=(40, 2))
    np.save(folder / "covtype" / "features.npy", rows)
    np.save(folder / "covtype" / "labels.npy", code)
    wanted = [one for one in papers.purity.CONTENDERS if one.called == "HKMeans"]
    monkeypatch.setattr(papers.purity, "CONTENDERS", tuple(wanted))
    report = Report({})
    papers.table(report, "quick", Chosen(("covtype",), None, 2))
    (row,) = report.tables["purity"]
    assert (row["what"], row["points"], row["paper"]) == ("covtype: HKMeans", 40, "0.44 +- 0.001")
    assert float(row["dendrogram_purity"].split()[0]) > 0.95


def test_schools(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "school").mkdir()
    rng = np.random.default_rng(0)
    features, task = rng.normal(size=(80, 2)), np.tile(np.arange(4), 20)
    np.save(folder / "school" / "features.npy", features)
    np.save(folder / "school" / "targets.npy", features @ [1.0, -2.0])
    np.save(folder / "school" / "tasks.npy", task)
    report = Report({})
    papers.table(report, "quick", Chosen(("school",), ("STL",), 2))
    (row,) = report.tables["papers_school"]
    assert (row["what"], row["cuts"], row["paper"]) == ("school: STL", 2, 23.5)
    assert float(row["explained_variance"].split()[0]) > 90.0


def test_what_is_absent_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "school").mkdir()
    np.save(folder / "school" / "tasks.npy", np.zeros(3))
    report = Report({})
    papers.table(report, "quick", Chosen(("school", "other"), None, None))
    school, other = report.notes["papers"]
    assert school.endswith(
        "UMBEL_PAPER_DATA/school has to hold features.npy, targets.npy, tasks.npy."
    )
    assert "one of cifar10, cifar100" in other
