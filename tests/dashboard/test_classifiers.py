"""Classifiers on the page: training, new rows, evaluation, comparison, errors on the tree."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.forms_kit import finished
from tests.dashboard.planted import hash_of, pixels, settled, until
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

#            root
#     animal       plant
#    cat  dog    rose  tulip
PATHS = ["animal/cat", "animal/dog", "plant/rose", "plant/tulip"]
CENTRES = np.array([[3.0, 1.0, 0.0], [3.0, -1.0, 0.0], [-3.0, 0.0, 1.0], [-3.0, 0.0, -1.0]])


def rows_of(api: Api, n_each: int, seed: int) -> tuple[str, str]:
    """Datasets of features and of labels; siblings overlap, so that some rows are confused."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(4), n_each)
    points = CENTRES[label] + rng.normal(size=(label.size, 3))
    return (
        api.upload(npy(points), role="features", name=f"points-{seed}.npy"),
        api.upload(
            json.dumps([PATHS[code] for code in label]).encode(),
            media="application/json",
            role="labels",
            name=f"classes-{seed}.json",
        ),
    )


@pytest.fixture(scope="module")
def trained(api: Api) -> dict[str, Any]:
    """Two classifiers, on the tree and without it, and rows to evaluate them on."""
    short = api.upload(npy(np.zeros((8, 3))), role="features", name="eight-rows.npy")
    features, labels = rows_of(api, 20, 0)
    test_features, test_labels = rows_of(api, 15, 1)
    inputs = {"features": features, "labels": labels}
    tree = api.run("rr-lr", {**inputs, "hierarchy": PATHS}, name="On the <b>tree</b>")
    flat = api.run("mlr", inputs, name="Flat")
    for job in (tree, flat):
        assert job["status"] == "succeeded", job
    return {
        "tree": tree,
        "flat": flat,
        "features": test_features,
        "labels": test_labels,
        "training": inputs,
        "narrow": api.upload(npy(np.eye(2)), role="features", name="two-columns.npy"),
        "short": short,
    }


@pytest.fixture(scope="module")
def evaluation(api: Api, trained: dict[str, Any]) -> dict[str, Any]:
    """The job of an evaluation as the page requests it."""
    answer = api.client.post(
        f"/v1/models/{trained['tree']['result']['model']}/evaluations",
        json={
            "inputs": {"features": trained["features"]},
            "labels": trained["labels"],
            "by": ["level", "class_size", "class", "confusions", "node"],
        },
        headers={"Prefer": "wait=0"},
    )
    assert answer.status_code == 202, answer.text
    job = api.ended(answer.json()["id"])
    assert job["status"] == "succeeded", job
    return {"job": job, "tables": api.client.get(f"/v1/jobs/{job['id']}/tables").json()}


def card(page: Page, name: str) -> Locator:
    region = page.get_by_role("region", name=name, exact=True)
    region.wait_for()
    return region


def saved(page: Page, name: str) -> list[dict[str, str]]:
    with page.expect_download() as begun:
        page.get_by_role("button", name=name).click()
    path: Path = begun.value.path()
    return list(csv.DictReader(path.read_text().splitlines()))


def test_a_run_with_typed_paths(look: Open, api: Api, trained: dict[str, Any]) -> None:
    training = "&".join(f"{role}={dataset}" for role, dataset in trained["training"].items())
    page = look(f"/?method=rr-lr&{training}")
    hierarchy = page.locator("select[name=hierarchy]")
    tree = trained["tree"]["result"]["tree"]
    hierarchy.locator(f"option[value={tree}]", has_text="4 leaves").wait_for(state="attached")
    hierarchy.select_option("typed")
    page.get_by_label("Hierarchy, typed in").fill("\n".join([*PATHS, ""]))
    weight = page.locator("input[name=C]")
    assert weight.input_value() == "1"
    weight.fill("-3")
    run = page.get_by_role("button", name="Run Recursively")
    run.click()
    wrong = page.locator("[data-param=C] .field-wrong")
    wrong.filter(has_text="auto or a number above 0").wait_for()
    weight.fill("0.5")
    weight.press("Tab")
    run.click()
    finished(page)
    job = api.client.get(f"/v1/jobs/{page.url.split('/')[-1]}").json()
    assert job["params"]["C"] == 0.5
    assert job["inputs"]["hierarchy"] == "inline"
    assert api.client.get(f"/v1/trees/{job['result']['tree']}.json").json()["max_depth"] == 2


def test_new_rows(look: Open, trained: dict[str, Any]) -> None:
    page = look(f"/jobs/{trained['tree']['id']}")
    place = card(page, "Place new rows")
    place.locator("select[name=features]").select_option(trained["features"])
    place.get_by_label("Best classes").fill("2")
    place.get_by_label("Threshold").fill("2")
    page.get_by_role("button", name="Place them").click()
    place.locator(".field-wrong", has_text="from 0 to 1").wait_for()
    place.get_by_label("Threshold").fill("0.9")
    place.get_by_label("Confidence").fill("0.95")
    page.get_by_role("button", name="Place them").click()
    place.get_by_role("status").filter(has_text="60 rows placed").wait_for()
    heads = place.locator("thead th").all_inner_texts()
    assert [head.split("\n")[0].strip(" ↕") for head in heads] == [
        *("Row", "Labels", "Path ends at", "Probability", "Path", "Best classes")
    ]
    # Siblings overlap, so some rows have no label of this probability and end above a leaf.
    assert place.locator("td[data-label='Labels']", has_text="none").count() > 0
    assert place.locator("td[data-label='Path ends at']", has_text="animal").count() > 0
    assert " › " in "".join(place.locator("td[data-label='Path']").all_inner_texts())
    rows = saved(page, "Save as CSV")
    assert len(rows) == 60
    assert {len(json.loads(row["top"])) for row in rows} == {2}
    assert "[]" in {row["labels"] for row in rows}


def test_an_evaluation_beside_another(
    look: Open, api: Api, trained: dict[str, Any], evaluation: dict[str, Any]
) -> None:
    page = look(f"/jobs/{trained['tree']['id']}")
    form = card(page, "Evaluate this classifier")
    form.get_by_role("link", name="classes-1.json").wait_for()
    page.watch.expected.append("422")
    offered = form.locator("select[name=features]")
    offered.select_option(trained["short"])
    # It has another width than the model's rows.
    assert offered.locator(f"option[value='{trained['narrow']}']").count() == 0
    form.locator("select[name=labels]").select_option(trained["labels"])
    form.get_by_role("button", name="Evaluate").click()
    form.locator(".field-wrong, .notice.bad").filter(has_text="row").first.wait_for()
    form.locator("select[name=features]").select_option(trained["features"])
    form.get_by_role("button", name="Evaluate").click()
    classes = card(page, "By class")
    tables = evaluation["tables"]
    result = evaluation["job"]["result"]["evaluation"]
    low, high = result["intervals"]["macro_f1"]
    metric = card(page, "Metrics").locator("tr", has_text="Macro F1").inner_text()
    assert (
        f"{result['metrics']['macro_f1']:.3f} ± {result['standard_errors']['macro_f1']:.3f}"
        in metric
    )
    assert f"{low:.3f} to {high:.3f}" in metric
    assert "60 labelled rows" in page.locator("main").inner_text()
    assert card(page, "By level").locator("tbody tr").count() == 3
    assert classes.locator("tbody tr").count() == 4
    classes.get_by_role("button", name="F1", exact=True).click()
    shown = [float(text) for text in classes.locator("td[data-label='F1']").all_inner_texts()]
    expected = sorted((row["f1"] for row in tables["class"]), reverse=True)
    assert shown == pytest.approx(expected, abs=6e-4)
    first = tables["confusions"][0]
    confusion = card(page, "Confusions").locator("tbody tr").first
    assert first["true"] in confusion.inner_text()
    assert str(first["count"]) in confusion.inner_text()
    # Labels are names in one tree and paths in the other.
    page.get_by_label("Compare with").select_option(trained["flat"]["id"])
    gains = card(page, "Which classes gain")
    other = hash_of(page)["against"]
    flat = {row["label"]: row for row in api.client.get(f"/v1/jobs/{other}/tables").json()["class"]}
    rows = saved(page, "Which classes gain as CSV")
    by_name = {path.split("/")[1]: flat[path] for path in PATHS}
    assert {row["label"] for row in rows} == set(by_name)
    for row in rows:
        assert float(row["f1_b"]) == by_name[row["label"]]["f1"]
        gain = float(row["f1"]) - float(row["f1_b"])
        assert float(row["f1_a_minus_b"]) == pytest.approx(gain, abs=1e-12)
    assert "F1 of both is known for 4 classes" in gains.inner_text()
    assert "different trees" in card(page, "By level").inner_text()
    # The address opens the same.
    address = page.url.split("#")[1]
    page = look(address)
    assert "for 4 classes" in card(page, "Which classes gain").inner_text()


def test_errors_on_the_tree(
    look: Open, trained: dict[str, Any], evaluation: dict[str, Any]
) -> None:
    job, tables = evaluation["job"], evaluation["tables"]
    page = look(f"/jobs/{job['id']}")
    page.get_by_role("link", name="Errors on the tree").click()
    panel = card(page, "Colour")
    panel.get_by_label("Measure").wait_for()
    settled(page)
    assert hash_of(page)["color"] == job["id"]
    until(page, lambda: panel.locator(".tree-key").count() == 6)
    counted = sum(int(text) for text in panel.locator(".tree-key-size").all_inner_texts())
    assert counted == sum(row["f1"] is not None for row in tables["node"])
    before = pixels(page)
    panel.get_by_label("Draw the most frequent confusions").uncheck()
    until(page, lambda: hash_of(page).get("links") == "0")
    until(page, lambda: pixels(page) != before)
    panel.get_by_label("Measure").select_option("missed")
    until(page, lambda: hash_of(page).get("measure") == "missed")
    panel.locator(".tree-key", has_text="0–10 % missed").wait_for()
    # A class with its confusions, each a way to the other class.
    confusion = tables["confusions"][0]
    page = look(f"/trees/{job['result']['tree']}?color={job['id']}&node={confusion['true_node']}")
    node = card(page, "Node")
    node.get_by_text("Its rows were given").wait_for()
    recall = next(row for row in tables["node"] if row["node"] == confusion["true_node"])["recall"]
    assert f"recall {recall:.2f}" in node.inner_text()
    node.get_by_role("button", name=confusion["predicted"]).first.click()
    until(page, lambda: hash_of(page).get("node") == str(confusion["predicted_node"]))
    # The tree's page offers the colours as well, and refuses the colours of another tree.
    page = look(f"/trees/{job['result']['tree']}")
    page.locator(f"option[value={job['id']}]").wait_for(state="attached")
    page = look(f"/trees/{trained['flat']['result']['tree']}?color={job['id']}")
    page.locator(".toast", has_text="not the errors of a classifier on this tree").wait_for()
    until(page, lambda: "color" not in hash_of(page))


def test_an_evaluation_with_one_table(look: Open, api: Api, trained: dict[str, Any]) -> None:
    body = {
        "inputs": {"features": trained["features"]},
        "labels": trained["labels"],
        "by": ["class"],
    }
    model = trained["tree"]["result"]["model"]
    job = api.client.post(
        f"/v1/models/{model}/evaluations", json=body, headers={"Prefer": "wait=0"}
    ).json()
    job = api.ended(job["id"])
    page = look(f"/jobs/{job['id']}")
    assert card(page, "By class").locator("tbody tr").count() == 4
    assert page.get_by_role("heading", name="Confusions").count() == 0
    assert page.get_by_role("heading", name="By level").count() == 0
    page.get_by_role("link", name="Errors on the tree").click()
    card(page, "Colour").get_by_text("has no table of nodes").wait_for()


@pytest.mark.slow
def test_on_a_phone_in_the_dark(
    open_page: Open, trained: dict[str, Any], evaluation: dict[str, Any], axe: Axe
) -> None:
    page = open_page(f"/jobs/{evaluation['job']['id']}", theme="dark", width=390)
    card(page, "Confusions")
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="Errors on the tree").click()
    page.get_by_role("tablist", name="About the tree").get_by_role("tab", name="Explore").click()
    card(page, "Colour").get_by_label("Measure").wait_for()
    settled(page)
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
