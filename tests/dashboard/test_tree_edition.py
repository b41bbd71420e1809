"""Editions of a tree on its page: changes, undo, history; links to it, and the page of a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.dashboard.conftest import Axe, Open, Pages
from tests.e2e.conftest import Service

if TYPE_CHECKING:
    from playwright.sync_api import Page

#   0 plant
#   ├── 1 flower ── 2 rose, 3 tulip, 4 lily
#   └── 5 tree ── 6 oak, 7 elm
NEWICK = "((rose:1,tulip:1,lily:1)flower:1,(oak:1,elm:1)tree:1)plant;"


@pytest.fixture
def tree(service: Service) -> str:
    answer = service.client.post("/v1/trees", content=NEWICK, headers={"Content-Type": "text/x-nh"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def editions(client: httpx.Client, tree: str) -> list[dict[str, Any]]:
    return list(client.get(f"/v1/trees/{tree}/editions").json()["items"])


def children(client: httpx.Client, tree: str, edition: str, node: int) -> list[int]:
    shown = {"edition": edition}
    return list(client.get(f"/v1/trees/{tree}/nodes/{node}", params=shown).json()["children"])


def select(page: Page, node: int) -> None:
    """Select a node by the address of the page."""
    page.evaluate(
        "node => { location.hash = location.hash.replace(/node=\\d+/, `node=${node}`); }", node
    )


def test_the_first_change_begins_an_edition(look: Open, service: Service, tree: str) -> None:
    page = look(f"/trees/{tree}?node=1&tab=edit")
    panel = page.get_by_role("region", name="Edit and share")
    name = panel.get_by_label("Name", exact=True)
    name.fill("bulbs")
    panel.get_by_role("button", name="Save").click()
    panel.get_by_text("Saved", exact=True).wait_for()
    page.locator(".tree-node .node-name", has_text="bulbs").wait_for()
    (edition,) = editions(service.client, tree)
    page.wait_for_url(f"**edition={edition['id']}*")
    panel.get_by_role("button", name="Undo").click()
    page.locator(".tree-node .node-name", has_text="flower").wait_for()
    page.wait_for_function("field => field.value === 'flower'", arg=name.element_handle())


def test_nodes_are_changed_and_changes_undone(
    open_page: Open, service: Service, tree: str, axe: Axe
) -> None:
    page = open_page(f"/trees/{tree}?node=1&tab=edit", width=1440, height=900)
    panel = page.get_by_role("region", name="Edit and share")
    panel.get_by_role("combobox", name="Edition").select_option(label="New edition…")
    dialog = page.get_by_role("dialog", name="New edition")
    dialog.get_by_label("Name").fill("for the paper")
    dialog.get_by_role("button", name="Begin").click()
    page.wait_for_url("**edition=ed_*")
    dialog.wait_for(state="detached")
    (edition,) = editions(service.client, tree)
    assert edition["name"] == "for the paper"
    # What lies above the form is read anew, and may move it from under the pointer.
    page.locator(".tree-node[aria-busy=false]").wait_for()

    # A name, a note and a colour are one change.
    name = panel.get_by_label("Name", exact=True)
    name.wait_for()
    assert name.input_value() == "flower"
    name.fill("bulbs & roses")
    panel.get_by_label("Note").fill("see <b>[7]</b>")
    panel.get_by_label("Colour", exact=True).fill("#d55e00")
    panel.get_by_role("button", name="Save").click()
    panel.get_by_text("Saved", exact=True).wait_for()
    details = page.locator(".tree-node")
    details.locator(".node-name", has_text="bulbs & roses").wait_for()
    details.get_by_text("see <b>[7]</b>").wait_for()
    axe(page)

    panel.get_by_role("button", name="Move down").click()
    page.wait_for_function("() => document.querySelector('.edition [disabled]')")
    panel.get_by_role("button", name="Move up").and_(page.locator(":enabled")).wait_for()
    assert children(service.client, tree, edition["id"], 0) == [5, 1]
    panel.get_by_role("button", name="Collapse").click()
    panel.get_by_role("button", name="Expand").wait_for()
    # By keys: outside of fields they take changes back.
    page.locator(".tree-mirror").focus()
    page.keyboard.press("Control+z")
    panel.get_by_role("button", name="Collapse").wait_for()
    page.keyboard.press("Control+Shift+z")
    panel.get_by_role("button", name="Expand").wait_for()

    # Siblings are merged.
    client = service.client
    for node in (2, 4):
        select(page, node)
        heading = panel.locator(".edition-node-name")
        # The whole name: another of the nodes is “bulbs & roses”.
        heading.get_by_text({2: "rose", 4: "lily"}[node], exact=True).wait_for()
        panel.get_by_role("button", name="Choose to merge").click()
    panel.get_by_role("button", name="Merge 2 nodes").click()
    panel.locator(".edition-node-name", has_text="Node 8").wait_for()
    assert children(client, tree, edition["id"], 8) == [2, 4]
    axe(page)

    panel.get_by_role("button", name="Edition", exact=True).click()
    page.get_by_role("menuitem", name="History").click()
    history = page.get_by_role("dialog", name="History")
    history.get_by_text("merged nodes 2, 4").wait_for()
    history.get_by_text("named node 1 “bulbs & roses”").wait_for()
    axe(page)
    page.keyboard.press("Escape")

    # Somebody else changes it meanwhile.
    etag = client.get(f"/v1/editions/{edition['id']}").headers["etag"]
    other = client.post(
        f"/v1/editions/{edition['id']}/changes",
        json={"operations": [{"op": "rename", "node": 0, "name": "theirs"}]},
        headers={"If-Match": etag},
    )
    assert other.status_code == 200
    page.watch.expected.append("412")  # type: ignore[attr-defined]
    panel.get_by_role("button", name="Undo").click()
    panel.locator(".edition-state", has_text="Changed by somebody else").wait_for()
    assert (
        client.get(f"/v1/editions/{edition['id']}").json()["revision"] == other.json()["revision"]
    )


def test_a_button_is_pressed_though_the_panel_changes_meanwhile(
    open_page: Open, service: Service, tree: str
) -> None:
    made = service.client.post(f"/v1/trees/{tree}/editions", json={}).json()
    page = open_page(f"/trees/{tree}?node=2&tab=edit&edition={made['id']}")
    panel = page.get_by_role("region", name="Edit and share")
    heading = panel.locator(".edition-node-name")

    def select_and_wait(node: int, name: str) -> None:
        select(page, node)
        heading.get_by_text(name, exact=True).wait_for()

    for node, name in ((2, "rose"), (4, "lily"), (3, "tulip")):
        select_and_wait(node, name)
        panel.get_by_role("button", name="Choose to merge").click()
    panel.get_by_role("button", name="Merge 3 nodes").hover()
    page.mouse.down()
    select_and_wait(1, "flower")
    page.mouse.up()
    panel.get_by_text("These are all that lie under that node").wait_for()


@pytest.mark.slow
def test_the_panel_on_a_phone_and_in_the_dark(
    open_page: Open, service: Service, tree: str, axe: Axe
) -> None:
    made = service.client.post(f"/v1/trees/{tree}/editions", json={"name": "small"}).json()
    page = open_page(
        f"/trees/{tree}?node=1&tab=edit&edition={made['id']}", theme="dark", width=390, height=844
    )
    panel = page.get_by_role("region", name="Edit and share")
    panel.get_by_role("button", name="Save").wait_for()
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_link_is_made_shown_and_revoked(
    open_page: Open, pages: Pages, service: Service, tree: str, axe: Axe
) -> None:
    client = service.client
    made = client.post(f"/v1/trees/{tree}/editions", json={"name": "shown"})
    edition = made.json()["id"]
    client.post(
        f"/v1/editions/{edition}/changes",
        json={
            "operations": [
                {"op": "rename", "node": 1, "name": "in bloom"},
                {"op": "collapse", "node": 5},
            ]
        },
        headers={"If-Match": made.headers["etag"]},
    )
    page = open_page(f"/trees/{tree}?edition={edition}&tab=edit&layout=icicle&cut=k:2&node=1")
    panel = page.get_by_role("region", name="Edit and share")
    panel.get_by_role("button", name="Share…").click()
    dialog = page.get_by_role("dialog", name="Share")
    dialog.get_by_label("For").fill("the reviewers")
    dialog.get_by_label("Title").fill("What <b>blooms</b>")
    dialog.get_by_label("Note").fill("See the one in bloom.")
    dialog.get_by_label("May be shown within another page").check()
    dialog.get_by_role("button", name="Make a link").click()
    link = dialog.get_by_label("Link", exact=True)
    link.wait_for()
    address = link.input_value()
    assert address.startswith(f"{service.url}/embed#umbel_share_")
    assert (
        dialog.get_by_label("To embed it", exact=True)
        .input_value()
        .startswith(f'<iframe src="{address}"')
    )
    axe(page)

    # Whoever has it sees the edition, without a key, and in a separate window.
    kind = ("light", 1440, 900)
    shown = pages.take(kind, service.url, True)
    try:
        for width, theme, place in ((1440, "light", "shared"), (390, "dark", "embed")):
            shown.set_viewport_size({"width": width, "height": 900})
            shown.emulate_media(color_scheme=theme)
            shown.goto("about:blank")
            shown.goto(address.replace("/embed#", f"/{place}#"))
            # Titled, and where its maker stands.
            shown.get_by_role("heading", name="What <b>blooms</b>").wait_for()
            shown.get_by_text("See the one in bloom.").wait_for()
            shown.locator(".node-name", has_text="in bloom").wait_for()
            shown.get_by_text("2 clusters").first.wait_for()
            shown.get_by_role("button", name="Icicle", pressed=True).wait_for()
            shown.locator(".tree-mirror [role=treeitem]", has_text="in bloom").first.wait_for(
                state="attached"
            )
            shown.locator(".tree-mirror [role=treeitem]", has_text="folded").first.wait_for(
                state="attached"
            )
            axe(shown)
            assert shown.evaluate("document.documentElement.scrollWidth") <= width
            assert shown.evaluate("JSON.stringify({...sessionStorage})") == "{}"
        assert shown.locator(".nav").count() == 0
        # Nothing of it in a request but in the header that carries a key.
        requested: list[str] = []
        shown.on("request", lambda request: requested.append(request.url))
        dialog.get_by_role("button", name="Revoke “the reviewers”").click()
        page.get_by_text("The link opens nothing any more").wait_for()
        shown.watch.expected.append("401")
        shown.reload()
        shown.get_by_role("heading", name="This link shows nothing any more").wait_for()
        token = address.partition("#")[2]
        assert requested
        assert not any(token in each for each in requested)
        assert not shown.watch.bad()
    finally:
        pages.give_back(shown, True)
