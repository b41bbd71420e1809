"""What moved in a tree since, on its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.forms_kit import choose
from tests.e2e.client import Api, npy

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

NAMES = ["cat", "<b>dog</b>", "oak", "rose"]


def logits(own: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.float64]:
    """Logits of animals (classes 0, 1) and plants (2, 3)."""
    rows = np.random.default_rng(seed).normal(size=(own.size, 4)) + 6.0 * np.eye(4)[own]
    rows[:, :2] += 2.0 * (own < 2)[:, None]
    rows[:, 2:] += 2.0 * (own > 1)[:, None]
    return rows


@pytest.fixture(scope="module")
def tree(api: Api) -> str:
    even = np.arange(400) % 4
    fitted = api.upload(npy(logits(even, 0)), role="logits", name="winter")
    job = api.run("l2h", {"logits": fitted, "names": NAMES}, name="Living")
    assert job["status"] == "succeeded", job
    # Half of the cats have become dogs.
    batch = np.where((even == 0) & (np.arange(400) % 8 == 0), 1, even)
    api.upload(npy(logits(even, 1)), role="logits", name="spring")
    api.upload(npy(logits(batch, 2)), role="logits", name="autumn")
    api.upload(npy(even), role="labels", name="species")
    api.upload(npy(even[:3]), role="labels", name="three tags")
    return str(job["result"]["tree"])


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="Drift", exact=True)


def test_two_samples_are_compared(look: Open, tree: str, axe: Axe) -> None:
    page = look(f"/trees/{tree}?tab=drift")
    region = panel(page)
    region.get_by_text("Nothing has been compared yet").wait_for()
    reference = region.get_by_role("group", name="Reference")
    batch = region.get_by_role("group", name="Batch")
    # The two newest that fit are chosen, the older one as reference.
    for sample, own in ((reference, "spring"), (batch, "autumn")):
        chosen = sample.locator("[data-role=logits] option:checked", has_text=own)
        chosen.wait_for(state="attached")
    choose(reference, "labels", "species")
    go = region.get_by_role("button", name="Compare")
    go.click()
    batch.get_by_text("choose them for both, or none").wait_for()
    choose(batch, "labels", "three tags")
    page.watch.expected.append("422")  # type: ignore[attr-defined]
    go.click()
    region.get_by_text("The batch has 3 labels for 400 rows").first.wait_for()
    choose(batch, "labels", "species")
    go.click()
    region.get_by_text("400 rows of the batch").wait_for()
    moved = region.get_by_role("region", name="What moved, the surest first")
    dog = moved.locator("tr", has_text="<b>dog</b>").filter(has_text="More rows")
    dog.wait_for()
    region.locator(".drift-picture img").wait_for()
    axe(page)
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for place in (".table-place", ".drift-picture"):
            cut = region.locator(place).first.evaluate("e => e.scrollWidth - e.clientWidth")
            assert cut <= 1 or (width == 390 and place == ".drift-picture"), (width, place)
    page.set_viewport_size({"width": 1280, "height": 800})
    with page.expect_download() as waiting:
        region.get_by_role("button", name="Save what moved").click()
        page.get_by_role("menuitem", name="What moved (CSV)").click()
    assert waiting.value.suggested_filename == "living-drift.csv"
    assert "mass" in waiting.value.path().read_text()
    dog.get_by_role("button", name="<b>dog</b>").click()
    page.locator(".tree-node").get_by_text("<b>dog</b>").first.wait_for()


@pytest.mark.slow
def test_earlier_ones_are_opened_on_a_phone(open_page: Open, api: Api, tree: str, axe: Axe) -> None:
    even = np.arange(40) % 4
    for seed in (3, 4):
        body = {
            "reference": {"inputs": {"logits": logits(even, 1).tolist()}},
            "batch": {"inputs": {"logits": logits(even, seed).tolist()}},
            "name": f"week {seed}",
        }
        made = api.client.post(f"/v1/trees/{tree}/drifts", json=body, headers={"Prefer": "wait=60"})
        assert made.status_code == 201, made.text
    page = open_page(f"/trees/{tree}?tab=drift", theme="dark", width=390, height=844)
    region = panel(page)
    earlier = region.get_by_label("Comparison", exact=True)
    earlier.wait_for()
    value = earlier.locator("option", has_text="week 3").get_attribute("value")
    earlier.select_option(value)
    region.get_by_text("No change was found between 40 rows").wait_for()
    axe(page, "color-contrast")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
