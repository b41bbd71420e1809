"""Commands as a pipeline runs them: conditions that fail it, and reports in one file."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from app.cli import main
from tests.e2e.conftest import Service
from umbel_client import Umbel

RNG = np.random.default_rng(5)
NAMES = ["<script>alert(1)</script>", "wolf & dog", "'cat'", "\u202egnat", "emoji 🦊", "n" * 3000]
TRUE = np.repeat(np.arange(6), 40)
LOGITS = (RNG.normal(size=(240, 6)) + 3 * np.eye(6)[TRUE]).astype(np.float32)


class _Parts(HTMLParser):
    """The tags of a document, and what its attributes refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
        assert not [name for name, _ in attrs if name.startswith("on")]


SHOWN = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "ul", "li", "bdi"),
    *("div", "table", "thead", "tbody", "tr", "th", "td", "img", "pre", "footer"),
}


def whole(path: str) -> str:
    """A report, which has only tags that show something, and loads nothing."""
    text = Path(path).read_text(encoding="utf-8")
    parts = _Parts()
    parts.feed(text)
    assert parts.tags <= SHOWN
    assert all(source.startswith("data:image/svg+xml;base64,") for source in parts.sources)
    assert "default-src 'none'" in text
    assert "\u202e" not in text
    assert "n" * 81 not in text
    assert len(text) < 300_000
    return text


def umbel(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    output, error = capsys.readouterr()
    assert "Traceback" not in error
    assert isinstance(ended.value.code, int)
    return ended.value.code, output, error


@pytest.mark.filterwarnings("ignore::umbel_client.UmbelWarning")
def test_a_report_of_a_large_tree_says_what_is_left_out(
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UMBEL_URL", service.url)
    n = 5000
    star = "(" + ",".join(f"({i}a,{i}b)" for i in range(n)) + ");"
    tree = Umbel().import_tree(star)
    assert umbel(capsys, "report", tree.id, "report.html")[0] == 0
    assert "no room for all 10,000 leaves" in whole("report.html")


@pytest.mark.filterwarnings("ignore::umbel_client.UmbelWarning")
def test_a_pipeline(
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UMBEL_URL", service.url)
    client = Umbel()
    tree = client.run("l2h", logits=LOGITS, names=NAMES)
    np.save("before.npy", LOGITS[::2])
    np.save("after.npy", LOGITS[:160])
    np.save("y.npy", TRUE)
    np.save("y2.npy", TRUE[::2])

    drift = ("drift", tree.id, "before.npy", "after.npy")
    status, output, error = umbel(capsys, *drift, "--fail-if", "mass.p < .01", "--junit", "j.xml")
    assert status == 5
    assert "failed  mass.p < 0.01" in error
    assert '"1"' in Path("j.xml").read_text()
    drift_id = output.split()[0]
    same = ("drift", tree.id, "before.npy", "before.npy", "--fail-if", "mass.p < .01")
    assert umbel(capsys, *same)[0] == 0
    assert umbel(capsys, *drift, "--fail-if", "mass.p ~ .01")[0] == 2
    lines = ["batch,a,b,c,d,e,f", *(",".join(map(str, (7, *row))) for row in LOGITS[:160])]
    Path("week.csv").write_text("\n".join(lines))
    table = ("drift", tree.id, "week.csv", "week.csv")
    assert umbel(capsys, *table)[0] == 1
    assert umbel(capsys, *table, "--columns", "a,b,c,d,e,f", "--wait-s", "60")[0] == 0

    evaluate = ("evaluate", tree.id, "--labels", "y.npy", "--metrics", "nmi", "--json")
    status, output, _ = umbel(capsys, *evaluate, "--fail-under", "nmi=1.01")
    assert status == 5
    assert json.loads(output)["metrics"]["nmi"] <= 1
    assert umbel(capsys, *evaluate, "--fail-under", "nmi=.1")[0] == 0

    status, output, error = umbel(capsys, *drift, "--report", "d.html", "--fail-if", "n_moves > 0")
    assert status == 5, error
    text = whole("d.html")
    assert "Drift of <bdi>before.npy, after.npy</bdi>" in text
    assert f"umbel drift {tree.id} before.npy after.npy" in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert umbel(capsys, *drift, "--report", "no/d.html")[0] == 2

    calibrate = ("calibrate", tree.id, "before.npy", "--labels", "y2.npy", "--fail-if", "error>.9")
    status, output, _ = umbel(capsys, *calibrate)
    assert status == 0
    calibration_id = output.split()[0]

    np.save("x.npy", LOGITS)
    run = ("run", "hac", "x.npy", "--linkage", "ward", "--report", "-", "--out", "t.nwk")
    status, output, _ = umbel(capsys, *run)
    assert status == 0
    assert output.startswith("<!doctype html>")
    Path("t.html").write_text(output, encoding="utf-8")
    text = whole("t.html")
    assert "umbel run hac --features ds_" in text
    assert "--linkage ward" in text
    assert "hac</bdi> made a tree of 240 leaves from 240 rows" in text

    compare = ("compare", "kmeans:n_clusters=3", "hac", "--features", "x.npy", "--labels", "y.npy")
    few = ("--metrics", "nmi", "--seeds", "1", "--report", "m.html")
    status, _, error = umbel(capsys, *compare, *few, "--fail-under", "best.nmi=1.01")
    assert status == 5
    assert "failed  best.nmi < 1.01: best.nmi is 0." in error
    held = ("--fail-if", "hac.nmi < 0 or kmeans.nmi < 0")
    assert umbel(capsys, *compare, *few, *held)[0] == 0
    text = whole("m.html")
    assert "is best by <bdi>nmi</bdi>" in text
    assert "umbel compare kmeans:n_clusters=3 hac --features ds_" in text

    comparison = client.compare([("kmeans", {"n_clusters": 3})], features=LOGITS, seeds=1)
    for thing, heading in (
        (tree.id, "What is taken for what"),
        (drift_id, "The surest changes"),
        (calibration_id, "How sure answers are"),
        (comparison.id, "Figures"),
    ):
        status, _, error = umbel(capsys, "report", thing, "report.html")
        assert status == 0, error
        text = whole("report.html")
        assert f"<h2>{heading}</h2>" in text
        assert thing in text
    _, output, _ = umbel(capsys, "list", "any", "--ids")
    assert {tree.id, drift_id, calibration_id, comparison.id} <= set(output.split())
    assert umbel(capsys, "list", "any")[0] == 2
    assert umbel(capsys, "list", "trees", "--ids", "--limit", "1")[1].startswith("tr_")
    _, output, _ = umbel(capsys, "list", "drifts", "--limit", "1")
    assert "120 to 160 rows" in output
    assert umbel(capsys, "report", "ds_1", "report.html")[0] == 2
    status, _, error = umbel(capsys, "report", tree.id, "no/folder.html")
    assert status == 2
    assert "there is no folder" in error
