"""The page on paper: light, without controls, with its pictures and legends."""

from __future__ import annotations

from typing import Any

from tests.dashboard.conftest import Open
from tests.dashboard.planted import settled


def test_a_tree_is_printed_in_black_on_white(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page(f"/trees/{blobs['tree']}", theme="dark")
    settled(page)
    dark = page.evaluate("document.querySelector('.tree-base').toDataURL()")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    root = page.locator(":root")
    assert root.get_attribute("data-theme") == "light"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.querySelector('.tree-base').toDataURL()") != dark
    for kept in (".tree-base", ".cut-summary", "h1"):
        assert page.locator(kept).first.is_visible(), kept
    for hidden in (".top", ".tree-tools", ".tree-bar", ".heatmap-terms", ".bottom"):
        assert page.locator(hidden).first.is_hidden(), hidden
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert root.get_attribute("data-theme") == "dark"
    settled(page)
    assert page.evaluate("document.querySelector('.tree-base').toDataURL()") == dark


def test_the_picture_is_on_the_paper(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page(f"/trees/{blobs['tree']}", theme="dark")
    settled(page)
    whole = len(page.pdf())
    page.evaluate(
        """() => {
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(".tree-base { display: none; }");
          document.adoptedStyleSheets = [sheet];
        }"""
    )
    # Lines and labels of 60 leaves, drawn when the page was about to be printed.
    assert whole > len(page.pdf()) + 2000
