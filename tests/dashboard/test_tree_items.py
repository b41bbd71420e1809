"""Items attached to a tree, on its page: strips, colours, a filter, examples, tooltips."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from PIL import Image

from tests.dashboard.conftest import Axe, Open
from tests.dashboard.planted import hash_of, until
from tests.e2e.client import Api

SVG = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def table() -> bytes:
    """The items of the sixty points in three groups."""
    rows = [
        {
            "word": f"word {row}" if row else f"<img src=x onerror=alert(1)>\u202e {SVG}",
            "kind": ("plant", "animal", "stone")[row // 20],
            "weight": row / 2,
            "seen": f"2024-01-{row % 28 + 1:02d}",
        }
        for row in range(60)
    ]
    return json.dumps(rows).encode()


def pictures() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for row in range(60):
            content = io.BytesIO()
            Image.new("RGB", (8, 8), (4 * row, 90, 200 - 3 * row)).save(content, "PNG")
            packed.writestr(f"{row}.png", content.getvalue())
    return archive.getvalue()


@pytest.fixture(scope="module")
def items(api: Api, blobs: dict[str, Any]) -> str:
    """The id of an attachment."""
    dataset = api.upload(table(), media="application/json", role="items", name="items.json")
    answer = api.client.post(
        f"/v1/trees/{blobs['tree']}/attachments",
        json={"items": dataset, "name": "Words"},
        headers={"Prefer": "wait=60"},
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_strips_colours_a_filter_and_examples(
    look: Open, open_page: Open, blobs: dict[str, Any], items: str, axe: Axe
) -> None:
    page = look(f"/trees/{blobs['tree']}?items={items}&node=0")
    page.watch.spoilt = True  # type: ignore[attr-defined]  # It keeps the order of examples.
    card = page.get_by_role("region", name="Items")
    card.get_by_text("60 items, one for each point").wait_for()
    # A link without strips has none.
    assert not card.get_by_role("checkbox", name="kind").is_checked()
    for name in ("kind", "weight", "seen"):
        card.get_by_role("checkbox", name=name).check()
    page.wait_for_url("**strips=1.2.3*")
    card.get_by_role("button", name="Colour the tree by kind").click()
    page.locator(".tree-key", has_text="plant").wait_for()
    page.wait_for_url(f"**color={items}.1*")

    examples = page.locator(".node-examples")
    examples.get_by_text("12 of 60 items, nearest to their mean").wait_for()
    examples.get_by_label("Order of the examples").select_option("unsure")
    examples.get_by_text("farthest from their mean").wait_for()
    examples.get_by_label("Order of the examples").select_option("random")
    examples.get_by_role("button", name="Others").wait_for()

    card.get_by_label("Filter by").select_option(label="weight")
    card.get_by_label("from", exact=True).fill("10")
    card.get_by_role("button", name="Filter", exact=True).click()
    card.get_by_text("40 of 60 items match").wait_for()
    page.wait_for_url("**where=*")
    axe(page)
    address = page.evaluate("location.hash.slice(1)")
    card.get_by_role("button", name="Show all").click()
    card.get_by_text("items match").wait_for(state="detached")
    page.wait_for_url(lambda url: "where=" not in url)
    # Another address of the same tree: its condition, its strips.
    page.evaluate("address => { location.hash = address.replace('1.2.3', '2') }", f"#{address}")
    card.get_by_text("40 of 60 items match").wait_for()
    assert not card.get_by_role("checkbox", name="kind").is_checked()

    for theme, width in (("dark", 1440), ("light", 390)):
        again = open_page(address, theme=theme, width=width, height=900)
        again.get_by_role("region", name="Items").get_by_text("40 of 60 items match").wait_for()
        again.locator(".node-examples li").first.wait_for()
        assert again.evaluate("document.documentElement.scrollWidth") <= width
        axe(again, "color-contrast")


def test_filters_are_combined(look: Open, blobs: dict[str, Any], items: str, axe: Axe) -> None:
    page = look(f"/trees/{blobs['tree']}?items={items}")
    card = page.get_by_role("region", name="Items")
    conditions = card.get_by_role("list", name="Conditions")

    def ask(column: str, label: str, value: str, n: int) -> None:
        card.get_by_label("Filter by").select_option(label=column)
        control = card.get_by_label(label, exact=True)
        if column == "kind":
            control.select_option(label=value)
        else:
            control.fill(value)
        card.get_by_role("button", name="Filter", exact=True).click()
        card.get_by_text(f"{n} of 60 items match").wait_for()

    # Weights are half the row: from 5 on 50, of which 30 to 39 of the animals are below 20.
    ask("weight", "from", "5", 50)
    ask("kind", "is", "animal", 20)
    ask("word", "contains", "WORD 2", 10)
    ask("word", "contains", "7", 1)
    named = ["weight from 5", "kind is animal", "word contains WORD 2", "word contains 7"]
    until(page, lambda: conditions.get_by_role("listitem").all_inner_texts() == named)
    # The same column again takes the place of its condition.
    ask("kind", "is", "stone", 0)
    axe(page)
    conditions.get_by_role("button", name="Remove: word contains WORD 2").click()
    card.get_by_text("2 of 60 items match").wait_for()
    until(page, lambda: hash_of(page).get("where", "").count("column=") == 3)
    address = page.evaluate("location.hash.slice(1)")
    for name in ("weight from 5", "word contains 7"):
        conditions.get_by_role("button", name=f"Remove: {name}").click()
    card.get_by_text("20 of 60 items match").wait_for()
    page.keyboard.press("Enter")  # The focus went to the one that is left.
    card.get_by_text("items match").wait_for(state="detached")
    page.wait_for_url(lambda url: "where=" not in url)
    # A link has all of them.
    page = look(address)
    card.get_by_text("2 of 60 items match").wait_for()
    until(page, lambda: conditions.get_by_role("listitem").count() == 3)
    # No more than eight.
    card.get_by_label("Filter by").select_option(label="word")
    for number, part in enumerate(("w", "wo", "wor", "word", "ord"), start=4):
        card.get_by_label("contains", exact=True).fill(part)
        card.get_by_role("button", name="Filter", exact=True).click()
        conditions.get_by_role("listitem").nth(number - 1).wait_for()
    card.get_by_text("2 of 60 items match").wait_for()
    card.get_by_label("contains", exact=True).fill("rd")
    card.get_by_role("button", name="Filter", exact=True).click()
    card.get_by_text("At most 8 conditions are combined").wait_for()
    assert conditions.get_by_role("listitem").count() == 8


def test_hostile_text_is_text(look: Open, api: Api, blobs: dict[str, Any], items: str) -> None:
    page = look(f"/trees/{blobs['tree']}?items={items}&layout=rectangular&node=0")
    card = page.get_by_role("region", name="Items")
    card.get_by_label("Filter by").select_option(label="word")
    card.get_by_label("contains").fill("onerror=")
    card.get_by_role("button", name="Filter", exact=True).click()
    card.get_by_text("1 of 60 items match").wait_for()
    leaf = api.client.get(f"/v1/attachments/{items}/items/0").json()["leaf"]
    page.evaluate(
        "node => { location.hash = location.hash.replace('node=0', `node=${node}`) }", leaf
    )
    page.locator(".node-examples summary", has_text="onerror=alert(1)").wait_for()
    assert page.locator(".node-examples :is(img, script)").count() == 0


def test_a_file_is_attached(look: Open, blobs: dict[str, Any], axe: Axe) -> None:
    page = look(f"/trees/{blobs['tree']}?node=0")
    card = page.get_by_role("region", name="Items")
    card.get_by_label("Items", exact=True).select_option(label="Attach items…")
    dialog = page.get_by_role("dialog", name="Attach items")
    dialog.get_by_role("button", name="Attach", exact=True).click()
    dialog.get_by_text("Choose a file.").wait_for()
    axe(page)
    bad = {"name": "x.zip", "mimeType": "application/zip", "buffer": b"PK\x03\x04" + b"\0" * 40}
    dialog.get_by_label("File").set_input_files(bad)
    page.watch.expected += ["415", "422"]  # type: ignore[attr-defined]
    dialog.get_by_role("button", name="Attach", exact=True).click()
    dialog.get_by_role("alert").wait_for()
    good = {"name": "pictures.zip", "mimeType": "application/zip", "buffer": pictures()}
    dialog.get_by_label("File").set_input_files(good)
    dialog.get_by_role("button", name="Attach", exact=True).click()
    dialog.wait_for(state="detached")
    page.locator(".node-examples img").nth(11).wait_for()
    page.wait_for_url("**items=at_*")
    assert "strips=" not in page.url
    # The item under the pointer.
    page.get_by_role("radio", name="Rectangle").or_(
        page.get_by_role("button", name="Rectangle")
    ).first.click()
    stage, note = page.locator(".tree-stage canvas").first, page.locator(".tree-tip .item-note img")

    def is_noted() -> bool:
        """The picture may still be drawn anew, or moved by the panels around it."""
        box = stage.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] - 90, box["y"] + box["height"] / 2)
        page.wait_for_timeout(200)
        return note.is_visible()

    until(page, is_noted)
    axe(page)


def test_outliers_without_anything_attached(look: Open, api: Api, blobs: dict[str, Any]) -> None:
    job = api.run("hac", {"features": blobs["features"]}, params={"linkage": "ward"}, name="Plain")
    tree = job["result"]["tree"]
    page = look(f"/trees/{tree}?node=0")
    page.watch.spoilt = True  # type: ignore[attr-defined]  # It keeps that they are wanted.
    page.get_by_role("button", name="Show outliers").click()
    rows = page.locator(".node-outliers tbody tr")
    rows.first.wait_for()
    made = api.client.get(f"/v1/trees/{tree}/attachments").json()["items"]
    assert len(made) == 1
    path = f"/v1/attachments/{made[0]['id']}/nodes/0/outliers"
    far = api.client.get(path, params={"n": 25}).json()["items"]
    row_of = [int(text) for text in rows.locator("td:first-child").all_inner_texts()]
    assert row_of == [each["item"] for each in far]
    order = page.get_by_label("Order of the outliers")
    assert order.locator("option").all_inner_texts() == ["Farthest", "Nearest"]
    order.select_option("near")
    near = api.client.get(path, params={"n": 25, "by": "near"}).json()["items"]
    nearest = str(near[0]["item"])
    until(page, lambda: rows.first.locator("td").first.inner_text() == nearest)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Outliers as CSV").click()
    assert len(waiting.value.path().read_text().splitlines()) == 61
