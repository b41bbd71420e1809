"""Ten tasks as a new user does them, with clicks and seconds counted: `pytest -s -m slow
tests/dashboard/test_ten_tasks.py` prints the table of docs/tasks.md.

Each begins at a list or at the start page, as from a bookmark, and ends when its answer is seen. A
choice from a list counts as two clicks, a field that is typed into as one.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import Open
from tests.dashboard.planted import hash_of, until
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NAMES = ["cat", "dog", "horse", "oak", "elm", "rose"]


class Hand:
    """What a user does to a page, counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        self.began = time.perf_counter()

    def click(self, place: Locator, **options: Any) -> None:
        place.click(**options)
        self.clicks += 1

    def choose(self, place: Locator, **option: str) -> None:
        place.select_option(**option)
        self.clicks += 2

    def type(self, place: Locator, text: str) -> None:
        place.fill(text)
        self.clicks += 1

    def button(self, name: str, **options: Any) -> None:
        self.click(self.page.get_by_role("button", name=name, **options).first)

    def link(self, name: str) -> None:
        self.click(self.page.get_by_role("link", name=name).first)


@pytest.fixture(scope="module")
def known(api: Api) -> dict[str, str]:
    """Trees and data that the tasks speak of."""
    rng = np.random.default_rng(0)
    own = np.arange(240) % 6
    logits = rng.normal(size=(240, 6)) + 6.0 * np.eye(6)[own]
    logits[own == 0, 1] += 5.0
    api.run("l2h", {"logits": logits.tolist(), "names": NAMES}, name="Living things")
    points = rng.normal(size=(61, 4)).round(4)
    points[20:, 0] += 20
    points[40:, 1] += 30
    points[60] = 90.0
    features = api.upload(npy(points), role="features", name="three groups.npy")
    groups = json.dumps([f"group {min(row // 20, 2)}" for row in range(61)]).encode()
    media = "application/json"
    labels = api.upload(groups, media=media, role="labels", name="their groups")
    for linkage in ("single", "ward"):
        inputs = {"features": features}
        job = api.run("hac", inputs, params={"linkage": linkage}, name=f"Groups by {linkage}")
    words = json.dumps([{"word": f"word {row}"} for row in range(61)]).encode()
    items = api.upload(words, media=media, role="items", name="words.json")
    answer = api.client.post(
        f"/v1/trees/{job['result']['tree']}/attachments",
        json={"items": items, "name": "Words"},
        headers={"Prefer": "wait=60"},
    )
    assert answer.status_code == 201, answer.text
    return {"features": features, "labels": labels}


def tree_page(hand: Hand, name: str) -> None:
    hand.link(name)
    hand.page.locator(".cut-summary strong").wait_for()


def most_confused(hand: Hand, known: dict[str, str]) -> None:
    tree_page(hand, "Living things")
    # The tree opens with them.
    region = hand.page.get_by_role("region", name="What it shows")
    region.get_by_role("button", name="cat for dog").wait_for()


def name_subtrees(hand: Hand, known: dict[str, str]) -> None:
    page = hand.page
    tree_page(hand, "Groups by ward")
    hand.choose(page.get_by_role("combobox", name="Names", exact=True), label="Name nodes…")
    dialog = page.get_by_role("dialog", name="Name nodes")
    hand.choose(dialog.get_by_label("By", exact=True), value="labels")
    hand.choose(dialog.locator("[data-role=labels] select"), value=known["labels"])
    hand.click(dialog.get_by_role("button", name="Name nodes"))
    page.locator(".tree-key", has_text="group").first.wait_for()


def better_method(hand: Hand, known: dict[str, str]) -> None:
    page = hand.page
    hand.link("three groups.npy")
    hand.link("Compare methods on it")
    page.locator(".run").nth(2).wait_for()
    hand.choose(page.locator("[data-role=labels] select"), value=known["labels"])
    hand.button("Run the comparison")
    page.get_by_role("button", name="Download CSV").wait_for()
    assert page.locator("tbody tr").count() >= 2


def outlier(hand: Hand, known: dict[str, str]) -> None:
    page = hand.page
    tree_page(hand, "Groups by ward")
    card = page.get_by_role("region", name="Items")
    hand.choose(card.get_by_label("Items", exact=True), label="Words")
    card.get_by_text("61 items, one for each point").wait_for()
    # The root of an icicle is the bar at its top.
    hand.button("Icicle")
    page.wait_for_timeout(500)
    box = page.locator(".tree-stage").bounding_box()
    assert box is not None
    hand.click(page.locator(".tree-stage"), position={"x": box["width"] / 2, "y": 24})
    examples = page.locator(".node-examples")
    hand.choose(examples.get_by_label("Order of the examples"), value="unsure")
    examples.get_by_text("12 of 61 items, farthest from their mean").wait_for()
    assert examples.locator("li summary").first.inner_text() == "word 60"


def open_on_a_level(hand: Hand, known: dict[str, str]) -> None:
    page = hand.page
    tree_page(hand, "Groups by ward")
    hand.type(page.get_by_role("spinbutton", name="Number of clusters"), "6")
    page.keyboard.press("Enter")
    until(page, lambda: "6 clusters" in page.locator(".cut-summary").inner_text())
    until(page, lambda: hash_of(page).get("cut") == "k:6")
    hand.button("Copy link")


def download_a_figure(hand: Hand, known: dict[str, str]) -> None:
    page = hand.page
    tree_page(hand, "Groups by ward")
    hand.button("Save", exact=True)
    with page.expect_download() as download:
        hand.click(page.get_by_role("menuitem", name=re.compile("SVG")).first)
    assert download.value.suggested_filename.endswith(".svg")


def two_trees(hand: Hand, known: dict[str, str]) -> None:
    page = hand.page
    for linkage in ("single", "ward"):
        hand.click(page.get_by_role("checkbox", name=f"Choose Groups by {linkage}"))
    hand.link("Side by side")
    page.locator(".tangle-facts dd").first.wait_for()
    assert "Entanglement" in page.locator(".tangle-facts").inner_text()


def own_file(hand: Hand, known: dict[str, str]) -> None:
    page = hand.page
    rows = "\n".join(f"{row % 3},{row % 5}" for row in range(30)).encode()
    with page.expect_file_chooser() as chooser:
        hand.button("Choose files")
    chooser.value.set_files([{"name": "own.csv", "mimeType": "text/csv", "buffer": rows}])
    upload = page.get_by_role("button", name="Upload", exact=True)
    sent = page.locator(".chip.good")
    upload.or_(sent).first.wait_for()
    if upload.count():
        hand.click(upload)
    sent.first.wait_for()
    hand.button("Agglomerative clustering hac")
    hand.button("Run Agglomerative clustering")
    page.locator(".cut-summary strong").wait_for()


def find_a_leaf(hand: Hand, known: dict[str, str]) -> None:
    page = hand.page
    tree_page(hand, "Living things")
    hand.type(page.get_by_label("Find a node by its name"), "oak")
    hand.click(page.get_by_role("option", name=re.compile("oak")).first)
    page.locator(".tree-node .node-name", has_text="oak").wait_for()


def colour_by_labels(hand: Hand, known: dict[str, str]) -> None:
    page = hand.page
    tree_page(hand, "Groups by ward")
    hand.choose(page.get_by_role("combobox", name="By", exact=True), value=known["labels"])
    page.locator(".tree-key", has_text="group 0").first.wait_for()


TASKS: tuple[tuple[str, str, Callable[[Hand, dict[str, str]], None]], ...] = (
    ("Find the two classes most confused", "/trees", most_confused),
    ("Name subtrees after their labels", "/trees", name_subtrees),
    ("Which method groups these rows better?", "/datasets", better_method),
    ("Find the outlier", "/trees", outlier),
    ("Link to a tree on a level", "/trees", open_on_a_level),
    ("Download a figure", "/trees", download_a_figure),
    ("Compare two trees", "/trees", two_trees),
    ("Run a method on a file of one's own", "/", own_file),
    ("Find a leaf by its name", "/trees", find_a_leaf),
    ("Colour by labels", "/trees", colour_by_labels),
)


def test_ten_tasks(open_page: Open, known: dict[str, str]) -> None:
    lines = ["| task | clicks | seconds |", "|---|---|---|"]
    for title, start, work in TASKS:
        page = open_page(start, width=1440, height=900)
        hand = Hand(page)
        work(hand, known)
        lines.append(f"| {title} | {hand.clicks} | {time.perf_counter() - hand.began:.1f} |")
    print("\n" + "\n".join(lines))
