"""The command line on files, against a running service."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.cluster import hierarchy

from app.cli import main
from tests.conftest import ROOT
from tests.e2e.conftest import Service
from umbel_client import Umbel

SAMPLE = ROOT / "app" / "sample"
RNG = np.random.default_rng(3)
TRUE = np.repeat([0, 1, 2], 10)


@pytest.fixture(autouse=True)
def folder(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UMBEL_URL", service.url)
    np.save("x.npy", RNG.normal(size=(30, 4)) + 8 * TRUE[:, None])
    Path("one.nwk").write_text("((a,b),(c,d));")
    Path("y.txt").write_text("\n".join("abc"[label] for label in TRUE))
    return tmp_path


def umbel(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    """Standard output and standard error of a command that ends with a status."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    output, error = capsys.readouterr()
    assert ended.value.code == status, error
    assert "Traceback" not in error
    return output, error


def test_the_main_job_on_files(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    names = json.loads((SAMPLE / "names.json").read_text())
    Path("names.txt").write_text("\n".join(names), encoding="utf-8")
    outs = ["t.nwk", "t.json", "t.svg", "t.png", "rows.csv", "rows.npy", "t.linkage.npy"]
    output, error = umbel(
        capsys,
        *("run", "l2h", str(SAMPLE / "logits.npy"), "--names", "names.txt"),
        *(part for out in outs for part in ("--out", out)),
        *("--cut", "k=12", "--picture", "shape=rectangular,px=700,color_by=cluster:12"),
        "--json",
    )
    facts = json.loads(output)
    assert facts["n_leaves"] == len(names)
    assert facts["files"] == outs
    assert "6,664 rows, 119 leaves" in error
    tree = Umbel().tree(facts["tree"])
    assert Path("t.nwk").read_text() == tree.newick()
    assert len(json.loads(Path("t.json").read_text())["nodes"]) == 2 * len(names) - 1
    assert "width='700" in Path("t.svg").read_text().replace('"', "'")
    assert Path("t.png").read_bytes().startswith(b"\x89PNG")
    np.testing.assert_array_equal(np.load("rows.npy"), tree.assignments(k=12))
    with Path("rows.csv").open() as file:
        assert len({row["cluster"] for row in csv.DictReader(file)}) == 12
    assert hierarchy.is_valid_linkage(np.load("t.linkage.npy"))
    assert not list(folder.glob(".*"))


def test_without_out_newick_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    output, error = umbel(capsys, "run", "hac", "--features", "x.npy", "--linkage", "ward")
    assert output.count(";") == 1
    assert output.rstrip().endswith(";")
    assert "hac: 30 rows" in error


def test_evaluate_predict_compare_and_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    output, _ = umbel(
        capsys, "run", "kmeans", "x.npy", "--n-clusters", "3", "--seed", "1", "--json", "--quiet"
    )
    tree = json.loads(output)["tree"]
    output, _ = umbel(
        capsys, "evaluate", tree, "--labels", "y.txt", "--metrics", "ari,nmi", "--json"
    )
    assert json.loads(output)["metrics"] == pytest.approx({"ari": 1.0, "nmi": 1.0})

    np.save("new.npy", np.array([[8.0] * 4, [16.0] * 4, [8.2] * 4]))
    Path("new.txt").write_text("a\nb\na\n")
    output, _ = umbel(
        capsys,
        *("evaluate", tree, "--rows", "new.npy", "--labels", "new.txt"),
        *("--metrics", "ari", "--json"),
    )
    assert json.loads(output)["metrics"] == {"ari": 1.0}
    assert json.loads(output)["placed"]["n_rows"] == 3
    umbel(capsys, "predict", tree, "new.npy", "--out", "p.csv")
    with Path("p.csv").open() as file:
        leaves = [row["leaf"] for row in csv.DictReader(file)]
    assert leaves[0] == leaves[2] != leaves[1]

    assigned = Umbel().tree(tree).assignments(k=3)
    Path("own.txt").write_text("\n".join(map(str, assigned)))
    calibrated = ("calibrate", tree, "x.npy", "--labels", "own.txt", "--temperature", "1")
    output, _ = umbel(capsys, *calibrated, "--out", "curve.csv", "--json")
    calibration = json.loads(output)["id"]
    assert Path("curve.csv").read_text().startswith("threshold,coverage,error,depth")
    lists = ("--suspects", "suspects.csv", "--pairs", "pairs.json")
    output, _ = umbel(capsys, *calibrated, *lists)
    assert Path("suspects.csv").exists()
    assert json.loads(Path("pairs.json").read_text()) == []
    assert "n_rows" in output
    output, _ = umbel(capsys, "predict", tree, "new.npy", "--calibration", calibration, "--json")
    assert [row["nodes"] for row in json.loads(output)] == [[int(leaf)] for leaf in leaves]
    output, _ = umbel(capsys, "drift", tree, "x.npy", "x.npy", "--out", "nodes.csv")
    assert "Nothing moved." in output
    assert Path("nodes.csv").read_text().startswith("node,parent,name,n_before,n_after")
    umbel(capsys, "drift", tree, "x.npy", "new.npy", "--out", "moves.svg", "--json")
    assert Path("moves.svg").read_text().startswith("<svg")
    Path("kinds.txt").write_text("\n".join("rest" if own else "first" for own in assigned))
    output, _ = umbel(
        capsys, "name", tree, "labels", "--also", "labels=kinds.txt", "--out", "named.nwk"
    )
    assert "% " in output
    assert "%" in Path("named.nwk").read_text()
    _, error = umbel(capsys, *calibrated, "--alpha", "0.001", status=1)
    assert "at least 999 labelled rows" in error

    output, _ = umbel(
        capsys,
        *("compare", "hac", "kmeans:n_clusters=3,n_init=2", "--features", "x.npy"),
        *("--labels", "y.txt", "--seeds", "2", "--cut", "k=3", "--metrics", "ari"),
    )
    lines = output.splitlines()
    assert lines[0].split()[:2] == ["method", "params"]
    assert [line.split()[0] for line in lines[1:]] == ["hac", "kmeans"]
    assert "n_clusters=3" in lines[2]

    output, _ = umbel(capsys, "jobs", "--method", "kmeans", "--json")
    assert any(job["result"] and job["result"]["tree"] == tree for job in json.loads(output))


def test_confusions_by_files_of_labels(capsys: pytest.CaptureFixture[str]) -> None:
    logits = RNG.normal(size=(60, 4)) + 3 * np.eye(4)[np.arange(60) % 4]
    np.save("logits.npy", logits)
    np.save("classes.npy", np.arange(60) % 4)
    output, _ = umbel(capsys, "run", "l2h", "logits.npy", "--out", "own.nwk", "--json")
    tree = json.loads(output)["tree"]
    before = {dataset.id for dataset in Umbel().datasets(limit=200)}
    output, _ = umbel(capsys, "confusions", tree, "--labels", "classes.npy", "--json")
    by_labels = json.loads(output)
    assert by_labels["source"] == "labels"
    query = ("confusions", "--with", "labels=classes.npy")
    output, _ = umbel(capsys, "show", tree, *query, "--json")
    shown = json.loads(output)
    assert shown["pairs"] == by_labels["pairs"]
    umbel(capsys, "save", tree, "c.csv", "--part", query[0], *query[1:])
    umbel(capsys, "confusions", tree, "--labels", "classes.npy", "--out", "pairs.csv")
    for path in ("c.csv", "pairs.csv"):
        with Path(path).open() as file:
            assert len(list(csv.DictReader(file))) == len(by_labels["pairs"])
    output, _ = umbel(capsys, "confusions", tree, "--limit", "2")
    assert len(output.splitlines()) == 3
    # What `show` and `save` uploaded is gone; a name of labels is no file.
    kept = {dataset.id for dataset in Umbel().datasets(limit=200)} - before
    assert all(Umbel().dataset(each).body["name"] == "labels" for each in kept)
    umbel(capsys, "save", tree, "ids.nwk", "--with", "labels=id")
    _, error = umbel(capsys, "show", tree, "confusions", "--with", "labels=gone.npy", status=1)
    assert "gone.npy" in error
    _, error = umbel(capsys, "evaluate", "own.nwk", "--labels", "classes.npy", status=1)
    assert "`umbel evaluate tr_... --labels FILE`" in error
    _, error = umbel(capsys, "evaluate", tree, "--labels", "y.txt", status=1)
    assert "tr_..." not in error


def test_standard_input_in_place_of_any_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def piped(path: str, *arguments: str) -> str:
        content = io.TextIOWrapper(io.BytesIO(Path(path).read_bytes()))
        monkeypatch.setattr("sys.stdin", content)
        return umbel(capsys, *arguments)[0]

    np.savetxt("x.csv", np.load("x.npy"), delimiter=",")
    np.savez("x.npz", train=np.load("x.npy"), test=np.zeros((2, 2)))
    Path("drawing.json").write_text(
        json.dumps({"items": [], "width": 10, "height": 10, "width_mm": 10})
    )
    wanted, _ = umbel(capsys, "run", "hac", "x.npy", "--quiet")
    assert piped("x.npy", "run", "hac", "-", "--quiet") == wanted
    assert piped("x.csv", "run", "hac", "--features", "-", "--quiet") == wanted
    assert piped("x.npz", "run", "hac", "--features=-:train", "--quiet") == wanted
    output, _ = umbel(capsys, "run", "kmeans", "x.npy", "--n-clusters", "3", "--json")
    tree = json.loads(output)["tree"]
    assert json.loads(piped("y.txt", "evaluate", tree, "--labels", "-", "--json"))["metrics"]
    assert piped("x.csv", "predict", tree, "-").count("\n") == 31
    assert piped("x.npy", "upload", "-").startswith("ds_")
    assert piped("one.nwk", "import", "-").startswith("tr_")
    same = piped("one.nwk", "evaluate", "-", "--hierarchy", "one.nwk", "--json")
    assert json.loads(same)["metrics"]["robinson_foulds"] == 0
    assert "hac" in piped("x.npy", "compare", "hac", "--features", "-", "--labels", "y.txt")
    assert "Nothing moved." in piped("x.npy", "drift", tree, "x.npy", "-")
    assert "n_columns" in piped("x.npy", "heatmap", tree, "--features", "-")
    piped("drawing.json", "figure", "-", "drawing.svg")
    assert Path("drawing.svg").exists()
    Path("items.csv").write_text("word,n\n" + "\n".join(f"w{i},{i}" for i in range(30)))
    assert "word" in piped("items.csv", "attach", tree, "-")


def test_a_tree_from_a_file_is_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.nwk").write_text("((a,c),(b,d));")
    output, _ = umbel(capsys, "evaluate", "one.nwk", "--hierarchy", "one.nwk", "--json")
    same = json.loads(output)["metrics"]["robinson_foulds"]
    output, _ = umbel(capsys, "evaluate", "one.nwk", "--hierarchy", "two.nwk", "--json")
    assert same == 0 < json.loads(output)["metrics"]["robinson_foulds"]


@pytest.mark.parametrize(
    ("command", "status", "sentence"),
    [
        ("run hac gone.npy", 2, "there is no file 'gone.npy'"),
        ("run hac", 2, "no file is given"),
        ("run hac x.npy --out t.xlsx", 2, "accepted are .nwk"),
        ("run hac x.npy --out gone/t.nwk", 2, "there is no folder"),
        ("run hac x.npy --cut n=3", 2, "k="),
        ("run hac x.npy --cut k=three --out c.csv", 2, "k is a whole number, not 'three'"),
        ("run hac x.npy --cut levels=2,x --out c.csv", 2, "levels is a whole number, not 'x'"),
        ("run hac x.npy --cut k=3 --out t.nwk", 2, "no --out uses it; it is for .csv and .npy"),
        ("run hac x.npy --picture px=300", 2, "no --out uses it; it is for .svg, .png and .pdf"),
        ("evaluate one.nwk --labels y.txt --cut height=x", 2, "height is a number, not 'x'"),
        ("list drifts --method hac", 2, "drifts are not filtered by it; trees are"),
        ("run hac x.npy --linkage wards", 1, "linkage"),
        ("run hac x.npy --linkag ward", 2, "Is --linkage meant?"),
        ("run kmens x.npy", 2, "Is 'kmeans' meant?"),
        ("run hac x.npy --names y.txt --names y.txt", 2, "2 times"),
        ("run kmeans x.npy --n-clusters 99", 1, "99"),
        ("run hac x.npy --preprocess [", 2, "not JSON"),
        ("evaluate x.csv --labels y.txt", 2, "neither the id of a tree"),
        ("evaluate one.nwk --labels y.txt --rows x.npy", 2, "a service keeps"),
        ("evaluate tr_00000000000000000000000000 --labels y.txt", 1, "tr_0000"),
        ("predict tr_00000000000000000000000000 x.npy", 1, "tr_0000"),
        ("compare hax --features x.npy", 2, "'hac'"),
        ("jobs --url http://127.0.0.1:9", 3, "127.0.0.1:9"),
    ],
)
def test_what_is_wrong_is_reported(
    capsys: pytest.CaptureFixture[str], command: str, status: int, sentence: str
) -> None:
    output, error = umbel(capsys, *command.split(), status=status)
    assert sentence in error
    assert not output
    assert not list(Path().glob("t.*"))


@pytest.mark.parametrize(
    "command",
    [
        "run hac x.npy --picture theme=dark,px=400 --map m.svg --out a.csv",
        "run hac x.npy --cut k=3.0 --out a.csv",
        "run hac x.npy --cut level=1.0 --out a.npy",
        "run hac x.npy --wait-s inf --out a.csv",
        "evaluate one.nwk --hierarchy one.nwk --cut k=3.0",
        "list trees --limit +3",
    ],
)
def test_what_is_right_is_not_refused(capsys: pytest.CaptureFixture[str], command: str) -> None:
    umbel(capsys, *command.split())


def test_nothing_is_kept_where_no_service_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UMBEL_URL")
    _, error = umbel(capsys, "jobs", status=2)
    assert "--url or UMBEL_URL" in error


def test_a_consensus_of_files(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    for number, text in enumerate(("((a,b),(c,d));", "((b,a),c,d);", "(((a,c),b),d);")):
        Path(f"{number}.nwk").write_text(text)
    files = [f"{number}.nwk" for number in range(3)]
    output, error = umbel(capsys, "consensus", *files, "--out", "agreed.nwk", "--json")
    assert json.loads(output)["files"] == ["agreed.nwk"]
    assert "(a:" in Path("agreed.nwk").read_text()
    assert f"){2 / 3}:" in Path("agreed.nwk").read_text()
    assert "consensus: 4 rows, 4 leaves" in error
    output, _ = umbel(capsys, "consensus", *files[1:], "--reference", files[0])
    assert "0.5" in output
    umbel(capsys, "consensus", files[0], status=2)
    Path("other.nwk").write_text("(x,y);")
    _, error = umbel(capsys, "consensus", files[0], "other.nwk", status=1)
    assert "different leaves" in error


def test_files_of_other_programs(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    output, _ = umbel(capsys, "run", "gmm", "x.npy", "--n-clusters", "3", "--json")
    facts = json.loads(output)
    umbel(capsys, "export", facts["tree"], "itol", "itol", "--cut", "k=3")
    umbel(capsys, "export", facts["tree"], "microreact", "micro", "--cut", "k=3", "--quiet")
    assert {path.name for path in Path("itol").iterdir()} == {
        "tree.nwk",
        "labels.txt",
        "clusters.txt",
    }
    with Path("micro/data.csv").open(newline="") as file:
        leaves = list(csv.DictReader(file))
    assert len({leaf["cluster__colour"] for leaf in leaves}) == 3
    Path("texts.txt").write_text("\n".join(f"text {row}" for row in range(30)))
    tasks = ("export", facts["tree"], "label-studio")
    given = ("--rows", "x.npy", "--texts", "texts.txt", "--most", "4")
    umbel(capsys, *tasks, "tasks.json", *given)
    made = json.loads(Path("tasks.json").read_text())
    assert len(made) == 4
    row = made[0]["data"]["umbel_row"]
    assert made[0]["data"]["text"] == f"text {row}"
    # As JSON-MIN has it.
    Path("export.json").write_text(json.dumps([{**made[0]["data"], "label": "rose"}]))
    _, error = umbel(capsys, "annotations", "export.json", "30", "y.json")
    assert "1 of 30 rows have labels" in error
    labels = json.loads(Path("y.json").read_text())
    assert [place for place, label in enumerate(labels) if label] == [row]
    assert json.loads(umbel(capsys, "annotations", "export.json", "30", "-")[0]) == labels


def test_files_of_other_programs_with_other_options(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    for arguments, sentence in (
        (("export", "tr_1", "itol", "itol"), "--cut k=5"),
        (("export", "tr_1", "itol", "itol", "--rows", "x.npy"), "takes no --rows"),
        (("export", "tr_1", "label-studio", "t.json", "--rows", "x.npy"), "needs --texts"),
        (("export", "tr_1", "itol", "x.npy", "--cut", "k=2"), "tr_1"),
        (("annotations", "y.txt", "3", "y.json"), "is not a list in JSON"),
        (("annotations", "away.json", "3", "y.json"), "cannot be read"),
    ):
        _, error = umbel(capsys, *arguments, status=1 if sentence == "tr_1" else 2)
        assert sentence in error
