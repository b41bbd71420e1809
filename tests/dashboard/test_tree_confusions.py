"""What is taken for what, on the page of a tree of classes."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import until
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

NAMES = ["<b>cat</b>", "dog", "oak", "rose"]
"""Cat and dog are taken for each other, more often cat for dog."""


@pytest.fixture(scope="module")
def tree(api: Api) -> str:
    rng = np.random.default_rng(0)
    own = np.arange(200) % 4
    logits = rng.normal(size=(200, 4)) + 5.0 * np.eye(4)[own]
    logits[own == 0, 1] += 4.0
    logits[own == 1, 0] += 2.0
    job = api.run("l2h", {"logits": logits.tolist(), "names": NAMES}, name="Living")
    assert job["status"] == "succeeded", job
    api.upload(npy(own.astype(np.int64)), role="labels", name="what they are")
    return str(job["result"]["tree"])


def panel(page: Page) -> Locator:
    region = page.get_by_role("region", name="What is taken for what")
    region.locator(".matrix-canvas").wait_for()
    return region


def pairs(region: Locator) -> list[list[str]]:
    rows: list[Any] = region.locator("tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def test_the_whole_tree_is_in_the_window(open_page: Open, tree: str) -> None:
    """Beside a wide panel the bar of the tree has two lines."""
    page = open_page(f"/trees/{tree}?tab=confusions", width=1440, height=900)
    panel(page)

    def is_within() -> bool:
        box = page.locator(".tree-main").bounding_box()
        assert box is not None
        return box["height"] > 600 and box["y"] + box["height"] <= 900

    until(page, is_within)


def test_the_whole_matrix_is_in_the_window(open_page: Open, tree: str) -> None:
    """Also after a node was chosen, which stands above it: then it is scrolled to in one piece."""
    page = open_page(f"/trees/{tree}?tab=confusions", width=1440, height=900)
    canvas = panel(page).locator(".matrix-canvas")

    def is_within() -> bool:
        box = canvas.bounding_box()
        assert box is not None
        return box["height"] > 300 and box["y"] >= 0 and box["y"] + box["height"] <= 890

    until(page, is_within)
    before = canvas.bounding_box()
    panel(page).locator("tbody button").first.click()
    page.locator(".tree-node").get_by_text("dog").first.wait_for()
    canvas.hover()
    after = canvas.bounding_box()
    assert before
    assert after
    assert after["height"] == before["height"]


def test_pairs_are_listed_shown_and_lead_to_the_tree(look: Open, tree: str, axe: Axe) -> None:
    page = look(f"/trees/{tree}?tab=confusions")
    region = panel(page)
    assert "From the logits alone" in region.inner_text()
    assert "of the class, by its logarithm" in region.locator(".heatmap-legend").inner_text()
    first = pairs(region)[0]
    assert first[:2] == ["<b>cat</b>", "dog"]
    assert float(first[2].removesuffix("\xa0%")) > 10.0
    canvas = region.locator(".matrix-canvas")
    canvas.scroll_into_view_if_needed()

    def is_named() -> bool:
        """Four classes: two pairs of neighbours, each beside the diagonal."""
        box = canvas.bounding_box()
        assert box is not None
        left = 132.0  # The tree, and about the longest name.
        side = box["width"] - left
        texts = []
        for row, column in ((0.125, 0.375), (0.375, 0.125), (0.625, 0.875), (0.875, 0.625)):
            canvas.hover(position={"x": left + side * column, "y": left + side * row})
            texts.append(region.locator(".matrix-tip").inner_text())
        return any("<b>cat</b> taken for dog" in text and first[2] in text for text in texts)

    until(page, is_named)
    axe(page)
    region.locator("tbody button").first.click()
    page.locator(".tree-node").get_by_text("dog").first.wait_for()
    page.wait_for_function(
        "() => document.querySelector('.tree-stage').getBoundingClientRect().top >= 0"
    )


def test_labels_tell_it_too_and_files_hold_all(look: Open, tree: str) -> None:
    region = panel(look(f"/trees/{tree}?tab=confusions"))
    opener = region.get_by_role("button", name="Save what is taken for what")
    opener.scroll_into_view_if_needed()
    # Scrolling would close the menu, so wait until it ends.
    region.page.evaluate(
        "() => new Promise(on => requestAnimationFrame(() => requestAnimationFrame(on)))"
    )
    opener.click()
    with region.page.expect_download() as waiting:
        region.page.get_by_role("menuitem", name="All pairs (CSV)").click()
    assert waiting.value.suggested_filename == "living-confusions.csv"
    rows = list(csv.DictReader(waiting.value.path().read_text().splitlines()))
    assert [rows[0]["name"], rows[0]["taken_for_name"]] == NAMES[:2]
    region.get_by_label("According to").select_option(label="what they are")
    region.get_by_text("lie in the leaf of their own class").wait_for()
    assert pairs(region)[0][:2] == NAMES[:2]


def test_a_tree_whose_method_does_not_know_has_no_panel(look: Open, api: Api) -> None:
    job = api.run("hac", {"features": [[0.0], [1.0], [5.0], [6.0]]})
    page = look(f"/trees/{job['result']['tree']}?tab=confusions")
    page.get_by_role("heading", name="4 points by hac").wait_for()
    page.wait_for_load_state("networkidle")
    assert page.get_by_role("region", name="What is taken for what").count() == 0
