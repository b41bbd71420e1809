"""The map beside the tree: its colours, what a node lights, the lasso, and what a point is."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from tests.dashboard.conftest import Axe, Open, Pages
from tests.dashboard.forms_kit import held_back
from tests.dashboard.planted import SMALL, imported, until
from tests.e2e.client import Api, npy
from tests.e2e.conftest import Service

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

GROUP = np.repeat(np.arange(4), 40)
SERIES = [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167)]
"""The first colours of the palette."""
SOFTWARE = "GPU stall due to ReadPixels"
"""What Chromium says where WebGL is drawn by the processor."""


@pytest.fixture(scope="module")
def tree(api: Api) -> str:
    """Four groups in the corners of a square."""
    rng = np.random.default_rng(0)
    corners = np.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 0], [9, 9, 1]])
    rows = corners[GROUP] + rng.normal(size=(GROUP.size, 3))
    names = [f"<b>point</b> {row}" for row in range(GROUP.size)]
    job = api.run("hac", {"features": rows.tolist(), "names": names}, params={"linkage": "ward"})
    assert job["status"] == "succeeded", job
    return str(job["result"]["tree"])


def panel(page: Page) -> Locator:
    page.watch.expected.append(SOFTWARE)  # type: ignore[attr-defined]
    region = page.get_by_role("region", name="Map", exact=True)
    region.locator(".map-facts", has_text="160 points").wait_for()
    return region


def resting(region: Locator) -> dict[str, float]:
    """Where the picture is, once the panels around it have come and it moves no more."""
    stage, before = region.locator(".map-stage"), [None] * 4

    def rests() -> bool:
        before.append(stage.bounding_box())
        return before[-1] is not None and all(box == before[-1] for box in before[-4:])

    region.page.locator(".cut-summary strong").wait_for(state="attached")
    until(region.page, rests)
    return dict(before[-1])


def positions(page: Page, region: Locator) -> np.ndarray:
    """(160, 2) where the points are in the picture, in px of the page, in the order of leaves."""
    stage = resting(region)
    # Other tests have made other maps of the same tree.
    map_id = page.evaluate(
        """async ([tree, by]) => (await (await fetch(`/v1/trees/${tree}/maps`)).json()).items
             .find((map) => map.by === by).id""",
        [
            page.url.split("/trees/")[1].split("?")[0],
            page.get_by_role("combobox", name="Map", exact=True).input_value(),
        ],
    )
    items = page.evaluate(
        """async map => (await (await fetch(
             `/v1/maps/${map}/positions.json?order=leaves`)).json()).items""",
        map_id,
    )
    xy = np.array([[item["x"], item["y"]] for item in items])
    low, high = xy.min(axis=0), xy.max(axis=0)
    spare = 0.005 * (high - low).max()
    width, height = stage["width"], stage["height"]
    k = 0.96 * min(width / (high - low + 2 * spare)[0], height / (high - low + 2 * spare)[1])
    away = (xy - (low + high) / 2) * k
    return np.column_stack(
        [stage["x"] + width / 2 + away[:, 0], stage["y"] + height / 2 - away[:, 1]]
    )


def pointed(page: Page, region: Locator, leaf: int) -> tuple[float, float]:
    """Where a leaf's point is, once the pointer on it makes the region say what it is.

    page : of the owner, who may ask for positions; the region may be that of another page.
    """

    def at() -> tuple[float, float] | None:
        # The panels around it may still be moving it.
        x, y = positions(page, region)[leaf]
        region.page.mouse.move(x - 1, y - 1)
        region.page.mouse.move(x, y)
        region.page.wait_for_timeout(500)
        return (x, y) if region.locator(".matrix-tip strong").is_visible() else None

    found: tuple[float, float] = until(page, at)
    return found


def coloured(stage: Locator) -> list[bool]:
    """Which of `SERIES` the picture shows."""
    picture = Image.open(io.BytesIO(stage.screenshot())).convert("RGB")
    seen = {colour: n for n, colour in picture.getcolors(1 << 24)}
    return [seen.get(colour, 0) > 200 for colour in SERIES]


def outline(page: Page, around: np.ndarray, reach: float = 12.0) -> None:
    """Draw a box around positions."""
    (x0, y0), (x1, y1) = around.min(axis=0) - reach, around.max(axis=0) + reach
    page.mouse.move(x0, y0)
    page.mouse.down()
    for x, y in ((x1, y0), (x1, y1), (x0, y1), (x0, y0 + 4)):
        page.mouse.move(x, y, steps=3)
    page.mouse.up()


def test_an_outline_gives_the_node_that_fits(look: Open, tree: str, axe: Axe) -> None:
    page = look(f"/trees/{tree}?cut=k:4")
    page.get_by_role("combobox", name="Map", exact=True).select_option("pca")
    region = panel(page)
    assert "of the variance" in region.locator(".map-facts").inner_text()
    # The browser of the tests has no graphics card.
    assert "drawn by the processor" in region.locator(".map-facts").inner_text()
    region.scroll_into_view_if_needed()
    at = positions(page, region)
    # Its points are the first quarter of the leaves.
    region.get_by_role("button", name="Lasso").click()
    outline(page, at[:40])
    fits = region.locator(".map-fits li")
    fits.first.wait_for()
    assert "40 points outlined" in region.locator(".map-fits").inner_text()
    best = fits.first.inner_text()
    assert "40 points: purity 100 %, recall 100 %" in best
    assert "<b>point</b>" in best
    axe(page)
    fits.first.get_by_role("button").click()
    page.locator(".tree-node", has_text="40").first.wait_for()
    page.wait_for_function("() => /map=pca/.test(location.hash) && /node=/.test(location.hash)")
    region.get_by_role("button", name="Clear").click()
    fits.first.wait_for(state="detached")
    region.get_by_role("button", name="In view").click()
    region.locator(".map-fits", has_text="160 points outlined").wait_for()
    page.get_by_role("combobox", name="Map", exact=True).select_option("")
    region.wait_for(state="hidden")


def test_a_point_says_what_it_is_and_leads_to_its_leaf(look: Open, tree: str) -> None:
    page = look(f"/trees/{tree}?map=pca")
    region = panel(page)
    region.scroll_into_view_if_needed()
    page.locator(".cut-summary strong").wait_for()
    at = positions(page, region)
    apart = np.linalg.norm(at[:, None] - at[None], axis=2) + 1e9 * np.eye(len(at))
    lonely = int(apart.min(axis=1).argmax())
    x, y = pointed(page, region, lonely)
    tip = region.locator(".matrix-tip")
    name = tip.locator("strong").inner_text()
    assert name.startswith("<b>point</b>")
    assert tip.inner_text().splitlines()[-1] == f"Row {name.split()[-1]}"
    page.mouse.click(x, y)
    page.locator(".tree-node", has_text=name).wait_for()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_the_window(
    open_page: Open, tree: str, axe: Axe, theme: str, width: int, height: int
) -> None:
    page = open_page(f"/trees/{tree}?map=pca", theme=theme, width=width, height=height)
    region = panel(page)
    resting(region)
    picture = page.get_by_role("region", name="Picture of the tree").bounding_box()
    box = region.bounding_box()
    assert picture is not None
    assert box is not None
    is_beside = box["x"] > picture["x"] + picture["width"]
    assert is_beside == (width > 1000)
    assert is_beside or box["y"] > picture["y"] + picture["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    axe(page, "color-contrast")


def test_a_map_that_is_chosen_on_a_phone_comes_into_view(open_page: Open, tree: str) -> None:
    page = open_page(f"/trees/{tree}", width=390, height=844)
    page.get_by_role("combobox", name="Map", exact=True).select_option("pca")
    region = panel(page)
    resting(region)
    middle = (
        "(map) => { const { y, height } = map.getBoundingClientRect(); return y + height / 2; }"
    )
    until(page, lambda: 0 < region.evaluate(middle) < 780)


@pytest.mark.parametrize("by", ["webgl", "pixels"])
def test_it_is_drawn_with_and_without_webgl(open_page: Open, tree: str, by: str) -> None:
    page = open_page("/trees")
    page.watch.spoilt = True  # type: ignore[attr-defined]
    # WebGL by the processor would not be used.
    page.evaluate(
        """isWanted => {
          const own = HTMLCanvasElement.prototype.getContext;
          HTMLCanvasElement.prototype.getContext = function (kind, options) {
            if (kind !== "webgl2") return own.call(this, kind, options);
            return isWanted ? own.call(this, kind, {antialias: false, alpha: false}) : null;
          };
          const getParameter = WebGL2RenderingContext.prototype.getParameter;
          WebGL2RenderingContext.prototype.getParameter = function (name) {
            return name === 0x9246 ? "a graphics card" : getParameter.call(this, name);
          };
        }""",
        by == "webgl",
    )
    page.evaluate("path => { location.hash = path; }", f"#/trees/{tree}?map=pca&cut=k:4")
    region = panel(page)
    assert ("by the processor" in region.locator(".map-facts").inner_text()) == (by == "pixels")
    stage = region.locator(".map-stage")
    for cut, colours in (("k:4", [True] * 4), ("k:2", [True, True, False, False])):
        page.evaluate("path => { location.hash = path; }", f"#/trees/{tree}?map=pca&cut={cut}")
        page.locator(".cut-summary strong", has_text=f"{cut[2:]} clusters").wait_for()
        until(page, lambda colours=colours: coloured(stage) == colours)


@pytest.mark.needs("openTSNE")
def test_a_layout_shows_its_progress_and_the_colours_of_labels(
    open_page: Open, api: Api, tree: str
) -> None:
    labels = api.upload(npy(GROUP % 2), role="labels", name="parity")
    page = open_page("/trees")
    address = f"#/trees/{tree}?map=tsne&color={labels}"
    region = page.get_by_role("region", name="Map", exact=True)
    with held_back(page, re.compile(r"/v1/jobs/job_\w+/events"), "GET"):
        page.evaluate("path => { location.hash = path; }", address)
        region.get_by_role("progressbar").wait_for()
    panel(page)
    stage = region.locator(".map-stage")
    until(page, lambda: coloured(stage) == [True, True, False, False])


def test_a_tree_without_features_says_what_it_needs(look: Open, api: Api) -> None:
    page = look(f"/trees/{imported(api, SMALL, 'Life')}?map=pca")
    page.watch.expected.append("422")  # type: ignore[attr-defined]
    region = page.get_by_role("region", name="Map", exact=True)
    region.get_by_text("give `inputs` with a row of features").wait_for()


@pytest.mark.needs("torch")
def test_the_disc_is_offered_where_there_is_one(look: Open, api: Api, tree: str) -> None:
    rows = [[1.0, 0.1], [1.0, 0.2], [0.1, 1.0], [0.2, 1.0]]
    params = {"max_iter": 10, "n_init": 1, "batch_size": 32}
    job = api.run("hyphc", {"features": rows}, params=params)
    assert job["status"] == "succeeded", job
    page = look(f"/trees/{job['result']['tree']}")
    page.watch.expected.append(SOFTWARE)  # type: ignore[attr-defined]
    choice = page.get_by_role("combobox", name="Map", exact=True)
    choice.locator("option[value=disc]").wait_for(state="attached")
    choice.select_option("disc")
    page.locator(".map-facts", has_text="4 points").wait_for()
    look(f"/trees/{tree}")
    values = choice.locator("option").evaluate_all("all => all.map(one => one.value)")
    assert values == ["", "pca", "umap", "tsne"]


def test_a_link_shows_the_map_and_no_more_of_it(
    look: Open, pages: Pages, service: Service, tree: str, axe: Axe
) -> None:
    page = look(f"/trees/{tree}?map=pca&tab=edit")
    panel(page)
    page.get_by_role("button", name="Share…").click()
    dialog = page.get_by_role("dialog", name="Share")
    assert dialog.get_by_label("With the map beside the tree").is_checked()
    dialog.get_by_label("With the points under each node").check()
    dialog.get_by_role("button", name="Make a link").click()
    link = dialog.get_by_label("Link", exact=True)
    link.wait_for()
    dialog.get_by_text("the tree, with a map, with its points").first.wait_for()
    kind = ("light", 1440, 900)
    shown = pages.take(kind, service.url, True)
    try:
        shown.goto(link.input_value())
        region = panel(shown)
        for name in ("Lasso", "In view"):
            assert region.get_by_role("button", name=name).count() == 0
        # A point leads to its node, and says no more than that node does.
        x, y = pointed(page, region, 0)
        shown.mouse.click(x, y)
        shown.locator(".tree-node .node-name, .tree-node h2").first.wait_for()
        # Points are outlined, and no node is requested.
        shown.keyboard.down("Shift")
        outline(shown, np.array([[x, y]]))
        shown.keyboard.up("Shift")
        shown.wait_for_timeout(200)
        axe(shown)
        assert not shown.watch.bad()  # type: ignore[attr-defined]
    finally:
        pages.give_back(shown, True)
