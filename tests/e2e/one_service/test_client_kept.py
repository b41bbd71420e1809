"""The command line on what a service keeps, against a running service."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.cli import main
from tests.e2e.conftest import Service
from umbel_client import Umbel

RNG = np.random.default_rng(3)
TRUE = np.repeat([0, 1, 2], 10)
ROWS = RNG.normal(size=(30, 4)) + 8 * TRUE[:, None]
PLANTS = "((rose:1,tulip:1)flower:1,oak:2)plant;"
# plant 0: (flower 1: rose 2, tulip 3), oak 4

Call = Callable[..., str]


@pytest.fixture(autouse=True)
def folder(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UMBEL_URL", service.url)
    np.save("x.npy", ROWS)
    Path("plants.nwk").write_text(PLANTS)
    return tmp_path


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command that ends with a status; gives standard output, or what went wrong."""

    def called(*arguments: str, status: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        output, error = capsys.readouterr()
        assert ended.value.code == status, error
        assert "Traceback" not in error
        return output.strip() if status == 0 else error

    return called


@pytest.fixture
def plants(call: Call) -> str:
    return call("import", "plants.nwk", "--title", "plants", "--quiet")


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open() as file:
        return list(csv.DictReader(file))


def body_of(text: str) -> Any:
    return json.loads(text)


def test_editions_from_the_first_change_to_the_last(call: Call, plants: str) -> None:
    edition = call(
        *("edit", plants, "--title", "for the paper", "--rename", "1=in bloom"),
        *("--note", "4=old=er", "--colour", "1=#d55e00", "--reorder", "1=3,2", "--collapse", "1"),
        "--quiet",
    )
    assert edition.startswith("ed_")
    call("save", plants, "edited.json", "--edition", edition)
    nodes = {each["id"]: each for each in body_of(Path("edited.json").read_text())["nodes"]}
    assert (nodes[1]["name"], nodes[1]["colour"], nodes[1]["collapsed"]) == (
        "in bloom",
        "#d55e00",
        True,
    )
    assert nodes[4]["note"] == "old=er"
    call("edit", edition, "--undo")
    assert call("edit", edition, "--redo", "--title", "final") == edition
    at = body_of(call("show", edition, "--json"))["revision"]
    refused = call("edit", edition, "--rename", "1=late", "--revision", str(at - 1), status=2)
    assert f"is at revision {at}, not {at - 1}" in refused
    whole = ("--expand", "1", "--rename", "1", "--dissolve", "1")
    call("edit", edition, *whole, "--revision", str(at))
    merged = body_of(call("edit", edition, "--merge", "2,3=garden", "--json"))
    assert merged["new_nodes"] == [5]
    kinds = [each["kind"] for each in body_of(call("history", edition, "--json"))]
    assert kinds == ["edit", "edit", "title", "redo", "undo", "edit", "create"]
    assert "final" in call("list", "editions", "--tree", plants)
    copy = call("edit", plants, "--from", edition)
    call("save", plants, "copy.nwk", "--edition", copy)
    assert "garden" in Path("copy.nwk").read_text()
    call("update", copy, "--name", "copy")
    assert body_of(call("show", copy, "--json"))["name"] == "copy"
    call("delete", copy, edition)
    assert call("list", "editions", "--tree", plants) == "No editions."


def test_an_edit_that_does_not_fit_leaves_nothing(call: Call, plants: str) -> None:
    assert "99" in call("edit", plants, "--rename", "1=a", "--rename", "99=b", status=1)
    assert call("list", "editions", "--tree", plants) == "No editions."
    for wrong, sentence in (
        (("--rename", "one=two"), "'one' is no node"),
        (("--reorder", "1"), "NODE=NODE"),
        ((), "at least one operation"),
        (("--from", "ed_1"), "of a new edition"),
    ):
        assert sentence in call("edit", "ed_00000000000000000000000000", *wrong, status=2)
    assert "neither ed_" in call("edit", "x", "--undo", status=2)


def test_links(call: Call, plants: str) -> None:
    url = call("share", plants, "--days", "1", "--title", "for ada")
    with Umbel(url.partition("/shared#")[0], url.partition("#")[2]) as reader:
        assert reader.shared()["tree"] == plants
    (share,) = body_of(call("list", "shares", "--tree", plants, "--json"))
    assert share["name"] == "for ada"
    assert body_of(call("show", share["id"], "--json"))["tree"] == plants
    assert call("revoke", share["id"]) == share["id"]
    assert call("list", "shares", "--tree", plants) == "No shares."
    assert "one looks like sh_" in call("revoke", plants, status=2)


def test_items_and_their_nodes(call: Call) -> None:
    facts = body_of(call("run", "hac", "x.npy", "--linkage", "ward", "--json", "--quiet"))
    lines = ["class,n", *(f"{'abc'[label]},{at}" for at, label in enumerate(TRUE))]
    Path("items.csv").write_text("\n".join(lines))
    tree = facts["tree"]
    attached = body_of(call("attach", tree, "items.csv", "--title", "things", "--json"))
    assert [each["kind"] for each in attached["columns"]] == ["category", "number"]
    by_tree = ("list", "attachments", "--tree", tree)
    assert attached["id"] in call(*by_tree, "--status", "succeeded")
    assert call(*by_tree, "--words", "other") == "No attachments."
    assert call("list", "namings", "--tree", tree) == "No namings."
    shown = body_of(call("examples", tree, "0", "--by", "random", "--n", "2", "--json"))
    assert len(shown) == 2
    call("examples", tree, "0", "--n", "3", "--out", "central.csv")
    assert rows_of("central.csv")[0]["class"] in "abc"
    call("match", attached["id"], "class", "--equals", "c", "--out", "c.csv")
    assert rows_of("c.csv")[0] == {"node": "0", "n": "30", "n_matches": "10"}
    call("match", attached["id"], "1", "--low", "5", "--high", "6", "--out", "n.csv")
    assert rows_of("n.csv")[0]["n_matches"] == "2"
    assert "its columns are 'class', 'n'" in call("match", attached["id"], "m", status=2)
    assert "category" in call("show", attached["id"], "columns")
    call("save", attached["id"], "means.csv", "--part", "columns/1/nodes")
    assert float(rows_of("means.csv")[0]["value"]) == pytest.approx(14.5)


def test_matrices_maps_and_labels(call: Call) -> None:
    facts = body_of(call("run", "hac", "x.npy", "--linkage", "ward", "--json", "--quiet"))
    tree = facts["tree"]
    heatmap = ("heatmap", tree, "--cut", "k=3", "--scale", "none")
    made = body_of(call(*heatmap, "--out", "matrix.csv", "--title", "three", "--json"))
    rows = rows_of("matrix.csv")
    assert len(rows) == 3
    assert sorted(float(row["0"]) for row in rows) == pytest.approx(
        [ROWS[number == TRUE, 0].mean() for number in range(3)], abs=1e-3
    )
    call(*heatmap, "--out", "matrix.npy")
    assert np.load("matrix.npy").shape == (3, 4)
    call("save", made["id"], "matrix.png", "--with", "width_mm=85")
    assert Path("matrix.png").read_bytes().startswith(b"\x89PNG")
    assert ".svg" in call("heatmap", tree, "--out", "matrix.xlsx", status=2)
    call("update", made["id"], "--description", "for the paper", "--tag", "paper", "--tag", "a")
    shown = body_of(call("show", made["id"], "--json"))
    assert (shown["description"], sorted(shown["tags"])) == ("for the paper", ["a", "paper"])
    assert made["id"] in call("list", "heatmaps", "--tag", "paper", "--words", "three")
    call("update", made["id"], "--tag", "", "--description", "")
    shown = body_of(call("show", made["id"], "--json"))
    assert (shown["description"], shown["tags"], shown["name"]) == (None, [], "three")

    plane = body_of(call("map", tree, "--out", "plane.npy", "--title", "plane", "--json"))
    assert np.load("plane.npy").shape == (30, 2)
    call("save", plane["id"], "plane.svg", "--with", "color_by=cluster:3")
    assert Path("plane.svg").read_text().startswith("<svg")
    assert plane["id"] in call("list", "maps", "--tree", tree)

    clusters = body_of(call("show", tree, "cut", "--with", "k=3", "--json"))["clusters"]
    nodes = [each["node"] for each in clusters]
    labels = call(
        *("label", tree, "--known", f"{nodes[0]}=first", "--known", f"{nodes[1]}=second"),
        *("--together", f"{nodes[1]},{nodes[2]}", "--title", "known"),
    )
    shown = body_of(call("show", labels, "statements", "--json"))
    assert shown["tree"] == tree
    assert len(shown["items"]) == 3
    assert "give --known" in call("label", tree, status=2)
    assert "is not NODE=NAME" in call("label", tree, "--known", "1", status=2)
    call("delete", made["id"], plane["id"], labels)
    assert made["id"] not in call("list", "heatmaps", "--tree", tree)


def test_parts_of_which_one_is_shown_say_so(call: Call, plants: str) -> None:
    assert "nodes are shown one by one: nodes/0." in call("show", plants, "nodes", status=2)
    assert body_of(call("show", plants, "nodes/0", "--json"))["id"] == 0
    assert "Is 'nodes' meant?" in call("show", plants, "node", status=2)


@pytest.mark.needs("typst")
def test_a_picture_is_saved_as_pdf(call: Call, plants: str) -> None:
    call("save", plants, "plants.pdf", "--with", "width_mm=85")
    assert Path("plants.pdf").read_bytes().startswith(b"%PDF")


def test_what_is_kept_is_listed_shown_and_saved(call: Call, plants: str) -> None:
    dataset = call("upload", "x.npy", "--title", "rows", "--tag", "mine", "--quiet")
    assert dataset in call("list", "datasets", "--tag", "mine", "--limit", "1")
    call("save", dataset, "again.npy")
    np.testing.assert_array_equal(np.load("again.npy"), ROWS)
    assert body_of(call("show", plants, "--json"))["name"] == "plants"
    assert "flower" in call("show", plants, "search", "--with", "q=flow")
    assert body_of(call("show", plants, "nodes/4", "--json"))["name"] == "oak"
    call("save", plants, "plants.svg", "--with", "width_mm=85")
    assert 'width="85mm"' in Path("plants.svg").read_text()
    call("save", plants, "beside.svg", "--part", "tangle", "--with", f"other={plants}")
    assert Path("beside.svg").read_text().startswith("<svg")
    Path("drawing.json").write_text(
        json.dumps({"items": [], "width": 300, "height": 100, "width_mm": 85, "title": "empty"})
    )
    call("figure", "drawing.json", "drawing.png")
    assert Path("drawing.png").read_bytes().startswith(b"\x89PNG")
    call("delete", dataset, plants)
    assert plants in call("show", plants, status=1)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("show x", "one looks like tr_"),
        ("show xx_1", "one looks like tr_"),
        ("list editions", "--tree tr_"),
        ("list datasets --tree tr_1", "it is of editions"),
        ("list trees --status failed", "are not filtered by it"),
        ("list editions --tree tr_1 --name x", "their only filter"),
        ("update tr_1", "give --name"),
        ("save tr_1 gone/t.nwk", "there is no folder"),
        ("save tr_1 t.nwk --with px", "not NAME=VALUE"),
        ("show tr_1 --with k=3", "it is of a part"),
        ("figure gone.json t.svg", "cannot be read"),
        ("figure plants.nwk t.nwk", "accepted are .svg"),
        ("map tr_1 --out t.nwk", "accepted are .csv"),
        ("import x.csv", "neither the id of a tree"),
    ],
)
def test_what_is_wrong_is_reported(call: Call, plants: str, command: str, sentence: str) -> None:
    arguments = command.replace("tr_1", plants).split()
    assert sentence in call(*arguments, status=2)
    assert not list(Path().glob("t.*"))


def test_an_alias_moves_from_tree_to_tree(call: Call, plants: str, service: Service) -> None:
    other = call("import", "plants.nwk", "--title", "others", "--quiet")
    name = f"alias-{plants[-8:]}"
    assert call("alias", name, plants, "--note", "the first") == f"@{name} names {plants}"
    assert call("show", f"@{name}", "--json") == call("show", plants, "--json")
    assert "names" in call("alias", f"@{name}", other, "--expect", other, status=2)
    assert call("alias", name, other, "--expect", plants) == f"@{name} names {other}"
    assert body_of(call("alias", name, "--json"))["before"] == plants
    assert "the first" in call("alias", name)
    assert call("alias", name, "--back") == f"@{name} names {plants}"
    assert name in call("alias")
    assert call("edit", f"@{name}", "--rename", "1=flowers", "--quiet").startswith("ed_")
    assert "alias" in call("delete", plants, status=1)
    with Umbel(service.url) as umbel:
        assert umbel.tree(f"@{name}").id == plants
        assert umbel.set_alias(name, umbel.tree(other))["tree"] == other
    assert call("alias", name, "--remove") == ""
    assert "no alias" in call("show", f"@{name}", status=1)
