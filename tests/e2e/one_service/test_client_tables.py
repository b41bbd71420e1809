"""Tables and data frames with the client and the command line: names, ids, warnings, chosen
columns."""

from __future__ import annotations

import importlib
import itertools
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.conftest import Service
from tests.needs_kit import need
from umbel_client import File, InputError, Umbel, UmbelWarning
from umbel_client.commands import main
from umbel_client.problems import WrongInput

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3)) + 6 * np.repeat([0, 1], 10)[:, None] * [1, 0.5, 2]
IDS = [f"row {row}" for row in range(20)]
NAMES = ["width", "height", "depth"]
PACKAGES = ["pandas", "polars", "pyarrow"]


@pytest.fixture(scope="module")
def umbel(service: Service) -> Iterator[Umbel]:
    with Umbel(service.url) as umbel:
        yield umbel


def frame(package: str, *names: str, **more: list[str]) -> Any:
    """The features of these names in this order, and further columns."""
    need(package)
    module = importlib.import_module(package)
    own = {name: X[:, NAMES.index(name)] for name in names} | more
    return (module.table if package == "pyarrow" else module.DataFrame)(own)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_and_ids_of_a_frame(umbel: Umbel, package: str) -> None:
    table = frame(package, *NAMES, who=IDS, day=["2024-01-01", "2024-01-02"] * 10)
    with pytest.warns(UmbelWarning, match=r"'who' is taken as the ids .* 'day'"):
        tree = umbel.run("kmeans", features=table, n_clusters=2)
    assert tree.ids() == IDS
    with pytest.warns(UmbelWarning, match="'day'"):
        expected = tree.predict(table)
    assert expected.ids == IDS
    for order in itertools.permutations(NAMES) if package == "pyarrow" else [NAMES[::-1]]:
        predicted = tree.predict(frame(package, *order))
        assert predicted.leaf.tolist() == expected.leaf.tolist()
    assert tree.model().predict(features=frame(package, *order))[0] == predicted[0]
    with pytest.raises(WrongInput, match=r"lacks the column\(s\) 'depth'"):
        tree.predict(frame(package, "width", "height"))


@pytest.mark.parametrize("package", PACKAGES)
def test_columns_name_classes_and_features(umbel: Umbel, package: str) -> None:
    newick = umbel.run("l2h", logits=frame(package, *NAMES)).newick()
    assert all(name in newick for name in NAMES)
    given = umbel.run("l2h", logits=frame(package, *NAMES), names=["a", "b", "c"]).newick()
    assert "width" not in given
    features = umbel.run("mmc", features=frame(package, *NAMES), n_clusters=2).features()
    assert features[0]["feature"] in NAMES
    top = np.argsort(-X, axis=1)
    assert "width" not in umbel.run("l2h", logits=frame(package, *NAMES), top_classes=top).newick()


@pytest.mark.needs("pandas")
def test_the_index_of_pandas(umbel: Umbel) -> None:
    rows = frame("pandas", *NAMES).set_axis(IDS)
    tree = umbel.run("hac", features=rows)
    assert "'row 7'" in tree.newick()
    assert tree.ids() == IDS
    assert umbel.run("hac", features=frame("pandas", *NAMES)).ids() is None
    with pytest.warns(UmbelWarning, match="rows have no ids: row 0 and row 1"):
        twice = umbel.run("hac", features=rows.set_axis(["x"] * 20))
    assert twice.ids() is None


@pytest.mark.needs("pandas", "pyarrow")
def test_a_column_of_embeddings(umbel: Umbel) -> None:
    table = frame("pandas", who=IDS).assign(embedding=list(X))
    with pytest.warns(UmbelWarning, match="'who' is taken as the ids"):
        tree = umbel.run("mmc", features=table, n_clusters=2)
    assert tree.ids() == IDS
    assert isinstance(tree.features()[0]["feature"], int)


def test_columns_are_chosen(umbel: Umbel, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [
        f"{who};{row[0]:.3f};{row[1]:.3f}".replace(".", ",")
        for who, row in zip(IDS, X, strict=True)
    ]
    path.write_text("\n".join(["who;width;height", *lines, ""]), encoding="utf-8")
    options: Any = {"columns": ["height"], "id_column": "who", "decimal": ",", "delimiter": ";"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UmbelWarning)
        dataset = umbel.upload(str(path), **options)
        assert umbel.run("hac", features=File(path, **options)).ids() == IDS
    assert dataset.dimensions == (20, 1)
    assert [own["role"] for own in dataset.columns] == ["id", None, "feature"]
    with pytest.warns(UmbelWarning) as found:
        whole = umbel.upload(str(path))
    assert [str(each.message) for each in found] == list(whole.warnings)
    assert any("'who' is taken as the ids" in sentence for sentence in whole.warnings)
    assert whole.dimensions == (20, 2)
    with pytest.raises(InputError, match="there is no such option"):
        umbel.upload(str(path), column="height")  # type: ignore[call-arg]


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


def test_the_command_line(
    service: Service, umbel: Umbel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = str(tmp_path / "a.csv"), tmp_path / "out.csv"
    rows = [
        f"{who},{row[0]},{row[1]},{at % 2}"
        for at, (who, row) in enumerate(zip(IDS, X, strict=True))
    ]
    Path(path).write_text("\n".join(["who,width,height,group", *rows, ""]), encoding="utf-8")
    url = ("--url", service.url)
    assert command("run", "hac", path, "--cut", "k=2", "--out", str(out), *url) == 0
    assert capsys.readouterr().err.count("'who' is taken as the ids of the rows") == 1
    assert out.read_text().splitlines()[1].startswith("0,row 0,")

    chosen = ("--columns", "width,height", "--id-column", "who", *url)
    assert command("run", "kmeans", path, "--n-clusters", "2", *chosen, "--json") == 0
    shown = capsys.readouterr()
    assert "warning" not in shown.err
    tree = json.loads(shown.out)["tree"]
    assert command("predict", tree, path, *chosen) == 0
    assert "row 19" in capsys.readouterr().out
    other = tmp_path / "b.csv"
    other.write_text("who,width\nx,0.5\ny,1.5\n", encoding="utf-8")
    assert command("predict", tree, str(other), *url) == 1
    assert "lacks the column(s) 'height'" in capsys.readouterr().err

    assert command("upload", path, *url) == 0
    shown = capsys.readouterr()
    assert shown.err.count("'who' is taken as the ids of the rows") == 1
    dataset = shown.out.strip()
    assert command("show", dataset, *url) == 0
    assert "height" in capsys.readouterr().out
    assert command("list", "datasets", "--limit", "1", *url) == 0
    assert "who, width, height, group" in capsys.readouterr().out
    assert command("run", "hac", dataset, "--columns", "width", *url) == 2
    assert "has been uploaded" in capsys.readouterr().err


def test_labels_in_another_order_are_matched_by_their_index(umbel: Umbel) -> None:
    need("pandas")
    import pandas as pd

    tree = umbel.run("kmeans", features=pd.DataFrame(X, IDS, NAMES), n_clusters=2)
    labels = pd.Series(["a"] * 10 + ["b"] * 10, index=IDS)
    turned = labels.iloc[np.random.default_rng(4).permutation(20)]
    evaluation = tree.evaluate(turned, metrics=["ari"])
    assert evaluation["ari"] == 1
    assert "'labels' were put in the order of the tree" in evaluation.warnings[0]
    assert not tree.evaluate(labels, metrics=["ari"]).warnings
    others = turned.set_axis([f"z{row}" for row in range(20)])
    assert "No id of input 'labels'" in tree.evaluate(others, metrics=["ari"]).warnings[0]
