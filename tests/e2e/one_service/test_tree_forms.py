"""One table of tree forms by HTTP, by the client and by the command line, against a service."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.cli import main
from tests.e2e.conftest import Service
from tests.workers.formats.tree_forms_kit import FORMS, HCLUST, NESTED, Form
from umbel_client import InputError, Tree, Umbel, UmbelWarning


@pytest.fixture(scope="module")
def umbel(service: Service) -> Iterator[Umbel]:
    with Umbel(service.url) as umbel:
        yield umbel


def leaves(tree: Tree) -> list[str]:
    nodes = tree.nodes()
    inner = {node["parent"] for node in nodes}
    return sorted(node["name"] for node in nodes if node["id"] not in inner)


def require_right(tree: Tree, form: Form) -> None:
    assert leaves(tree) == (["0", "1", "2"] if "linkage" in form.name else ["a", "b", "c"])
    assert bool(tree.warnings) is (form.warned is not None)
    assert (form.warned or "") in " ".join(tree.warnings)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_over_http(service: Service, umbel: Umbel, form: Form) -> None:
    headers = {"Content-Type": form.media}
    made = service.client.post("/v1/trees", content=form.text.encode(), headers=headers)
    assert made.status_code == 201, made.text
    require_right(umbel.tree(made.json()["id"]), form)


WRITTEN = [form for form in FORMS if form.ending]


@pytest.mark.parametrize("form", WRITTEN, ids=lambda form: form.name)
def test_on_the_command_line(
    service: Service,
    umbel: Umbel,
    form: Form,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("UMBEL_URL", service.url)
    file = tmp_path / f"own{form.ending}"
    file.write_bytes(form.text.encode())
    with pytest.raises(SystemExit) as ended:
        main(["import", str(file)])
    output, error = capsys.readouterr()
    assert ended.value.code == 0, error
    tree = umbel.tree(output.strip())
    assert leaves(tree) == (["0", "1", "2"] if "linkage" in form.name else ["a", "b", "c"])
    # The command sends a text by what it is; the service decides the rest.
    by_type = form.warned is not None and form.warned.startswith("is ")
    if form.warned is not None and not by_type:
        assert form.warned in error
    else:
        assert "warning" not in error


@pytest.mark.parametrize("form", WRITTEN, ids=lambda form: form.name)
def test_texts_by_the_client(umbel: Umbel, form: Form) -> None:
    if "class paths" in form.name and form.ending == ".txt":
        tree: Any = form.text.splitlines()
    else:
        tree = form.text
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = umbel.import_tree(tree)
    assert leaves(made) == (["0", "1", "2"] if "linkage" in form.name else ["a", "b", "c"])
    raised = [str(each.message) for each in caught if each.category is UmbelWarning]
    assert raised == list(made.warnings)


def test_values_by_the_client(umbel: Umbel) -> None:
    for value in (NESTED, HCLUST, [["x", "a"], ["x", "b"], ["c"]], ["x/a", "x/b", "c"]):
        assert leaves(umbel.import_tree(value)) == ["a", "b", "c"]
    slashed = umbel.import_tree([["news", "World"], ["econ", "Sci/Tech"]])
    assert leaves(slashed) == ["Sci/Tech", "World"]
    assert leaves(umbel.import_tree(["news/World", r"econ/Sci\/Tech"])) == ["Sci/Tech", "World"]
    with pytest.raises(InputError, match=r"no file 'own\.nex'"):
        umbel.import_tree("own.nex")


@pytest.mark.filterwarnings("ignore::umbel_client.UmbelWarning")
def test_what_is_written_comes_back(umbel: Umbel, service: Service) -> None:
    rng = np.random.default_rng(0)
    names = ["it's", "b c", "d", "Sci/Tech", "98", "f"]
    tree = umbel.run("hac", features=rng.normal(size=(6, 2)), names=names, support={})
    shares = sorted(n["support"] for n in tree.nodes() if n["support"] is not None)
    assert shares
    for suffix in ("nwk", "nex", "json", "hclust.json"):
        text = service.client.get(f"/v1/trees/{tree.id}.{suffix}").text
        again = umbel.import_tree(text)
        assert leaves(again) == sorted(names)
        heights = [sorted(node["height"] for node in each.nodes()) for each in (tree, again)]
        assert heights[0] == pytest.approx(heights[1], abs=1e-12)
        if "hclust" not in suffix:
            back = [node.get("support") for node in again.nodes()]
            assert sorted(share for share in back if share is not None) == shares


def test_a_job_warns_of_how_its_hierarchy_was_read(service: Service) -> None:
    rng = np.random.default_rng(0)
    names = ["World", "Sports", "Business", "Sci/Tech"]
    features = (np.eye(4)[np.arange(40) % 4] + 0.1 * rng.normal(size=(40, 4))).tolist()
    pairs = [["news", names[0]], ["news", names[1]], ["econ", names[2]], ["econ", names[3]]]
    hierarchies: list[tuple[Any, str]] = [
        (names, r"'Sci/Tech': where a slash belongs to a name, write it '\/'"),
        (pairs, "is a list of names and was read as one path"),
        ([" > ".join(pair) for pair in pairs], "divided at '>'"),
    ]
    for hierarchy, warned in hierarchies:
        inputs = {
            "features": features,
            "labels": [names[row % 4] for row in range(40)],
            "hierarchy": hierarchy,
        }
        job = service.client.post(
            "/v1/jobs",
            content=json.dumps({"method": "rr-lr", "inputs": inputs}),
            headers={"Content-Type": "application/json", "Prefer": "wait=60"},
        ).json()
        assert job["status"] == "succeeded", job
        assert any(warned in sentence for sentence in job["warnings"]), job["warnings"]
