"""The first visit: the shipped sample by one click, and a tour that does not return."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

EMPTY = """() => {
  const own = window.fetch;
  window.fetch = (address, options) => String(address).includes("/v1/jobs?limit=1")
    ? Promise.resolve(new Response('{"items": [], "next_cursor": null}',
        {headers: {"Content-Type": "application/json"}}))
    : own(address, options);
}"""


def start(open_page: Open, *, is_empty: bool, width: int = 1280, height: int = 800) -> Page:
    """The start page; `is_empty`: as if nothing had been run on the service that tests share."""
    page = open_page("/jobs", width=width, height=height)
    if is_empty:
        page.watch.spoilt = True  # type: ignore[attr-defined]
        page.evaluate(EMPTY)
    page.evaluate("location.hash = '#/'")
    page.get_by_role("heading", name="Turn data into a hierarchy").wait_for()
    return page


def test_the_languages_by_one_click_and_a_tour_once(open_page: Open, axe: Axe) -> None:
    page = start(open_page, is_empty=True, width=390, height=844)
    page.get_by_role("heading", name="New here?").wait_for()
    axe(page)
    page.get_by_role("button", name="Try it on the languages").click()
    tour = page.locator(".tour")
    tour.wait_for()
    page.get_by_role("heading", name="Languages", exact=True).wait_for()
    for step, title in enumerate(("The tree", "Its clusters", "Find a language"), start=1):
        tour.get_by_role("heading", name=title).wait_for()
        assert f"{step} of 4" in tour.inner_text()
        tour.get_by_role("button", name="Next").click()
    tour.get_by_role("heading", name="Take it with you").wait_for()
    page.locator(".cut-summary strong").wait_for()
    axe(page)
    tour.get_by_role("button", name="Done").click()
    tour.wait_for(state="detached")
    page.evaluate("location.hash = location.hash.split('?')[0] + '?tour=1'")
    page.reload()
    page.locator(".cut-summary strong").wait_for(state="attached")
    assert not tour.count()


@pytest.mark.parametrize("is_empty", [True, False])
def test_on_a_phone_the_start_is_one_screen(
    open_page: Open, blobs: dict[str, object], is_empty: bool
) -> None:
    page = start(open_page, is_empty=is_empty, width=390, height=844)
    page.get_by_role("heading", name="New here?").wait_for(
        state="visible" if is_empty else "hidden"
    )
    for name in ("Choose files", re.compile(r"All \d+ methods")):
        page.get_by_role("button", name=name).wait_for()
    size = "[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
    until(page, lambda: page.evaluate(size) == [844, 390])


def test_the_small_tree_is_cut_by_its_slider(open_page: Open) -> None:
    page = start(open_page, is_empty=False)
    slider = page.get_by_role("slider", name="Clusters of the example")
    figure = page.locator(".small-tree")
    for clusters in ("1 cluster", "11 clusters"):
        slider.press("Home" if clusters == "1 cluster" else "End")
        figure.get_by_text(clusters, exact=True).wait_for()
    until(page, lambda: len(colours(page)) == 11)
    slider.press("Home")
    until(page, lambda: len(colours(page)) == 1)


def colours(page: Page) -> set[str]:
    """The colours of the small tree's words."""
    return set(
        page.evaluate(
            "() => [...document.querySelectorAll('.small-tree text')].map(word => word.style.fill)"
        )
    )


def test_a_link_leads_through_the_sample_again(
    open_page: Open, blobs: dict[str, object], axe: Axe
) -> None:
    page = open_page("/?welcome=1", anew=True)
    page.get_by_role("button", name="Try it on the languages").wait_for()
    axe(page)


def test_who_has_run_something_is_not_welcomed(open_page: Open, blobs: dict[str, object]) -> None:
    page = start(open_page, is_empty=False)
    page.wait_for_load_state("networkidle")
    assert page.get_by_role("button", name="Use the sample").is_visible()
    assert page.get_by_role("heading", name="New here?").is_hidden()
