"""Figures for print: the view, the map, the matrix and two trees, by their dialogs."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

import numpy as np
import pypdf
import pytest

from tests.app.pictures.words_kit import words
from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import imported, settled
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

SVG = "{http://www.w3.org/2000/svg}"
SOFTWARE = "GPU stall due to ReadPixels"
"""What Chromium says where WebGL is drawn by the processor."""
NAMES = ["</svg><b>cat</b>", "dog", "oak", "rose"]


@pytest.fixture(scope="module")
def tree(api: Api) -> str:
    rng = np.random.default_rng(0)
    own = np.arange(200) % 4
    logits = rng.normal(size=(200, 4)) + 5.0 * np.eye(4)[own]
    logits[own == 0, 1] += 4.0
    job = api.run("l2h", {"logits": logits.tolist(), "names": NAMES}, name="Living")
    assert job["status"] == "succeeded", job
    return str(job["result"]["tree"])


def printed(
    page: Page, button: Locator, size: str | None = None, **fields: str
) -> tuple[str, Path]:
    """The name and the path of the file that the dialog saves."""
    button.scroll_into_view_if_needed()
    # Scrolling would close the menu, so wait until it ends.
    page.evaluate("() => new Promise(on => requestAnimationFrame(() => requestAnimationFrame(on)))")
    button.click()
    page.get_by_role("menuitem", name="Figure for print").click()
    dialog = page.get_by_role("dialog")
    if size is not None:
        dialog.get_by_label("Size").select_option(size)
    for label, value in fields.items():
        control = dialog.get_by_label(label, exact=True)
        if control.evaluate("element => element.localName") == "select":
            control.select_option(value)
        else:
            control.fill(value)
    with page.expect_download() as waiting:
        dialog.get_by_role("button", name="Save").click()
    return waiting.value.suggested_filename, waiting.value.path()


def millimetres(path: Path) -> tuple[float, float, str]:
    """Width, height and text of a PDF."""
    (page,) = pypdf.PdfReader(io.BytesIO(path.read_bytes())).pages
    wide, tall = (float(side) / 72 * 25.4 for side in page.mediabox[2:])
    return wide, tall, page.extract_text()


def test_the_preview_says_which_names_have_no_room(look: Open, api: Api) -> None:
    """Ten names one in another, in a figure of 85 mm: those that it lacks are named."""
    newick = "(a:1,b:1)Innermost:1"
    for number in range(9):
        newick = f"({newick},leaf_{number}:1)Group_{number}:1"
    wide = ",".join(f"other_{number}:20" for number in range(600))
    page = look(f"/trees/{imported(api, f'({newick},{wide})x;', 'deep')}")
    settled(page)
    page.get_by_role("button", name="Save", exact=True).first.click()
    page.get_by_role("menuitem", name="Figure for print").click()
    missed = page.get_by_role("dialog").locator(".print-missed")
    missed.get_by_text("No room for “").wait_for()
    assert "A larger size, smaller text or a part of the tree has room" in missed.inner_text()


@pytest.mark.needs("typst")
def test_the_view_as_it_is_seen(look: Open, tree: str, axe: Axe) -> None:
    page = look(f"/trees/{tree}?cut=k:2&shape=rectangular")
    settled(page)
    save = page.get_by_role("button", name="Save", exact=True).first
    save.click()
    page.get_by_role("menuitem", name="Figure for print").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Size").select_option("own")
    dialog.get_by_label("Width, mm").fill("5")
    dialog.get_by_role("button", name="Save").click()
    assert "From 10 to 2000 mm" in dialog.inner_text()
    axe(page)
    dialog.get_by_role("button", name="Cancel").click()

    name, path = printed(page, save, Title="Living & more")
    assert name == "living.pdf"
    wide, _, text = millimetres(path)
    assert wide == pytest.approx(85, abs=0.01)
    for part in ("Living & more", "</svg><b>cat</b>", "rose"):
        assert part in text
    _, path = printed(page, save, "slide", Form="svg", Colours="dark")
    root = Xml.fromstring(path.read_text())
    assert (root.get("width"), root.get("height")) == ("338.7mm", "190.5mm")
    fills = {element.get("fill") for element in root.iter()}
    assert "#14181d" in fills
    # The words lie on the slide and are at least six sevenths of 16 points high.
    found = words(path.read_text())
    points = 338.7 / 25.4 * 72 / float(root.attrib["viewBox"].split()[2])
    assert len(found) >= 4
    assert min(word.size * points for word in found) >= 16 * 6 / 7
    wide, high = (float(side) for side in root.attrib["viewBox"].split()[2:])
    for word in found:
        assert all(0 <= x <= wide and 0 <= y <= high for x, y in word.corners), word
    page.get_by_role("button", name="Circle").click()
    settled(page)
    _, path = printed(page, save, "double", Form="png", Resolution="150")
    assert struct.unpack(">I", path.read_bytes()[16:20])[0] == round(178 / 25.4 * 150)


@pytest.mark.needs("typst")
def test_the_matrix_and_the_map(look: Open, tree: str) -> None:
    page = look(f"/trees/{tree}?cut=k:2&map=pca&tab=confusions")
    page.watch.expected.append(SOFTWARE)  # type: ignore[attr-defined]
    settled(page)
    page.get_by_role("region", name="What is taken for what").locator(".matrix-canvas").wait_for()
    page.locator(".map-facts", has_text="200 points").wait_for()
    button = page.get_by_role("button", name="Save what is taken for what")
    name, path = printed(page, button, "a4")
    assert name == "living-confusions.pdf"
    wide, _, text = millimetres(path)
    assert wide == pytest.approx(170, abs=0.01)
    assert text.count("dog") == 2
    name, path = printed(page, page.get_by_role("button", name="Save the map"), "a4", Form="svg")
    assert name == "living-map.svg"
    root = Xml.fromstring(path.read_text())
    assert (root.get("width"), root.get("height")) == ("170mm", "247mm")
    strokes = [path for path in root.iter(f"{SVG}path") if "h0" in (path.get("d") or "")]
    assert sum((path.get("d") or "").count("h0") for path in strokes) == 200
    assert len(strokes) == 2


@pytest.mark.needs("typst")
def test_two_trees(look: Open, api: Api, tree: str) -> None:
    page = look(f"/compare?left={tree}&right={tree}")
    page.locator(".tangle-facts dd").first.wait_for()
    save = page.get_by_role("button", name="Save", exact=True)
    name, path = printed(page, save, "double")
    assert name == "tangle.pdf"
    wide, _, text = millimetres(path)
    assert wide == pytest.approx(178, abs=0.01)
    assert text.count("rose") == 2
