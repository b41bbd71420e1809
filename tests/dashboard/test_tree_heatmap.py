"""Clusters as the rows of a matrix, on the page of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import until
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

NAMES = ["<b>size</b>", "weight", "noise"]
"""Two groups of rows differ in the first two features."""


@pytest.fixture(scope="module")
def tree(api: Api) -> str:
    rows = np.random.default_rng(0).normal(size=(24, 3))
    rows[12:, :2] += 9.0
    job = api.run("hac", {"features": rows.tolist()}, name="Two groups")
    assert job["status"] == "succeeded", job
    return str(job["result"]["tree"])


def drawn(page: Page, show: str, rows: str) -> Locator:
    region = page.get_by_role("region", name="Clusters as a matrix")
    region.get_by_role("combobox", name="Show").select_option(show)
    region.get_by_role("combobox", name="Rows").select_option(rows)
    region.get_by_role("button", name="Draw it").click()
    region.locator("canvas.matrix-canvas").wait_for()
    return region


def pointed(page: Page, region: Locator, row: float, column: float, left: int = 168) -> str:
    """The tooltip at a share of the matrix's height and width."""
    canvas = region.locator("canvas.matrix-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    # The tree and the names are on the left and above.
    x = left + column * (box["width"] - left)
    y = 168 + row * (box["height"] - 168)
    canvas.hover(position={"x": x, "y": y})
    tip = region.locator(".matrix-tip")
    tip.wait_for()
    until(page, lambda: "…" not in tip.inner_text())
    return tip.inner_text()


def ordered(page: Page, region: Locator, row: float, column: float) -> str:
    """The same of rows that are ordered by a column."""
    return pointed(page, region, row, column, left=104)


def test_features_and_distances(look: Open, tree: str, axe: Axe) -> None:
    page = look(f"/trees/{tree}?cut=k:2&tab=compare")
    page.locator(".cut-summary strong").wait_for(state="attached")
    region = drawn(page, "mean", "cut")
    region.get_by_text("2 rows × 3 columns").wait_for()
    until(page, lambda: "heatmap=mean.cut" in page.url)
    # One group is below the mean, the other above.
    tips = [pointed(page, region, row, 0.5) for row in (0.25, 0.75)]
    assert all("12 points" in tip for tip in tips)
    values = sorted(float(tip.splitlines()[1].replace("−", "-")) for tip in tips)
    assert values[0] < values[1]
    axe(page)

    drawn(page, "raw", "leaves")
    region.get_by_text("24 rows × 3 columns").wait_for()
    sort = region.get_by_role("combobox", name="Sort by")
    for column, name in enumerate(sort.locator("option").all_inner_texts()[1:]):
        sort.select_option(label=name)
        region.get_by_text(f"24 rows by {name}, from the highest").wait_for()
        # Without the tree at the left.
        tips = [ordered(page, region, row, (column + 0.5) / 3) for row in (0.01, 0.3, 0.6, 0.99)]
        values = [float(tip.splitlines()[1].replace("−", "-")) for tip in tips]
        assert values == sorted(values, reverse=True)
        assert values[0] > values[-1]
    region = drawn(page, "euclidean", "leaves")
    sort.wait_for(state="hidden")
    region.get_by_text("24 rows × 24 columns").wait_for()
    near, far = (pointed(page, region, 0.01, column) for column in (0.06, 0.95))
    assert float(near.splitlines()[1]) < float(far.splitlines()[1])
    canvas = region.locator("canvas.matrix-canvas")
    before = canvas.evaluate("canvas => canvas.toDataURL()")
    canvas.focus()
    page.keyboard.press("+")
    until(page, lambda: canvas.evaluate("canvas => canvas.toDataURL()") != before)
    canvas.click(position={"x": 200, "y": 200})
    until(page, lambda: "node=" in page.url)


def test_a_link_shows_the_matrix_and_a_figure_of_it_is_saved(look: Open, tree: str) -> None:
    page = look(f"/trees/{tree}?cut=k:3&heatmap=median.cut")
    region = page.get_by_role("region", name="Clusters as a matrix")
    region.get_by_text("3 rows × 3 columns").wait_for()
    assert region.get_by_role("combobox", name="Show").input_value() == "median"
    save = region.get_by_role("button", name="Save the matrix")
    save.scroll_into_view_if_needed()
    # Scrolling would close the menu, so wait until it ends.
    page.evaluate("() => new Promise(on => requestAnimationFrame(() => requestAnimationFrame(on)))")
    save.click()
    page.get_by_role("menuitem", name="Figure for print").click()
    dialog = page.get_by_role("dialog", name="The matrix for print")
    dialog.get_by_role("combobox", name="Form").select_option("svg")
    with page.expect_download() as saved:
        dialog.get_by_role("button", name="Save").click()
    assert saved.value.suggested_filename.endswith("-matrix.svg")
    assert 'width="85mm"' in saved.value.path().read_text("utf-8")


def test_a_tree_without_features(look: Open, api: Api) -> None:
    answer = api.client.post(
        "/v1/trees", content="((a:1,b:1):1,c:2);", headers={"Content-Type": "text/x-nh"}
    )
    page = look(f"/trees/{answer.json()['id']}?tab=compare")
    page.watch.expected.append("422")  # type: ignore[attr-defined]
    region = page.get_by_role("region", name="Clusters as a matrix")
    region.get_by_role("button", name="Draw it").click()
    region.get_by_text("made without features that can be shown").wait_for()
    region = drawn(page, "cophenetic", "leaves")
    region.get_by_text("3 rows × 3 columns").wait_for()
