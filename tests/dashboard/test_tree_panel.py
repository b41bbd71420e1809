"""The node panel and the colours: facts, labels, members, fields of methods, the legend."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.conftest import Open
from tests.dashboard.planted import SMALL, hash_of, imported, pixels, settled, until
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page


def facts(page: Page) -> dict[str, str]:
    names = page.locator(".node-facts dt").all_inner_texts()
    return dict(zip(names, page.locator(".node-facts dd").all_inner_texts(), strict=True))


def color_by(page: Page, label: str) -> None:
    page.get_by_label("By", exact=True).select_option(label=label)


@pytest.fixture(scope="module")
def small(api: Api) -> str:
    return imported(api, SMALL, "Small")


def test_the_facts_of_a_node(look: Open, small: str) -> None:
    page = look(f"/trees/{small}?node=1")
    page.locator(".node-facts").wait_for()
    assert page.locator(".node-name").inner_text() == "plants"
    assert facts(page) == {
        "Points": "5 · 71.43 % of all",
        "Leaves": "5",
        "Height": "2",
        "Depth": "1",
        "Id": "1",
    }
    children = page.locator(".node-children li")
    assert children.all_inner_texts() == ["flowers 2 points", "trees 3 points"]
    children.get_by_role("button", name="trees").click()
    until(page, lambda: page.locator(".node-name").inner_text() == "trees")
    until(page, lambda: page.locator(".node-way").inner_text() == "life › plants")
    before = pixels(page)
    page.get_by_role("button", name="Fold").click()
    page.locator(".tree-node").get_by_role("button", name="Open").wait_for()
    until(page, lambda: pixels(page) != before)
    page.get_by_role("button", name="Only this part").click()
    until(page, lambda: "root" in hash_of(page))
    page.locator(".node-way").get_by_role("button", name="life").click()
    until(page, lambda: page.locator(".node-name").inner_text() == "life")
    until(page, lambda: "root" not in hash_of(page))


def test_labels_colour_nodes_and_show_their_mixture(
    look: Open, api: Api, blobs: dict[str, Any]
) -> None:
    page = look(f"/trees/{blobs['tree']}")
    settled(page)
    plain = pixels(page)
    color_by(page, "groups.json")
    until(page, lambda: hash_of(page).get("color") == blobs["labels"])
    settled(page)
    assert pixels(page) != plain
    keys = page.locator(".tree-key")
    assert keys.all_inner_texts() == ["group 0\n20", "group 1\n20", "group 2\n20"]
    page.locator(".tree-mirror").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.locator(".node-bars").first.wait_for()
    text = page.locator(".tree-node").inner_text()
    assert "Purity 0.3333, entropy 1.099; 3 labels of its points" in text
    page.get_by_role("button", name="Show the 60 points").click()
    rows = page.locator(".tree-node tbody tr")
    rows.first.wait_for()
    assert rows.count() == 50
    assert rows.nth(1).inner_text().split() == ["1", "1", "group", "0"]
    page.get_by_role("button", name="More (10 left)").click()
    until(page, lambda: rows.count() == 60)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Points as CSV").click()
    assert waiting.value.suggested_filename == "three-blobs-node-0.csv"
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0] == "row,leaf,name,label"
    assert len(lines) == 61


def test_one_category_alone(look: Open, open_page: Open, blobs: dict[str, Any]) -> None:
    page = look(f"/trees/{blobs['tree']}?color={blobs['labels']}")
    settled(page)
    all_coloured = pixels(page)
    page.locator(".tree-key", has_text="group 1").click()
    until(page, lambda: hash_of(page).get("only") is not None)
    settled(page)
    alone = pixels(page)
    assert alone != all_coloured
    again = open_page(page.evaluate("location.hash.slice(1)"), anew=True)
    settled(again)
    assert pixels(again) == alone
    assert again.locator(".tree-key[aria-pressed=true]").inner_text() == "group 1\n20"
    page.get_by_role("button", name="Colour all again").click()
    page.mouse.move(5, 5)
    until(page, lambda: pixels(page) == all_coloured)
    page.get_by_label("Palette").select_option("tol-muted")
    until(page, lambda: hash_of(page).get("palette") == "tol-muted")
    until(page, lambda: pixels(page) != all_coloured)
    color_by(page, "Nothing")
    until(page, lambda: hash_of(page).get("color") == "none")
    page.locator(".tree-legend-place").wait_for(state="hidden")


def test_labels_of_another_length(look: Open, api: Api, small: str, blobs: dict[str, Any]) -> None:
    page = look(f"/trees/{small}?color={blobs['labels']}")
    page.watch.expected.append("422")
    page.get_by_text("Shown without what the link named").wait_for()
    settled(page)
    assert "color" not in hash_of(page)
    options = page.locator("#colours-title").locator("xpath=..").locator("option").all_inner_texts()
    assert "groups.json" not in options


def test_fields_added_by_a_method_are_shown(look: Open, api: Api) -> None:
    nodes: list[dict[str, Any]] = [
        {"id": 0, "parent": None, "name": None, "height": 1.0, "size": 2,
         "parent_probability": 1.0, "confidence": 0.875,
         "features": [["stripes", 0.7], ["<i>tail</i>", -0.2]], "terms": ["lion", "tiger"],
         "mean": [0.25, 0.5, 0.75], "notes": {"origin": "drawn"}},
        {"id": 1, "parent": 0, "name": "a", "height": 0.0, "size": 1,
         "parent_probability": 0.6, "confidence": 1.0,
         "features": [], "terms": [], "mean": [], "notes": {}},
        {"id": 2, "parent": 0, "name": "b", "height": 0.0, "size": 1,
         "parent_probability": 0.4, "confidence": 0.5,
         "features": [], "terms": [], "mean": [], "notes": {}},
    ]  # fmt: skip
    tree = imported(api, json.dumps({"nodes": nodes}), "Described", "application/json")
    page = look(f"/trees/{tree}?node=0")
    page.locator(".node-facts").wait_for()
    node_facts = facts(page)
    assert node_facts["Parent probability"] == "1"
    assert node_facts["Confidence"] == "0.875"
    text = page.locator(".tree-node").inner_text()
    for word in (
        "Features",
        "stripes",
        "<i>tail</i>",
        "-0.2",
        "Terms",
        "lion",
        "tiger",
        "0.25   0.5   0.75",
    ):
        assert word in text, word
    assert "drawn" in text
    page.goto(page.url.replace("node=0", "node=1"))
    until(page, lambda: page.locator(".node-name").inner_text() == "a")
    assert facts(page)["Parent probability"] == "0.6"


def test_features_that_distinguish_children(look: Open, api: Api) -> None:
    nodes: list[dict[str, Any]] = [
        {"id": 0, "parent": None, "name": None, "height": 1.0, "size": 2,
         "split_features": [{"feature": "wheels", "weights": [0.5, -0.5], "penalty": 0.125}],
         "own_features": None},
        {"id": 1, "parent": 0, "name": "a", "height": 0.0, "size": 1, "split_features": None,
         "own_features": [{"feature": "wheels", "weight": 0.5}]},
        {"id": 2, "parent": 0, "name": "b", "height": 0.0, "size": 1, "split_features": None,
         "own_features": [{"feature": "wheels", "weight": -0.5}]},
    ]  # fmt: skip
    tree = imported(api, json.dumps({"nodes": nodes}), "Split", "application/json")
    page = look(f"/trees/{tree}?node=0")
    table = page.locator(".tree-node table")
    table.wait_for()
    heads = table.locator("thead th").all_inner_texts()
    assert heads == ["Feature", "Weight 1", "Weight 2", "Penalty"]
    assert table.locator("tbody tr").inner_text().split() == ["wheels", "0.5", "-0.5", "0.125"]
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Features of all nodes").click()
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0] == "node,name,column,rank,feature,quantity,child,value"
    assert lines[1] == "0,,split_features,1,wheels,weight,1,0.5"
    assert len(lines) == 6
