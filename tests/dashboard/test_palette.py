"""The palette: everything within a few keys, by the keyboard alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import SMALL, hash_of, imported, settled, until
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page


def gone(page: Page, words: str, place: str) -> None:
    """Open the palette, type, wait for a place, go down to it and take it."""
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Go to")
    field.wait_for()
    page.keyboard.type(words)
    wanted = page.get_by_role("listbox", name="Places").get_by_role("option", name=place).first
    wanted.wait_for()
    # Places that are found later come after those that are there.
    for _ in range(40):
        if wanted.get_attribute("aria-selected") == "true":
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Go to").wait_for(state="detached")


def test_pages_data_jobs_and_trees_by_their_names(
    open_page: Open, blobs: dict[str, Any], axe: Axe
) -> None:
    page = open_page("/jobs")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").wait_for()
    axe(page)
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Go to").wait_for(state="detached")
    for words, place, heading in (
        ("eval", "Evaluate", "Evaluate"),
        ("blobs.npy", "blobs.npy Data", "blobs.npy"),
        ("three blobs", "Three blobs Job", "Three blobs"),
        ("three blobs", "Three blobs Tree", "Three blobs"),
    ):
        gone(page, words, place)
        page.get_by_role("heading", level=1, name=heading).wait_for()
    assert f"/trees/{blobs['tree']}" in page.url


def test_panels_and_nodes_of_the_open_tree(open_page: Open, api: Api) -> None:
    tree = imported(api, SMALL, "Life for the palette")
    page = open_page(f"/trees/{tree}")
    settled(page)
    gone(page, "edit", "Edit Tab")
    until(page, lambda: hash_of(page).get("tab") == "edit")
    gone(page, "rectang", "Rectangle")
    until(page, lambda: hash_of(page).get("layout") == "rectangular")
    gone(page, "the tree", "The tree")
    role = "document.activeElement.getAttribute('role')"
    until(page, lambda: page.evaluate(role) == "tree")
    # An entry of a menu that is closed.
    gone(page, "figure", "Figure for print")
    page.get_by_role("dialog").locator("img").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    gone(page, "tulip", "tulip Node of this tree")
    page.locator(".node-name", has_text="tulip").wait_for()
    gone(page, "number of cl", "Number of clusters")
    focused = "document.activeElement.getAttribute('aria-label')"
    until(page, lambda: page.evaluate(focused) == "Number of clusters")
    until(page, lambda: "tab" not in hash_of(page))


def test_nothing_found_is_shown_as_such(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page("/trees")
    page.get_by_role("button", name="Go to").click()
    page.keyboard.type("<b>no such thing</b>")
    page.get_by_text("Nothing has this in its name.").wait_for()
    page.keyboard.press("Enter")
    assert page.get_by_role("dialog", name="Go to").is_visible()
