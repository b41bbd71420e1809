"""The side of the tree in a narrow window: a sheet over the picture, whose tabs stay in sight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import settled, until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def above_the_fold(page: Page, *parts: Locator) -> None:
    """Each part begins within the window, and ends in it, once it has its place."""
    high = page.evaluate("innerHeight")

    def is_within(part: Locator) -> bool:
        box = part.bounding_box()
        return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= high + 1

    for part in parts:
        until(page, lambda part=part: is_within(part))


def test_the_tabs_open_and_close_a_sheet(open_page: Open, blobs: dict[str, Any], axe: Axe) -> None:
    page = open_page(f"/trees/{blobs['tree']}", width=390, height=844)
    settled(page)
    tabs = page.get_by_role("tablist", name="About the tree")
    summary = page.locator(".cut-summary strong")
    above_the_fold(page, page.locator(".tree-stage").first, tabs)
    assert summary.is_hidden()
    axe(page)

    tabs.get_by_role("tab", name="Explore").click()
    summary.wait_for()
    above_the_fold(page, tabs, page.get_by_role("complementary", name="About the tree"))
    axe(page)
    tabs.get_by_role("tab", name="Edit").click()
    page.get_by_role("tabpanel", name="Edit").wait_for()
    tabs.get_by_role("tab", name="Edit").click()
    page.get_by_role("tabpanel", name="Edit").wait_for(state="hidden")

    handle = page.get_by_role("button", name="Open the panels")
    handle.press("Enter")
    page.get_by_role("tabpanel", name="Edit").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("tabpanel", name="Edit").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"


@pytest.mark.parametrize(("width", "height"), [(390, 844), (820, 1180), (1440, 900)])
def test_a_node_of_the_address_is_above_the_fold(
    open_page: Open, blobs: dict[str, Any], width: int, height: int
) -> None:
    page = open_page(f"/trees/{blobs['tree']}?node=1", width=width, height=height, anew=True)
    page.locator(".node-name").wait_for()
    settled(page)
    node = page.get_by_role("region", name="Node", exact=True)
    side = page.get_by_role("complementary", name="About the tree")
    above_the_fold(page, node, side, page.locator(".tree-tabs"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
