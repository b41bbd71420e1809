"""The view as files, and the tree in all its forms."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import pytest

from tests.dashboard.conftest import Open
from tests.dashboard.forms_kit import held_back
from tests.dashboard.planted import SMALL, imported, settled, until
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "(('a<b>&amp;\"':1,'שלום':1)'x''y':1,'\u0007c':2);"


@pytest.fixture(scope="module")
def small(api: Api) -> str:
    return imported(api, SMALL, "Small & co")


def save(page: Page, item: str) -> tuple[str, Path]:
    page.get_by_role("button", name="Save", exact=True).first.click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name=item, exact=True).click()
    return waiting.value.suggested_filename, waiting.value.path()


def save_picture(
    page: Page, form: str, title: str | None = None, white: bool = False
) -> tuple[str, Path]:
    page.get_by_role("button", name="Save", exact=True).first.click()
    page.get_by_role("menuitem", name="Picture of the view").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Form").select_option(form)
    if title is not None:
        dialog.get_by_label("Title").fill(title)
    if white:
        dialog.get_by_label("On white, for print").check()
    with page.expect_download() as waiting:
        dialog.get_by_role("button", name="Save").click()
    return waiting.value.suggested_filename, waiting.value.path()


def test_svg_equals_the_view(look: Open, small: str) -> None:
    page = look(f"/trees/{small}?cut=k:3")
    settled(page)
    box = page.locator(".tree-stage").bounding_box()
    assert box is not None
    for layout in ("Circle", "Rectangle", "Icicle"):
        page.get_by_role("button", name=layout).click()
        settled(page)
        name, path = save_picture(page, "svg", title='Trees <of> "life" & more')
        assert name == "small-co.svg"
        written = path.read_text()
        assert "NaN" not in written
        assert "undefined" not in written
        root = Xml.fromstring(written)
        texts = {text.text for text in root.iter(f"{SVG}text")}
        assert {"rose", "tulip", "oak", "elm", "ash", "cat", "dog"} <= texts
        assert {'Trees <of> "life" & more', "flowers"} <= texts
        colours = {
            element.get("stroke") or element.get("fill") for element in root.iter(f"{SVG}path")
        }
        assert len(colours) >= 4
        assert not list(root.iter(f"{SVG}script"))
        assert float(root.get("width", "0")) == pytest.approx(box["width"], abs=1)


def test_svg_in_the_dark_with_a_legend(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page(f"/trees/{blobs['tree']}?color={blobs['labels']}", theme="dark")
    settled(page)
    _, path = save_picture(page, "svg")
    root = Xml.fromstring(path.read_text())
    paper = root.find(f"{SVG}rect")
    assert paper is not None
    assert paper.get("fill") == "#191f1c"
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"group 0", "group 1", "group 2", "Three blobs"} <= set(texts)
    _, path = save_picture(page, "svg", white=True)
    paper = Xml.fromstring(path.read_text()).find(f"{SVG}rect")
    assert paper is not None
    assert paper.get("fill") == "#ffffff"


def test_png_has_the_requested_resolution(look: Open, small: str) -> None:
    page = look(f"/trees/{small}?color=none")
    settled(page)
    box = page.locator(".tree-stage").bounding_box()
    assert box is not None
    for times in (1, 4):
        name, path = save_picture(page, str(times), title="")
        assert name == "small-co.png"
        content = path.read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", content[16:24])
        assert width == pytest.approx(times * box["width"], abs=times)
        assert height == pytest.approx(times * box["height"], abs=times)


def test_hostile_names_in_an_svg(look: Open, api: Api) -> None:
    tree = imported(api, HOSTILE, 'A "<title>"')
    page = look(f"/trees/{tree}")
    settled(page)
    name, path = save_picture(page, "svg")
    assert name == "a-title.svg"
    texts = [text.text for text in Xml.fromstring(path.read_text()).iter(f"{SVG}text")]
    assert 'A "<title>"' in texts
    assert "שלום" in texts
    assert any("a<b>" in (text or "") for text in texts)


def test_all_forms(look: Open, api: Api, small: str, blobs: dict[str, Any]) -> None:
    page = look(f"/trees/{blobs['tree']}")
    settled(page)
    for item, suffix, start in (
        ("Newick", "nwk", b"("),
        ("JSON", "json", b"{"),
        ("Nexus", "nex", b"#NEXUS"),
        ("Linkage (SciPy, npy)", "linkage.npy", b"\x93NUMPY"),
        ("hclust (R, JSON)", "hclust.json", b"{"),
        ("Columns (Arrow)", "arrow", b"ARROW1"),
        ("Leaves of all rows (CSV)", "csv", b"row,"),
        ("Whole picture by the service (SVG)", "svg", b"<"),
    ):
        name, path = save(page, item)
        assert name.endswith(f".{suffix}"), item
        assert path.read_bytes().startswith(start), item


def test_an_unsuitable_form_shows_a_notice(look: Open, api: Api) -> None:
    tree = imported(api, "(a,b,c);", "Not binary")
    page = look(f"/trees/{tree}")
    page.watch.expected.append("406")
    settled(page)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("menuitem", name="Linkage").click()
    toast = page.locator(".toast", has_text="Not as a linkage")
    toast.wait_for()
    assert "bad" not in (toast.get_attribute("class") or "")


def test_only_the_viewed_part_is_saved(look: Open, small: str) -> None:
    page = look(f"/trees/{small}?root=1")
    settled(page)
    _, path = save(page, "Newick")
    text = path.read_text()
    assert "rose" in text
    assert "cat" not in text


def test_copy_link(open_page: Open, small: str) -> None:
    page = open_page(f"/trees/{small}?layout=icicle")
    settled(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    page.locator(".toast", has_text="this very view").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_a_figure_waits_for_the_tree(open_page: Open, small: str) -> None:
    page = open_page("/jobs")
    with held_back(page, re.compile(r"/v1/trees/[^/]+/view"), "GET") as held:
        page.goto(f"{page.url.partition('#')[0]}#/trees/{small}")
        page.get_by_role("button", name="Save", exact=True).first.click()
        page.get_by_role("menuitem", name="Figure for print").click()
        page.get_by_role("dialog").get_by_text("Drawing the preview").wait_for()
        until(page, lambda: held)
    page.get_by_role("dialog").locator("img").wait_for()
