"""Ten tasks as a new user does them, and three more, with clicks and seconds counted.

`pytest -s -m slow tests/dashboard/test_ten_tasks.py` prints the table of docs/tasks.md, and where a
picture of each result is.

Each begins at a list or at the start page, as from a bookmark, and ends when its answer is seen. A
choice from a list counts as two clicks, a field that is typed into as one.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import Open
from tests.dashboard.planted import until
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

Known = dict[str, Any]

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
def known(api: Api) -> Known:
    """Trees and data that the tasks speak of."""
    rng = np.random.default_rng(0)
    own = np.arange(240) % 6
    logits = rng.normal(size=(240, 6)) + 6.0 * np.eye(6)[own]
    logits[own == 0, 1] += 5.0
    names = {"names": NAMES}
    fitted = api.upload(npy(logits), role="logits", name="winter")
    api.run("l2h", {"logits": fitted, **names}, name="Living things")
    later = rng.normal(size=(240, 6)) + 6.0 * np.eye(6)[own]
    api.upload(npy(later), role="logits", name="spring")
    autumn = np.where(own == 0, 3, own)
    api.upload(
        npy(rng.normal(size=(240, 6)) + 6.0 * np.eye(6)[autumn]), role="logits", name="autumn"
    )
    api.upload(npy(own), role="labels", name="species")
    points = rng.normal(size=(60, 4)).round(4)
    points[20:, 0] += 20
    points[40:, 1] += 30
    features = api.upload(npy(points), role="features", name="three groups.npy")
    groups = json.dumps([f"group {row // 20}" for row in range(60)]).encode()
    media = "application/json"
    labels = api.upload(groups, media=media, role="labels", name="their groups")
    for linkage in ("single", "ward"):
        inputs = {"features": features}
        api.run("hac", inputs, params={"linkage": linkage}, name=f"Groups by {linkage}")
    return {"features": features, "labels": labels, "points": points}


def tree_page(hand: Hand, name: str) -> None:
    hand.link(name)
    hand.page.locator(".cut-summary strong").wait_for()


def most_confused(hand: Hand, known: Known) -> str:
    tree_page(hand, "Living things")
    # The tree opens with them.
    region = hand.page.get_by_role("region", name="What it shows")
    region.get_by_role("button", name="cat for dog").wait_for()
    return "the first sentences: cat for dog, with its share"


def named(hand: Hand) -> Locator:
    """Name the largest group, and give the panel."""
    page = hand.page
    tree_page(hand, "Groups by ward")
    hand.click(page.locator(".tree-key").first)
    page.locator(".tree-node .node-name").wait_for()
    hand.click(page.get_by_role("tab", name="Edit"))
    panel = page.get_by_role("region", name="Edit and share")
    hand.type(panel.get_by_label("Name", exact=True), "The near ones")
    page.keyboard.press("Enter")
    page.locator(".tree-node .node-name", has_text="The near ones").wait_for()
    panel.get_by_text("Saved", exact=True).wait_for()
    return panel


def name_and_share(hand: Hand, known: Known) -> str:
    page = hand.page
    panel = named(hand)
    hand.click(panel.get_by_role("button", name="Share…"))
    dialog = page.get_by_role("dialog", name="Share")
    hand.click(dialog.get_by_role("button", name="Make a link"))
    link = dialog.get_by_label("Link", exact=True)
    link.wait_for()
    page.goto(link.input_value())
    page.get_by_role("heading", name="Groups by ward").wait_for()
    page.locator(".tree-node .node-name", has_text="The near ones").wait_for()
    page.locator(".tree-key", has_text="The near ones").wait_for()
    return "a link that opens at the node, with its name and the tree's title"


def better_method(hand: Hand, known: Known) -> str:
    page = hand.page
    hand.link("three groups.npy")
    hand.link("Compare methods on it")
    page.locator(".run").nth(2).wait_for()
    # The only labels of as many rows are chosen.
    labels = page.locator("[data-role=labels] select")
    until(page, lambda: labels.input_value() == known["labels"])
    hand.button("Run the comparison")
    page.get_by_role("button", name="Download CSV").wait_for()
    assert page.locator("tbody tr").count() >= 2
    return "one table: means over five seeds, the best marked, a small tree of each"


def outliers(hand: Hand, known: Known) -> str:
    page = hand.page
    tree_page(hand, "Groups by ward")
    hand.click(page.locator(".tree-key").first)
    hand.button("Show outliers")
    rows = page.locator(".node-outliers tbody tr")
    rows.first.wait_for()
    first = int(rows.first.locator("td").first.inner_text())
    group = known["points"][first // 20 * 20 :][:20]
    far = np.linalg.norm(group - group.mean(0), axis=1)
    assert first % 20 == int(far.argmax())
    return "its points by distance and by doubt, as a table and a CSV"


def calibrate_and_predict(hand: Hand, known: Known) -> str:
    page = hand.page
    tree_page(hand, "Living things")
    hand.click(page.get_by_role("tab", name="Trust"))
    region = page.get_by_role("region", name="Trust", exact=True)
    go = region.get_by_role("button", name="Calibrate", exact=True)
    go.wait_for()
    # The newest rows that have labels are chosen, with these.
    rows = region.locator("[data-role=logits] option:checked").first
    until(page, lambda: "autumn" in rows.inner_text())
    hand.click(go)
    region.get_by_text("with a probability of at least 90").wait_for()
    # The newest rows are chosen.
    hand.click(region.get_by_role("button", name="Place them"))
    placed = page.get_by_role("region", name="New rows and where they lie")
    placed.locator("tbody tr").first.wait_for()
    assert "As promised" in placed.inner_text()
    return "what is promised; each new row with its class and the answer that keeps the promise"


def drifted(hand: Hand, known: Known) -> str:
    page = hand.page
    tree_page(hand, "Living things")
    hand.click(page.get_by_role("tab", name="Drift"))
    region = page.get_by_role("region", name="Drift", exact=True)
    # The two newest that fit are chosen, the older one as reference.
    batch = region.get_by_role("group", name="Batch").locator("[data-role=logits] select")
    until(page, lambda: "autumn" in batch.locator("option:checked").inner_text())
    hand.click(region.get_by_role("button", name="Compare"))
    moved = region.get_by_role("region", name="What moved, the surest first")
    moved.locator("tr", has_text="oak").first.wait_for()
    region.locator(".drift-picture img").wait_for()
    return "a sentence, a table of what gained and lost, a picture"


def labels_on_the_map(hand: Hand, known: Known) -> str:
    page = hand.page
    tree_page(hand, "Groups by ward")
    hand.choose(page.get_by_role("combobox", name="Map", exact=True), value="pca")
    page.locator(".map-facts", has_text="60 points").wait_for()
    hand.choose(page.get_by_role("combobox", name="By", exact=True), value=known["labels"])
    page.locator(".tree-key", has_text="group 0").first.wait_for()
    return "map and tree in the colours of the labels"


def figure(hand: Hand, known: Known) -> str:
    page = hand.page
    tree_page(hand, "Living things")
    hand.button("Save", exact=True)
    hand.click(page.get_by_role("menuitem", name="Figure for print"))
    dialog = page.get_by_role("dialog")
    dialog.locator("img").first.wait_for()
    with page.expect_download() as download:
        hand.click(dialog.get_by_role("button", name="Save"))
    assert download.value.suggested_filename.startswith("living-things")
    return "a figure 85 mm wide, the one of the preview"


def table_of_clusters(hand: Hand, known: Known) -> str:
    page = hand.page
    tree_page(hand, "Groups by ward")
    hand.type(page.get_by_role("spinbutton", name="Number of clusters"), "12")
    page.keyboard.press("Enter")
    until(page, lambda: "12 clusters" in page.locator(".cut-summary").inner_text())
    hand.button("Table", exact=True)
    dialog = page.get_by_role("dialog", name="Clusters as a table")
    until(page, lambda: dialog.locator("table").first.locator("tbody tr").count() == 12)
    return "12 rows with names, sizes, shares; CSV"


def undo(hand: Hand, known: Known) -> str:
    panel = named(hand)
    hand.clicks = 0
    hand.click(panel.get_by_role("button", name="Undo"))
    panel.get_by_role("button", name="Redo").and_(hand.page.locator(":enabled")).wait_for()
    name = hand.page.locator(".tree-node .node-name")
    until(hand.page, lambda: "The near ones" not in name.inner_text())
    return "the name is gone; Redo brings it back"


def two_trees(hand: Hand, known: Known) -> str:
    page = hand.page
    for linkage in ("single", "ward"):
        hand.click(page.get_by_role("checkbox", name=f"Choose Groups by {linkage}"))
    hand.link("Side by side")
    page.locator(".tangle-facts dd").first.wait_for()
    assert "Entanglement" in page.locator(".tangle-facts").inner_text()
    return "both side by side, and what moved"


def own_file(hand: Hand, known: Known) -> str:
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
    return "the tree, called by the file"


def find_a_leaf(hand: Hand, known: Known) -> str:
    page = hand.page
    tree_page(hand, "Living things")
    hand.type(page.get_by_label("Find a node by its name"), "oak")
    hand.click(page.get_by_role("option", name=re.compile("oak")).first)
    page.locator(".tree-node .node-name", has_text="oak").wait_for()
    return "the leaf, near, with its facts"


TASKS: tuple[tuple[str, str, Callable[[Hand, Known], str]], ...] = (
    ("Find the two classes most confused", "/trees", most_confused),
    ("Name a subtree and share it", "/trees", name_and_share),
    ("Which of three methods groups better?", "/datasets", better_method),
    ("Outliers of a cluster", "/trees", outliers),
    ("Calibrate and predict", "/trees", calibrate_and_predict),
    ("What drifted?", "/trees", drifted),
    ("Do labels agree with the map?", "/trees", labels_on_the_map),
    ("A figure of 85 mm", "/trees", figure),
    ("12 clusters as a table with names", "/trees", table_of_clusters),
    ("Undo", "/trees", undo),
    ("Compare two trees", "/trees", two_trees),
    ("Run a method on a file of one's own", "/", own_file),
    ("Find a leaf by its name", "/trees", find_a_leaf),
)


def test_ten_tasks(open_page: Open, known: Known, tmp_path: Path) -> None:
    lines = ["| task | clicks | seconds | what comes out |", "|---|---|---|---|"]
    for title, start, work in TASKS:
        page = open_page(start, width=1440, height=900)
        page.watch.expected.append("GPU stall due to ReadPixels")  # type: ignore[attr-defined]
        hand = Hand(page)
        result = work(hand, known)
        seconds = time.perf_counter() - hand.began
        page.wait_for_timeout(400)
        page.screenshot(path=tmp_path / f"{work.__name__}.png")
        lines.append(f"| {title} | {hand.clicks} | {seconds:.1f} | {result} |")
        print(lines[-1], flush=True)
    print("\n" + "\n".join(lines) + f"\npictures: {tmp_path}")
