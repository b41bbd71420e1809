"""Tasks that end without a mouse: the palette, the arrows and Enter, each in at most 40 keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import Open
from tests.dashboard.forms_kit import held_back
from tests.dashboard.planted import imported, until
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Page

MOST = 40


class Keys:
    """What is pressed, counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.pressed = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.pressed += 1

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.pressed += len(text)

    def go(self, words: str, place: str) -> None:
        """Take a place of the palette. What is found on the service may come late."""
        self.press("Control+k")
        self.page.get_by_role("combobox", name="Go to").wait_for()
        self.type(words)
        places = self.page.get_by_role("listbox", name="Places")
        wanted = places.get_by_role("option", name=place).first
        wanted.wait_for()
        for _ in range(12):
            if wanted.get_attribute("aria-selected") == "true":
                break
            self.press("ArrowDown")
        self.press("Enter")
        self.page.get_by_role("dialog", name="Go to").wait_for(state="detached")


@pytest.fixture(scope="module")
def trees(api: Api) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 4))
    points[20:, 0] += 20
    points[40:, 1] += 30
    features = api.upload(npy(points), role="features", name="keyed points.npy")
    found = {}
    for name, linkage in (("near", "single"), ("ward", "ward")):
        job = api.run(
            "hac", {"features": features}, params={"linkage": linkage}, name=f"Keyed {name}"
        )
        found[linkage] = job["result"]["tree"]
    return found


def opened(open_page: Open, tree: str) -> Keys:
    page = open_page(f"/trees/{tree}", width=1440, height=900)
    page.watch.expected.append("GPU stall due to ReadPixels")  # type: ignore[attr-defined]
    page.locator(".cut-summary strong").wait_for()
    page.locator(".tree-key").first.wait_for()
    return Keys(page)


def cluster(keys: Keys) -> str:
    """Show the first cluster of the legend; its name."""
    name = keys.page.locator(".tree-key-text").first.inner_text()
    keys.go(name[:12].lower(), name)
    keys.page.locator(".tree-node .node-name").wait_for()
    return name


def test_outliers_of_a_cluster(open_page: Open, trees: dict[str, Any]) -> None:
    keys = opened(open_page, trees["ward"])
    keys.page.watch.spoilt = True  # type: ignore[attr-defined]  # It keeps that they are wanted.
    cluster(keys)
    keys.go("show outl", "Show outliers")
    keys.page.locator(".node-outliers tbody tr").first.wait_for()
    assert keys.pressed <= MOST, keys.pressed


def test_a_subtree_is_named_and_shared(open_page: Open, trees: dict[str, Any]) -> None:
    keys = opened(open_page, trees["ward"])
    page = keys.page
    keys.go("the t", "The tree")
    keys.press("ArrowRight", "F2")
    name = page.get_by_role("region", name="Edit and share").get_by_label("Name", exact=True)
    until(page, lambda: bool(name.evaluate("field => field === document.activeElement")))
    keys.type("Near")
    keys.press("Enter")
    until(page, lambda: "Near" in page.locator(".tree-node .node-name").inner_text())
    keys.go("share", "Share")
    page.get_by_role("dialog", name="Share").get_by_label("Title").wait_for()
    keys.press("Enter")
    page.get_by_role("dialog", name="Share").get_by_label("Link", exact=True).wait_for()
    assert keys.pressed <= 24, keys.pressed


CURRENT = """tree =>
  document.getElementById(tree.getAttribute("aria-activedescendant")).textContent"""

# Presses ArrowDown until a row stands for several leaves.
TO_THE_REST = """() => {
  const tree = document.querySelector(".tree-mirror");
  const row = () => document.getElementById(tree.getAttribute("aria-activedescendant"));
  for (let step = 0; step < 9000; step += 1) {
    if (row().textContent.endsWith("not shown")) return true;
    tree.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true}));
  }
  return false;
}"""


def test_what_stands_for_several_leaves_gets_no_name(open_page: Open, api: Api) -> None:
    """F2 there had led to the name of the node that was selected before."""
    star = ",".join(f"leaf{k}" for k in range(5000))
    tree = imported(api, f"((a,b)Pair,({star})Star);", "Star")
    page = open_page(f"/trees/{tree}")
    mirror = page.locator(".tree-mirror")
    mirror.get_by_text("Star, 5,000 leaves").wait_for(state="attached")
    mirror.focus()
    keys = Keys(page)
    keys.press("ArrowRight", "Enter")
    page.locator(".tree-node .node-name", has_text="Pair").wait_for()
    keys.press("ArrowDown")
    mirror.get_by_text("leaf0, 1 point").wait_for(state="attached")
    keys.press("ArrowRight")
    assert page.evaluate(TO_THE_REST)
    keys.press("F2")
    name = page.get_by_role("region", name="Edit and share").get_by_label("Name", exact=True)
    assert not name.is_visible()
    assert mirror.evaluate("tree => tree === document.activeElement")


def test_what_is_loaded_while_one_walks_leads_nobody_back(open_page: Open, api: Api) -> None:
    """A part of the tree that came later had led back to what was selected."""
    level = [f"leaf{k}" for k in range(1 << 13)]
    while len(level) > 2:
        level = [f"({a},{b})" for a, b in zip(level[::2], level[1::2], strict=True)]
    page = open_page(f"/trees/{imported(api, f'({level[0]}Left,{level[1]}Right);', 'Even')}")
    mirror = page.locator(".tree-mirror")
    mirror.get_by_text("Right, 4,096 leaves").wait_for(state="attached")
    page.wait_for_load_state("networkidle")
    mirror.focus()
    keys = Keys(page)
    keys.press("ArrowRight", "Enter")
    page.locator(".tree-node .node-name", has_text="Left").wait_for()
    count = page.get_by_text("nodes loaded, more as you go nearer")
    with held_back(page, re.compile(r"/v1/trees/[^/]+/view"), "GET") as held:
        keys.press("ArrowDown", *["+"] * 12)
        until(page, lambda: held)
        before = count.inner_text()
        assert mirror.evaluate(CURRENT) == "Right, 4,096 leaves"
    until(page, lambda: count.inner_text() != before)
    assert mirror.evaluate(CURRENT) == "Right, 4,096 leaves"


def test_undo_after_a_name(open_page: Open, trees: dict[str, Any]) -> None:
    keys = opened(open_page, trees["ward"])
    page = keys.page
    cluster(keys)
    keys.go("edit", "Edit Tab")
    panel = page.get_by_role("region", name="Edit and share")
    panel.get_by_label("Name", exact=True).wait_for()
    keys.go("name", "Name Edit and share")
    keys.press("Control+a")
    keys.type("Near")
    keys.press("Enter")
    panel.get_by_text("Saved", exact=True).wait_for()
    name = page.locator(".tree-node .node-name")
    until(page, lambda: "Near" in name.inner_text())
    keys.go("undo", "Undo")
    until(page, lambda: "Near" not in name.inner_text())
    assert keys.pressed <= MOST, keys.pressed


def test_two_trees(open_page: Open, trees: dict[str, Any]) -> None:
    keys = opened(open_page, trees["ward"])
    keys.go("keyed near", "Keyed near Beside this tree")
    keys.page.locator(".tangle-facts dd").first.wait_for()
    assert keys.pressed <= MOST, keys.pressed


def test_a_prediction_after_a_calibration(open_page: Open, api: Api) -> None:
    rng = np.random.default_rng(0)
    own = np.arange(246) % 6
    for name in ("first", "second"):
        logits = rng.normal(size=(246, 6)) + 6.0 * np.eye(6)[own]
        uploaded = api.upload(npy(logits), role="logits", name=f"keyed {name}")
        if name == "first":
            inputs = {"logits": uploaded, "names": ["cat", "dog", "horse", "oak", "elm", "rose"]}
            job = api.run("l2h", inputs, name="Keyed classes")
    api.upload(npy(own), role="labels", name="keyed kinds")
    keys = opened(open_page, job["result"]["tree"])
    region = keys.page.get_by_role("region", name="Trust", exact=True)
    keys.go("trust", "Trust Tab")
    region.get_by_role("button", name="Calibrate", exact=True).wait_for()
    keys.go("calib", "Calibrate Trust")
    region.get_by_text("with a probability of at least 90").wait_for()
    region.get_by_role("button", name="Place them").wait_for(state="attached")
    keys.go("place t", "Place them")
    placed = keys.page.get_by_role("region", name="New rows and where they lie")
    placed.locator("tbody tr").first.wait_for()
    assert keys.pressed <= MOST, keys.pressed
