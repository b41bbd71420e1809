"""What a user knows of a tree: stated, contradicted, learned from, compared, undone."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import hash_of, settled, until
from tests.e2e.client import Api

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


@pytest.fixture(scope="module")
def halves(api: Api, blobs: dict[str, Any]) -> str:
    """A tree with two of the three blobs in one cluster: its nodes are 1 and 2."""
    job = api.run(
        "kmeans", {"features": blobs["features"]}, params={"n_clusters": 2}, name="Halves"
    )
    assert job["status"] == "succeeded", job
    return str(job["result"]["tree"])


def shot(page: Page, name: str) -> None:
    folder = os.environ.get("SHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def panel(page: Page) -> Locator:
    return page.locator(".tree-statements")


def says(page: Page) -> list[str]:
    return [text.replace("\n", " ") for text in page.locator(".statement-line").all_inner_texts()]


def choose(page: Page, node: int) -> None:
    page.evaluate(
        "node => { location.hash = location.hash.split('?')[0] + `?node=${node}`; }", node
    )
    until(page, lambda: page.locator(".node-facts code").inner_text() == str(node))
    button = page.locator(".tree-node").get_by_role("button", name="Choose", exact=True)
    button.click()
    until(page, lambda: button.get_attribute("aria-pressed") == "true")


def sizes(api: Api, tree: str) -> dict[int, int]:
    nodes = api.client.get(f"/v1/trees/{tree}.json").json()["nodes"]
    return {node["id"]: node["size"] for node in nodes}


def test_the_whole_loop(look: Open, api: Api, halves: str, axe: Axe) -> None:
    small, large = sorted((1, 2), key=sizes(api, halves).__getitem__)
    page = look(f"/trees/{halves}")
    settled(page)
    choose(page, small)
    panel(page).get_by_role("button", name="These are one").click()
    assert "two or more" in panel(page).get_by_role("alert").inner_text()
    panel(page).get_by_role("button", name="Leave out").click()
    # A cluster that is known, and two points that do not belong together.
    choose(page, small)
    panel(page).get_by_role("button", name="A cluster I know").click()
    assert "needs a name" in panel(page).locator(".field-wrong").first.inner_text()
    panel(page).get_by_label("Name").fill("left")
    panel(page).get_by_label("Name").press("Enter")
    until(page, lambda: len(says(page)) == 1)
    choose(page, large)
    page.get_by_role("button", name="Show the 40 points").click()
    members = page.locator(".tree-node tbody tr")
    members.first.wait_for()
    rows = [int(text) for text in page.locator(".tree-node tbody th").all_inner_texts()]
    blob = {row // 20 for row in rows}
    first, second = (next(row for row in rows if row // 20 == one) for one in sorted(blob))
    for row in (first, second):
        page.get_by_label(f"Choose point {row}", exact=True).check()
    panel(page).get_by_role("button", name=re.compile("Leave out node")).first.click()
    assert panel(page).locator(".chosen-list li").count() == 2
    shot(page, "chosen")
    panel(page).get_by_role("button", name="These do not belong together").click()
    until(page, lambda: len(says(page)) == 2)
    assert not page.get_by_label(f"Choose point {first}", exact=True).is_checked()
    # A statement that contradicts them: it is shown where it stands, after a reload too.
    choose(page, large)
    page.get_by_role("button", name="Show the 40 points").click()
    page.get_by_label(f"Choose point {second}", exact=True).check()
    panel(page).get_by_role("button", name="These are one").click()
    until(page, lambda: len(says(page)) == 3)
    lines = says(page)
    page.reload()
    until(page, lambda: says(page) == lines)
    panel(page).get_by_label("New clusters").fill("2")
    page.watch.expected.append("422")
    panel(page).get_by_role("button", name="Run again").click()
    wrong = panel(page).locator(".statement-wrong")
    wrong.first.wait_for()
    assert wrong.all_inner_texts() == [
        f"Contradicts statement 3: 2 points in common ({first}, {second}).",
        f"Contradicts statement 2: 2 points in common ({first}, {second}).",
    ]
    assert panel(page).locator(".is-wrong").count() == 2
    axe(page)
    shot(page, "contradiction")
    # Removed, brought back, removed.
    panel(page).get_by_role("button", name="Remove statement 3").click()
    until(page, lambda: len(says(page)) == 2 and not wrong.count())
    panel(page).get_by_role("button", name="Undo", exact=True).click()
    until(page, lambda: says(page) == lines)
    panel(page).get_by_role("button", name="Remove statement 3").click()
    # Run again, see what moved.
    offered = (
        panel(page)
        .get_by_label("Method")
        .locator("option")
        .evaluate_all("options => options.map(({ value }) => value)")
    )
    assert "tcs" in offered
    assert "tcs-tree" not in offered  # It finds the number of new clusters itself.
    panel(page).get_by_label("New clusters").fill("2")
    panel(page).get_by_role("button", name="Run again").click()
    page.get_by_role("button", name="21 of 60 points moved").click()
    moved = page.locator(".tree-moved")
    moved.get_by_text("21 of 60 points moved").wait_for()
    tree = page.evaluate("location.hash").split("/")[2].split("?")[0]
    assert tree != halves
    assert page.evaluate("document.activeElement.textContent") == "What moved"
    heads = moved.locator("thead th").all_inner_texts()
    assert heads[0] == "Before"
    assert sorted(heads[1:-1]) == ["cluster 1", "cluster 2", "left", "new 1", "new 2"]
    assert sorted(moved.locator("tbody strong").all_inner_texts()) == ["19", "20"]
    settled(page)
    axe(page)
    shot(page, "moved")
    href = moved.get_by_role("link", name="Compare the trees").get_attribute("href")
    assert href == f"#/compare?left={halves}&right={tree}"
    # Back to the earlier tree, where everything still stands; elsewhere it is restored.
    page.evaluate("localStorage.clear()")
    moved.get_by_role("link", name="Back to the earlier tree").click()
    until(page, lambda: halves in page.evaluate("location.hash"))
    until(page, lambda: len(says(page)) == 2)
    assert says(page)[1].endswith(f"point {first} · point {second}")
    assert "statements" in hash_of(page)
    page.evaluate("localStorage.clear()")


def test_statements_on_a_tree_without_features(look: Open, api: Api) -> None:
    answer = api.client.post(
        "/v1/trees",
        content="((a:1,b:1)ab:1,c:2,d:2,e:2,f:2,g:2)abcdefg;",
        headers={"Content-Type": "text/x-nh"},
    )
    page = look(f"/trees/{answer.json()['id']}")
    settled(page)
    choose(page, 1)
    panel(page).get_by_label("Name").fill("ab")
    panel(page).get_by_role("button", name="A cluster I know").click()
    until(page, lambda: len(says(page)) == 1)
    panel(page).get_by_text("No dataset has the 7 rows of this tree").wait_for()
    assert panel(page).get_by_role("button", name="Run again").is_disabled()
    assert page.locator(".tree-moved").is_hidden()
    panel(page).get_by_role("button", name="Remove statement 1").click()
    panel(page).get_by_role("button", name="Undo", exact=True).click()
    until(page, lambda: len(says(page)) == 1)
    page.evaluate("localStorage.clear()")


def test_a_run_that_ended_elsewhere(
    look: Open, api: Api, halves: str, blobs: dict[str, Any]
) -> None:
    page = look(f"/trees/{halves}")
    settled(page)
    draft = [[halves, {"job": blobs["job"]}]]
    page.evaluate("text => localStorage.setItem('umbel.statements', text)", json.dumps(draft))
    page.reload()
    link = panel(page).get_by_role("link", name="the new tree")
    link.wait_for()
    assert link.get_attribute("href") == f"#/trees/{blobs['tree']}"
    page.evaluate("localStorage.clear()")


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(open_page: Open, halves: str, axe: Axe, theme: str) -> None:
    page = open_page(f"/trees/{halves}", theme=theme)
    settled(page)
    for place, name in enumerate(("left", "right")):
        choose(page, 1)
        panel(page).get_by_label("Name").fill(name)
        panel(page).get_by_role("button", name="A cluster I know").click()
        until(page, lambda place=place: len(says(page)) == place + 1)
    choose(page, 2)
    page.watch.expected.append("422")
    panel(page).get_by_role("button", name="Run again").click()
    panel(page).locator(".statement-wrong").first.wait_for()
    axe(page, "color-contrast")
    shot(page, f"contrast-{theme}")


def test_a_run_needs_labels_or_linked_pairs(open_page: Open, blobs: dict[str, Any]) -> None:
    page = open_page(f"/?method=fda&features={blobs['features']}")
    page.get_by_role("button", name="Run Fisher discriminants").click()
    wrong = page.locator('[data-role="labels"] .field-wrong')
    wrong.wait_for()
    assert wrong.inner_text() == "At least one of labels, must link is needed."
