"""Commands as a pipeline runs them: conditions that fail it, and reports in one file."""

from __future__ import annotations

import json
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


def umbel(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    output, error = capsys.readouterr()
    assert "Traceback" not in error
    assert isinstance(ended.value.code, int)
    return ended.value.code, output, error


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

    evaluate = ("evaluate", tree.id, "--labels", "y.npy", "--metrics", "nmi", "--json")
    status, output, _ = umbel(capsys, *evaluate, "--fail-under", "nmi=1.01")
    assert status == 5
    assert json.loads(output)["metrics"]["nmi"] <= 1
    assert umbel(capsys, *evaluate, "--fail-under", "nmi=.1")[0] == 0

    calibrate = ("calibrate", tree.id, "before.npy", "--labels", "y2.npy", "--fail-if", "error>.9")
    status, output, _ = umbel(capsys, *calibrate)
    assert status == 0
    calibration_id = output.split()[0]

    comparison = client.compare([("kmeans", {"n_clusters": 3})], features=LOGITS, seeds=1)
    for thing, heading in (
        (tree.id, "What is taken for what"),
        (drift_id, "The surest changes"),
        (calibration_id, "How sure answers are"),
        (comparison.id, "Methods"),
    ):
        status, _, error = umbel(capsys, "report", thing, "report.html")
        assert status == 0, error
        text = Path("report.html").read_text(encoding="utf-8")
        assert f"<h2>{heading}</h2>" in text
        assert "<script" not in text
        assert "default-src 'none'" in text
    assert umbel(capsys, "report", "ds_1", "report.html")[0] == 2
    status, _, error = umbel(capsys, "report", tree.id, "no/folder.html")
    assert status == 2
    assert "there is no folder" in error
