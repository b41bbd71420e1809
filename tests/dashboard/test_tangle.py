"""Two trees face to face."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import pytest

from tests.dashboard.conftest import Open
from tests.dashboard.planted import hash_of, imported, inked, pixels, until
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

BASE = ".tangle-stage canvas:nth-of-type(1)"
OVER = ".tangle-stage canvas:nth-of-type(2)"


@pytest.fixture(scope="module")
def pair(api: Api, blobs: dict[str, Any]) -> dict[str, str]:
    second = api.run(
        "hac", {"features": blobs["features"]}, params={"linkage": "single"}, name="Single"
    )
    assert second["status"] == "succeeded", second
    return {"left": blobs["tree"], "right": second["result"]["tree"]}


def opened(open_page: Open, pair: dict[str, str], **options: Any) -> Page:
    page = open_page(f"/compare?left={pair['left']}&right={pair['right']}", **options)
    page.locator(".tangle-facts dd").first.wait_for()
    until(page, lambda: inked(page, BASE) > 3000)
    return page


def test_two_trees_and_their_distance(look: Open, api: Api, pair: dict[str, str]) -> None:
    page = opened(look, pair)
    answer = api.client.get(
        f"/v1/trees/{pair['left']}/tangle", params={"other": pair["right"], "max_nodes": 200}
    ).json()
    text = page.locator(".tangle-facts").inner_text()
    assert f"{answer['entanglement']:.4g}" in text
    assert str(answer["crossings"]) in text
    assert "entanglement" in (page.locator(".tangle-picture").get_attribute("aria-label") or "")
    before = pixels(page, BASE)
    page.get_by_label("Turned to match").select_option("none")
    until(page, lambda: hash_of(page).get("rotate") == "none" and pixels(page, BASE) != before)
    turned = pixels(page, BASE)
    page.get_by_role("button", name="Swap").click()
    until(page, lambda: hash_of(page)["left"] == pair["right"] and pixels(page, BASE) != turned)
    page.get_by_label("Shown").select_option("50")
    until(page, lambda: hash_of(page).get("nodes") == "50")


def test_pointing_at_a_node_highlights_its_partner(look: Open, pair: dict[str, str]) -> None:
    page = opened(look, pair)
    box = page.locator(".tangle-stage").bounding_box()
    assert box is not None

    def lit(x0: float, x1: float) -> int:
        count: int = page.evaluate(
            """([s, x0, x1]) => {
              const canvas = document.querySelector(s);
              const {width, height} = canvas;
              const options = {willReadFrequently: true};
              const copy = new OffscreenCanvas(width, height).getContext("2d", options);
              copy.drawImage(canvas, 0, 0);
              const [a, w] = [Math.round(x0 * width), Math.round((x1 - x0) * width)];
              const {data} = copy.getImageData(a, 0, w, height);
              let n = 0;
              for (let at = 3; at < data.length; at += 4) if (data[at] > 100) n += 1;
              return n;
            }""",
            [OVER, x0, x1],
        )
        return count

    assert lit(0, 1) == 0
    for across in (0.3, 0.7):
        for step in range(60):  # Move down the page until the pointer is on a branch.
            page.mouse.move(box["x"] + box["width"] * across, box["y"] + 20 + step * 8)
            if page.locator(".tree-tip").is_visible():
                break
        until(page, lambda: "of the other tree" in page.locator(".tree-tip").inner_text())
        for x0, x1 in ((0, 0.33), (0.42, 0.58), (0.67, 1)):
            until(page, lambda x0=x0, x1=x1: lit(x0, x1) > 0)
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
        until(page, lambda: lit(0, 1) == 0)


def test_zoom_measures_and_files(look: Open, pair: dict[str, str]) -> None:
    page = opened(look, pair)
    before = pixels(page, BASE)
    page.locator(".tangle-stage").get_by_role("button", name="Zoom in").click()
    until(page, lambda: pixels(page, BASE) != before)
    page.get_by_role("button", name="Measure both").click()
    row = page.locator("tr", has_text="dendrogram purity")
    row.wait_for()
    until(page, lambda: row.locator("td").nth(0).inner_text() == "1")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(150)
    page.get_by_role("button", name="Save", exact=True).click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name="SVG").click()
    root = Xml.fromstring(waiting.value.path().read_text())
    assert len(list(root.iter())) > 20
    assert page.get_by_role("link", name="Evaluate both").get_attribute("href") == (
        f"#/evaluations?trees={pair['left']},{pair['right']}"
    )


def test_choosing_and_trees_of_other_points(look: Open, api: Api, pair: dict[str, str]) -> None:
    three = imported(api, "(a,b,c);", "Three")
    page = look(f"/compare?left={pair['left']}")
    page.get_by_text("Choose two trees").wait_for()
    options = page.get_by_label("Right").locator("option").all_inner_texts()
    assert "Single" in options
    assert "Three" not in options
    page.get_by_label("Right").select_option(label="Single")
    page.locator(".tangle-facts dd").first.wait_for()
    page = look(f"/compare?left={pair['left']}&right={three}")
    page.watch.expected.append("422")
    page.locator(".tree-trouble .notice").wait_for()


def test_trees_of_other_rows_are_compared_by_names(look: Open, api: Api) -> None:
    text = "((cat,dog,cow,pig)animals,(oak,elm,fir,ivy)plants);"
    left = imported(api, text, "Living things")
    text = "((dog,cow,pig)animals,(oak,elm,fir,cat,ivy)plants,new);"
    imported(api, text, "Living things, again")
    page = look(f"/compare?left={left}")
    page.get_by_label("Right").select_option(label="Living things, again")
    page.locator(".tangle-facts dd").first.wait_for()
    facts = page.locator(".tangle-facts").inner_text()
    assert "Leaves of the same names" in facts
    assert "On the right alone" in facts
    page.get_by_text("1 leaf of the right tree alone: 'new'").wait_for()
    card = page.get_by_role("region", name="What moved")
    assert card.locator("tbody tr").count() == 1
    row = card.locator("tbody tr").inner_text()
    assert "animals: dog, cow, pig" in row
    assert "plants: oak, elm, fir and 1 more" in row
    before = pixels(page, OVER)
    card.get_by_role("button", name="cat").click()
    until(page, lambda: pixels(page, OVER) != before)
    with page.expect_download() as waiting:
        card.get_by_role("button", name="What moved as CSV").click()
    assert "cat,0.5," in waiting.value.path().read_text()


def test_what_is_not_among_the_newest_is_found_by_its_name(
    open_page: Open, pair: dict[str, str]
) -> None:
    page = open_page("/jobs")

    def newest(route: Route) -> None:
        """As if 30 others were newer than all there are."""
        answer = route.fetch()
        body = answer.json()
        first, prefix = body["items"][0], body["items"][0]["id"][:3]
        body["items"] = [
            {**first, "id": f"{prefix}{number:026}", "name": f"Other {number}"}
            for number in range(30)
        ]
        route.fulfill(response=answer, json=body)

    page.route(re.compile("/v1/(trees|datasets)[?]limit=200"), newest)
    page.goto(page.url.partition("#")[0] + f"#/compare?left={pair['left']}")
    find = page.get_by_role("searchbox", name="Find among all trees")
    right = page.get_by_label("Right")
    assert "Single" not in right.locator("option").all_inner_texts()
    find.fill("sing")
    page.get_by_text("1 of the same 60 points").wait_for()
    right.select_option(label="Single")
    page.locator(".tangle-facts dd").first.wait_for()
    page.goto(page.url.partition("#")[0] + "#/?method=hac")
    find = page.get_by_role("searchbox", name="Find among all data")
    find.fill("blobs")
    features = page.locator('[data-role="features"] select')
    features.locator("option", has_text="blobs.npy").wait_for(state="attached")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_accessibility(
    open_page: Open, axe: Callable[[Page], None], pair: dict[str, str], theme: str, width: int
) -> None:
    page = opened(open_page, pair, theme=theme, width=width)
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
